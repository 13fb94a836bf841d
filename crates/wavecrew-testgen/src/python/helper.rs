//! The helper program as it is carried in this binary.

use std::fs;
use std::io;

use tempfile::TempDir;

macro_rules! sources {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../helpers/python/wavecrew_testgen/", $name)))),*]
    };
}

const SOURCES: &[(&str, &str)] = sources![
    "__init__.py",
    "__main__.py",
    "aim.py",
    "analyse.py",
    "blame.py",
    "cases.py",
    "children.py",
    "classes.py",
    "clock.py",
    "closures.py",
    "defects.py",
    "driver.py",
    "files.py",
    "fixtures.py",
    "given.py",
    "harvest.py",
    "kill.py",
    "kinds.py",
    "layout.py",
    "mutants.py",
    "names.py",
    "observe.py",
    "outside.py",
    "picture.py",
    "probes.py",
    "quarantine.py",
    "refusals.py",
    "render.py",
    "run.py",
    "sandbox.py",
    "search.py",
    "session.py",
    "shapes.py",
    "steady.py",
    "swap.py",
    "tidy.py",
    "tracing.py",
    "trial.py",
    "usage.py",
    "values.py",
    "vary.py",
    "words.py",
    "worker.py",
    "world.py",
];

/// Writes the helper into a new temporary folder, which is removed with the answer.
pub fn lay_out() -> io::Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("wavecrew-testgen-").tempdir()?;
    let package = folder.path().join("wavecrew_testgen");
    fs::create_dir(&package)?;
    for (name, text) in SOURCES {
        fs::write(package.join(name), text)?;
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_of_the_helper_is_carried() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/helpers/python/wavecrew_testgen");
        let mut there: Vec<String> = fs::read_dir(folder)
            .expect("the helper is in the tree")
            .map(|entry| entry.expect("readable").path())
            .filter(|path| path.extension().is_some_and(|ending| ending == "py"))
            .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
            .collect();
        there.sort_unstable();
        let carried: Vec<&str> = SOURCES.iter().map(|(name, _)| *name).collect();
        assert_eq!(there, carried);
    }
}
