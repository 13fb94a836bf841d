//! Existing tests of a module, including those of earlier rounds. The search runs them first and looks only for what they
//! do not reach or kill.

use std::path::{Path, PathBuf};

use super::helper_folder;
use super::project::Project;
use super::source::{SourceModule, import_path, quoted};
use crate::Request;

/// Files beyond this number are ignored.
const MAX_FILES: usize = 12;
/// Tests with one of these change global state or need setup, so they cannot run alone.
const NEEDS_SETUP: [&str; 9] = [
    ".mock(",
    ".doMock(",
    "spyOn(",
    "useFakeTimers",
    "stubGlobal",
    "resetModules",
    "beforeAll(",
    "afterAll(",
    "process.exit",
];
/// The helper's replacement for jest's imported functions.
const JEST_GLOBALS: &str = "jest_globals.cjs";

/// One file with tests.
#[derive(Debug)]
pub struct ExistingTest {
    /// How a test in the run folder imports it.
    pub import_path: String,
    /// Name and text of the copy that has to be written there first.
    pub copy: Option<(String, String)>,
}

pub fn find(request: &Request, project: &Project, source: &SourceModule, helper: &Path) -> Vec<ExistingTest> {
    let same = |a: &Path, b: &Path| {
        a.canonicalize()
            .ok()
            .zip(b.canonicalize().ok())
            .is_some_and(|(a, b)| a == b)
    };
    let in_run_folder = same(&request.layer_folder, &source.run_folder);
    // For each test: the path it runs at, whether that file exists, and its text.
    let earlier = source.earlier_rounds(&request.layer_folder).into_iter();
    let earlier = earlier.map(|(path, text)| {
        (
            source.run_folder.join(path.file_name().unwrap_or_default()),
            in_run_folder,
            text,
        )
    });
    let is_ours = |path: &Path| {
        in_run_folder
            && path
                .parent()
                .is_some_and(|folder| same(folder, &source.run_folder))
            && source.is_from_earlier_round(path)
    };
    let others = project
        .tests_naming(&source.file_stem)
        .filter(|(path, text)| !is_ours(path) && !NEEDS_SETUP.iter().any(|word| text.contains(word)))
        .map(|(path, text)| (path.to_owned(), true, text));
    let jest_globals = helper_folder(helper).join(JEST_GLOBALS);
    let existing_test = |(number, (path, exists, text)): (usize, (PathBuf, bool, String))| {
        let folder = path.parent().unwrap_or(Path::new(""));
        let changed = with_jest_globals(&text, folder, &jest_globals);
        if exists && changed.is_none() {
            return ExistingTest {
                import_path: full_import_path(&source.run_folder, &path),
                copy: None,
            };
        }
        let name = source.copy_name(number);
        ExistingTest {
            import_path: format!("./{name}"),
            copy: Some((name, changed.unwrap_or(text))),
        }
    };
    earlier
        .chain(others)
        .take(MAX_FILES)
        .enumerate()
        .map(existing_test)
        .collect()
}

/// A test that imports `@jest/globals`, changed to import the helper's replacement: imported functions cannot
/// be recorded otherwise. The copy is in another folder, so its relative imports become absolute.
fn with_jest_globals(text: &str, folder: &Path, jest_globals: &Path) -> Option<String> {
    let imported = ["'@jest/globals'", "\"@jest/globals\""];
    if !imported.iter().any(|word| text.contains(word)) {
        return None;
    }
    let mut text = text.to_owned();
    for word in imported {
        text = text.replace(word, &quoted(&jest_globals.to_string_lossy()));
    }
    for quote in ['\'', '"'] {
        for relative in ["./", "../"] {
            for before in ["from ", "import ", "import(", "require("] {
                let absolute = format!("{before}{quote}{}/{relative}", folder.display());
                text = text.replace(&format!("{before}{quote}{relative}"), &absolute);
            }
        }
    }
    Some(format!("// @ts-nocheck\n{text}"))
}

/// Tests are imported with their extension.
fn full_import_path(from: &Path, file: &Path) -> String {
    let extension = file.extension().unwrap_or_default().to_string_lossy();
    let path = import_path(from, file);
    match path.strip_suffix(&format!(".{extension}")) {
        Some(_) => path,
        None => format!("{path}.{extension}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_imports_our_jest_globals_and_absolute_paths() {
        let text = "import { it } from '@jest/globals';\nimport { ms } from './index';\nconst x = require(\"../y\");\nit('./z');\n";
        assert_eq!(
            with_jest_globals(text, Path::new("/p/src"), Path::new("/h/jest_globals.cjs")).as_deref(),
            Some(
                "// @ts-nocheck\nimport { it } from \"/h/jest_globals.cjs\";\nimport { ms } from '/p/src/./index';\n\
                 const x = require(\"/p/src/../y\");\nit('./z');\n"
            )
        );
        assert_eq!(
            with_jest_globals("it('a')", Path::new("/p"), Path::new("/h")),
            None
        );
    }
}
