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
    "async_errors.cjs",
    "cases.cjs",
    "classes.cjs",
    "comparisons.cjs",
    "defects.cjs",
    "examples.cjs",
    "existing_tests.cjs",
    "jest_globals.cjs",
    "literals.cjs",
    "live_edit.cjs",
    "mutants.cjs",
    "mutation_sites.cjs",
    "parameters.cjs",
    "patterns.cjs",
    "probes.cjs",
    "process_state.cjs",
    "random.cjs",
    "reach.cjs",
    "render.cjs",
    "run.cjs",
    "sandbox.cjs",
    "search.cjs",
    "selection.cjs",
    "simplify.cjs",
    "stability.cjs",
    "targets.cjs",
    "tokens.cjs",
    "tracing.cjs",
    "type_hints.cjs",
    "uncovered.cjs",
    "values.cjs",
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
