//! The helper program as it is carried in this binary.

use std::fs;
use std::io;

use tempfile::TempDir;

macro_rules! sources {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../helpers/javascript/", $name)))),*]
    };
}

const SOURCES: &[(&str, &str)] = sources![
    "aim.cjs",
    "anchors.cjs",
    "builtins.cjs",
    "calls.cjs",
    "choose.cjs",
    "classes.cjs",
    "cover.cjs",
    "defects.cjs",
    "examples.cjs",
    "faults.cjs",
    "focus.cjs",
    "guard.cjs",
    "known.cjs",
    "late.cjs",
    "literal.cjs",
    "lots.cjs",
    "matching.cjs",
    "params.cjs",
    "probes.cjs",
    "reach.cjs",
    "render.cjs",
    "run.cjs",
    "search.cjs",
    "simpler.cjs",
    "sites.cjs",
    "stable.cjs",
    "subjects.cjs",
    "tokens.cjs",
    "types.cjs",
    "values.cjs",
    "words.cjs",
];

/// Writes the helper into a new temporary folder, which is removed with the answer. Its path says that it is somebody
/// else's package, so that frameworks do not transform it.
pub fn lay_out() -> io::Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("wavecrew-testgen-").tempdir()?;
    let package = home(folder.path());
    fs::create_dir_all(&package)?;
    for (name, text) in SOURCES {
        fs::write(package.join(name), text)?;
    }
    Ok(folder)
}

/// The folder with the helper's files.
pub fn home(folder: &std::path::Path) -> std::path::PathBuf {
    folder.join("node_modules/wavecrew-testgen")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_is_carried() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/helpers/javascript");
        let mut there: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        there.sort();
        let carried: Vec<&str> = SOURCES.iter().map(|(name, _)| *name).collect();
        assert_eq!(there, carried);
    }
}
