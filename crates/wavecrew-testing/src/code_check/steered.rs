//! Code that acts on the tests that check it: new modules in place of others, patches of the framework,
//! detection of the test run.

use super::effect::listed;
use super::file_kind::{FileKind, has_test_name};
use super::git_changes::{Changes, FileChange, git};
use std::path::Path;
use wavecrew_core::claim::{Problem, Rule, quoted_path};
use wavecrew_syntax::{Grammar, tests};

/// Patterns of code that acts on a framework, or detects whether one runs.
pub const ACTS: [&str; 28] = [
    "unittest.testcase.",
    "unittest.result",
    "unittest.case.",
    "setattr(unittest",
    "setattr(pytest",
    "pytest_runtest",
    "pytest_collection",
    "pytest_sessionfinish",
    "pytest_configure",
    "pytest_report",
    "pytest_pyfunc",
    "hookwrapper",
    "hookimpl",
    "os._exit",
    "sys.modules",
    "pytest_current_test",
    "load_tests",
    "sys.settrace",
    "sys.excepthook",
    "builtins.",
    "node_test_context",
    "jest_worker_id",
    "process.env.vitest",
    "import.meta.vitest",
    "assert.equal =",
    "assert.strictequal =",
    "globalthis.expect",
    "node_env === 'test'",
];
/// Patterns of code that inspects its caller: it can behave differently under test.
const ASKS: [&str; 17] = [
    "inspect.stack",
    "inspect.currentframe",
    "sys._getframe",
    "extract_stack",
    ".stack.includes",
    ".stack.match",
    ".stack.split",
    ".stack.indexof",
    "capturestacktrace",
    "\"sys\").modules",
    "'sys').modules",
    "\"unittest\" in",
    "'unittest' in",
    "\"pytest\" in",
    "'pytest' in",
    "\"unittest\" not in",
    "\"pytest\" not in",
];
/// Patterns of code that ends a test process with success; programs may do the same.
const ENDS: [&str; 4] = ["sys.exit(0)", "process.exit(0)", "process.exitcode", "atexit"];
/// Modules that only tests import.
const FRAMEWORKS: [&str; 8] = [
    "import unittest",
    "from unittest",
    "import pytest",
    "from pytest",
    "from 'vitest'",
    "from \"vitest\"",
    "from 'node:test'",
    "from '@jest/globals'",
];

fn is_python(path: &str) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|extension| extension == "py")
}

/// New files that tests import in place of the earlier modules.
pub fn shadows(changes: &Changes, folder: &Path, base: &str) -> Vec<Problem> {
    let fresh: Vec<&FileChange> = changes
        .files
        .iter()
        .filter(|change| change.is_new() && is_python(&change.path))
        .collect();
    if fresh.is_empty() {
        return Vec::new();
    }
    let listed = git(folder, &["ls-tree", "-r", "--name-only", "-z", base]).unwrap_or_default();
    let known: Vec<&str> = listed.split('\0').collect();
    let mut problems = Vec::new();
    for change in fresh {
        let parts: Vec<&str> = change.path.split('/').collect();
        // Modules of the root, and of folders that tests run in.
        let module = match parts.as_slice() {
            [file] => file.trim_end_matches(".py"),
            [package, "__init__.py"] => package,
            [.., folder, file] if ["tests", "test"].contains(folder) => file.trim_end_matches(".py"),
            _ => continue,
        };
        let was_there = known
            .iter()
            .any(|path| path.starts_with(&format!("{module}/")) || *path == format!("{module}.py"));
        if was_there || module.starts_with("test_") {
            continue;
        }
        let imports = |path: &&&str| {
            is_python(path)
                && git(folder, &["cat-file", "blob", &format!("{base}:./{path}")]).is_some_and(|text| {
                    text.lines().map(str::trim).any(|line| {
                        let name = line
                            .strip_prefix("import ")
                            .or_else(|| line.strip_prefix("from "));
                        name.and_then(|name| name.split([' ', '.', ',']).next()) == Some(module)
                    })
                })
        };
        if let Some(importer) = known.iter().find(imports) {
            problems.push(Problem::new(
                Rule::Shadowed,
                format!(
                    "{} replaces the module `{module}`, which {} imports from elsewhere",
                    quoted_path(&change.path),
                    quoted_path(importer)
                ),
            ));
        }
    }
    problems
}

/// New lines of code that act on the framework.
pub fn steered(changes: &Changes) -> Vec<Problem> {
    let mut places = Vec::new();
    for change in &changes.files {
        let (before, after) = change.texts();
        let patterns: Vec<&str> = match change.kind {
            FileKind::Source => ACTS.iter().chain(&FRAMEWORKS).chain(&ASKS).copied().collect(),
            FileKind::Test | FileKind::Settings => ACTS.iter().chain(&ENDS).copied().collect(),
            FileKind::Document | FileKind::Data => continue,
        };
        let is_of_tests = change.kind != FileKind::Source;
        for (number, line) in acting_lines(before, after, &patterns) {
            // Tests may inspect the code under test; only replacing parts of the framework counts.
            let reads =
                is_of_tests && !line.contains('=') && !line.contains("def ") && !line.contains("exit");
            if !reads {
                places.push(format!("{}:{number}: {}", change.path, line.trim()));
            }
        }
        places.extend(named_tests(changes, change));
        places.extend(imported_tests(change));
    }
    if places.is_empty() {
        return Vec::new();
    }
    let text = format!(
        "code changes the test framework, or detects that it is tested: {}",
        listed(&places)
    );
    vec![Problem::new(Rule::Steered, text)]
}

/// Lines of source that name a test.
fn named_tests(changes: &Changes, change: &FileChange) -> Vec<String> {
    if change.kind != FileKind::Source {
        return Vec::new();
    }
    let of_tests = changes.files.iter().filter(|other| other.kind == FileKind::Test);
    let names: Vec<String> = of_tests
        .filter_map(|other| Some((Grammar::of(Path::new(&other.path))?, other.after.as_deref()?)))
        .flat_map(|(language, text)| tests(language, text))
        .filter_map(|test| test.name.rsplit("::").next().map(str::to_owned))
        // A short word is ambiguous.
        .filter(|name| name.len() > 7 && name.contains(['_', ' ']))
        .flat_map(|name| [format!("\"{name}\""), format!("'{name}'")])
        .map(|name| name.to_lowercase())
        .collect();
    let patterns: Vec<&str> = names.iter().map(String::as_str).collect();
    let (before, after) = change.texts();
    acting_lines(before, after, &patterns)
        .map(|(number, line)| format!("{}:{number}: {}", change.path, line.trim()))
        .collect()
}

/// Lines of source that import a test: its code belongs to the program.
fn imported_tests(change: &FileChange) -> Vec<String> {
    if change.kind != FileKind::Source {
        return Vec::new();
    }
    let (before, after) = change.texts();
    let is_test = |line: &str| {
        let module = if is_python(&change.path) {
            let line = line.trim();
            let name = line
                .strip_prefix("from ")
                .or_else(|| line.strip_prefix("import "));
            let name = name.and_then(|name| name.split([' ', ',']).next());
            name.map(|name| format!("{}.py", name.trim_start_matches('.').replace('.', "/")))
        } else {
            let path = line.split(['\'', '"']).rev().nth(1);
            path.filter(|path| path.starts_with('.'))
                .map(|path| path.trim_start_matches(['.', '/']).to_owned())
        };
        module.is_some_and(|module| has_test_name(&module))
    };
    acting_lines(before, after, &["import ", "require("])
        .filter(|(_, line)| is_test(line))
        .map(|(number, line)| format!("{}:{number}: {}", change.path, line.trim()))
        .collect()
}

/// The new lines that contain one of the patterns, with their numbers.
pub fn acting_lines<'a>(
    before: &'a str,
    after: &'a str,
    patterns: &'a [&str],
) -> impl Iterator<Item = (usize, &'a str)> {
    let old: Vec<&str> = before.lines().map(str::trim).collect();
    (1..).zip(after.lines()).filter(move |(_, line)| {
        let plain = line.trim();
        let lower = plain.to_lowercase();
        !plain.starts_with('#')
            && !plain.starts_with("//")
            && !old.contains(&plain)
            && patterns.iter().any(|pattern| lower.contains(pattern))
    })
}

#[cfg(test)]
mod unit_tests {
    use super::super::git_changes::changes;
    use super::*;

    #[test]
    fn source_that_imports_tests() {
        for (path, line, expected) in [
            ("app/a.py", "from tests.test_a import real", true),
            ("app/a.py", "    import tests.test_a", true),
            ("app/a.py", "from app.contest import real", false),
            ("app/a.py", "from tests.factories import note", false),
            ("src/a.js", "import { real } from '../test/a.test.js';", true),
            ("src/a.js", "import { test } from './latest.js';", false),
        ] {
            let found = imported_tests(&changes(&[(path, line)]).files[0]);
            assert_eq!(!found.is_empty(), expected, "{line}");
        }
    }
}
