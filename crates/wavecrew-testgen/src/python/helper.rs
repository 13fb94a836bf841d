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
    "argument_checks.py",
    "cases.py",
    "child_process.py",
    "classes.py",
    "clock.py",
    "closures.py",
    "code_replacement.py",
    "comparisons.py",
    "defects.py",
    "driver.py",
    "examples.py",
    "expected_errors.py",
    "fixture_values.py",
    "fixtures.py",
    "formatting.py",
    "import_paths.py",
    "module_mutants.py",
    "mutants.py",
    "names.py",
    "naming.py",
    "observe.py",
    "patterns.py",
    "probes.py",
    "process_state.py",
    "pytest_run.py",
    "quarantine.py",
    "render.py",
    "run.py",
    "sandbox.py",
    "search.py",
    "selection.py",
    "session.py",
    "snapshot.py",
    "stability.py",
    "targets.py",
    "tracing.py",
    "type_hints.py",
    "usage.py",
    "values.py",
    "variation.py",
    "worker.py",
    "written_files.py",
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
