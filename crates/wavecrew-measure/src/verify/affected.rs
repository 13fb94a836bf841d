//! Finds the tests that a change affects: changed tests, and tests that mention a changed file. Compares names without
//! resolving imports: a test too many costs a little time, and all tests run afterwards anyway.

use crate::detect::{Project, files, is_test};
use std::fs;
use std::path::{Path, PathBuf};

/// Files that are imported by the name of their folder.
const NAMED_BY_FOLDER: [&str; 5] = ["__init__", "__main__", "index", "mod", "main"];

/// The test files of a project that a change affects, sorted. All paths are absolute.
pub fn affected_tests(project: &Project, changed: &[PathBuf]) -> Vec<PathBuf> {
    let root = &project.root;
    let changed: Vec<&PathBuf> = changed.iter().filter(|file| file.starts_with(root)).collect();
    let sources = changed.iter().filter(|file| !is_test(file, root));
    let names: Vec<String> = sources.clone().filter_map(|file| name_of(file, root)).collect();
    let folders: Vec<&Path> = sources.filter_map(|file| file.parent()).collect();
    let is_affected = |test: &PathBuf| {
        if changed.contains(&test) {
            return true;
        }
        let beside = project.framework.facts().tests_beside_source
            && test.parent().is_some_and(|folder| folders.contains(&folder));
        beside
            || !names.is_empty()
                && fs::read_to_string(test).is_ok_and(|text| names.iter().any(|name| mentions(&text, name)))
    };
    let tests = files(root).into_iter().filter(|file| is_test(file, root));
    tests.filter(is_affected).collect()
}

/// The name by which a test imports a file.
fn name_of(file: &Path, root: &Path) -> Option<String> {
    let stem = file.file_stem()?.to_str()?;
    if !NAMED_BY_FOLDER.contains(&stem) {
        return Some(stem.to_owned());
    }
    let folder = file.parent().filter(|folder| *folder != root)?;
    Some(folder.file_name()?.to_str()?.to_owned())
}

/// Whether a text contains the name as a whole word.
pub fn mentions(text: &str, name: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(inside) && !after.is_some_and(inside)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detect::by_project;

    fn affected(files: &[(&str, &str)], changed: &[&str]) -> Vec<String> {
        let folder = tempfile::tempdir().expect("a folder");
        let top = folder.path().canonicalize().expect("a folder");
        for (name, text) in files {
            let path = top.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, text).expect("a file");
        }
        let changed: Vec<PathBuf> = changed.iter().map(|name| top.join(name)).collect();
        let projects = by_project(&top, &top);
        let tests = projects
            .keys()
            .flat_map(|project| affected_tests(project, &changed));
        tests
            .map(|test| {
                test.strip_prefix(&top)
                    .expect("inside")
                    .to_string_lossy()
                    .into_owned()
            })
            .collect()
    }

    #[test]
    fn affected_tests_are_found_by_name() {
        let python = &[
            ("pytest.ini", "[pytest]\n"),
            ("app/__init__.py", ""),
            ("app/store/__init__.py", ""),
            ("app/store/tags.py", ""),
            ("app/cli.py", ""),
            ("tests/test_tags.py", "from app.store import (\n    tags,\n)\n"),
            ("tests/test_store.py", "import app.store\n"),
            ("tests/test_cli.py", "from app.cli import run  # vintage\n"),
        ][..];
        let node = &[
            ("package.json", r#"{"devDependencies":{"vitest":"3"}}"#),
            ("src/tags/index.ts", ""),
            ("src/note.service.ts", ""),
            ("test/tags.test.ts", "import { add } from '../src/tags'\n"),
            ("test/note.test.ts", "const x = require('../src/note.service')\n"),
        ][..];
        let go = &[
            ("go.mod", "module example.com/x\n"),
            ("store/store.go", "package store\n"),
            ("store/more_test.go", "package store\n"),
            (
                "cli/cli_test.go",
                "package cli\n\nimport \"example.com/x/store\"\n",
            ),
            ("web/web_test.go", "package web\n"),
        ][..];
        for (files, changed, expected) in [
            (python, &["app/store/tags.py"][..], &["tests/test_tags.py"][..]),
            (
                python,
                &["app/store/__init__.py"],
                &["tests/test_store.py", "tests/test_tags.py"],
            ),
            (python, &["tests/test_cli.py"], &["tests/test_cli.py"]),
            (python, &["README.md"], &[]),
            (python, &[], &[]),
            (node, &["src/tags/index.ts"], &["test/tags.test.ts"]),
            (node, &["src/note.service.ts"], &["test/note.test.ts"]),
            (
                go,
                &["store/store.go"],
                &["cli/cli_test.go", "store/more_test.go"],
            ),
        ] {
            assert_eq!(affected(files, changed), expected, "{changed:?}");
        }
    }
}
