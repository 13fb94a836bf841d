//! The changes between the source files of two versions: lines that run, functions, and skipped files with
//! reasons.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use wavecrew_measure::detect::is_test;
use wavecrew_syntax::{
    ChangedLines, Grammar, Lines, Signature, SymbolKind, changed_lines, errors, signatures,
};
use wavecrew_testgen::diff::{ChangedFile, LineRange};

use crate::interface::{InterfaceChange, interface_changes};
use crate::report::{FileStatus, Note, ReportedFile};
use crate::versions::{Change, VersionFolders};

/// Larger files count as data or generated code.
const MAX_BYTES: u64 = 2_000_000;

/// The kind of a file in a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    Source(Grammar),
    Test,
    /// Documents, settings, data, other languages.
    Other,
}

pub fn kind_of(path: &Path) -> FileKind {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy())
        .unwrap_or_default();
    // A single file of tests.
    let is_tests = path
        .file_stem()
        .is_some_and(|stem| stem == "test" || stem == "tests");
    let declares = name.ends_with(".pyi") || name.ends_with(".d.ts") || name.ends_with(".d.mts");
    match Grammar::of(path) {
        Some(_) if is_tests || is_test(path, Path::new("")) || name == "conftest.py" => FileKind::Test,
        Some(_) if declares || name == "setup.py" || name.contains(".config.") => FileKind::Other,
        // Settings of the documentation.
        Some(_) if name == "conf.py" && path.iter().any(|folder| folder == "docs" || folder == "doc") => {
            FileKind::Other
        }
        Some(grammar) => FileKind::Source(grammar),
        None => FileKind::Other,
    }
}

/// The changed source files of both versions.
#[derive(Debug, Default)]
pub struct SourceChanges {
    pub files: Vec<ReportedFile>,
    pub interface: Vec<InterfaceChange>,
    pub notes: Vec<Note>,
    /// The files that can be compared.
    pub comparable: Vec<ChangedFile>,
}

/// Reads the changed source files. With `cosmetic`, files whose code did not change count as changed in every function.
pub fn source_changes(
    versions: &VersionFolders,
    selected: impl Fn(&Path) -> bool,
    cosmetic: bool,
) -> SourceChanges {
    let mut found = SourceChanges::default();
    for (path, change) in &versions.changes {
        let FileKind::Source(grammar) = kind_of(path) else {
            continue;
        };
        if !selected(path) {
            continue;
        }
        let read = |root: &Path| read_source(&root.join(path));
        match change {
            Change::Added | Change::Removed => {
                let root = if *change == Change::Added {
                    &versions.new
                } else {
                    &versions.old
                };
                let source = read(root).unwrap_or_default();
                let (old, new) = match change {
                    Change::Added => (Vec::new(), signatures(grammar, &source)),
                    Change::Removed | Change::Edited => (signatures(grammar, &source), Vec::new()),
                };
                found.interface.extend(interface_changes(path, &old, &new));
                let status = if *change == Change::Added {
                    FileStatus::Added
                } else {
                    FileStatus::Removed
                };
                found
                    .files
                    .push(reported(path, grammar, status, &ChangedLines::default()));
            }
            Change::Edited => {
                let (Some(old), Some(new)) = (read(&versions.old), read(&versions.new)) else {
                    found.notes.push(Note::new(path, "is not text, or too large"));
                    continue;
                };
                edited(path, grammar, &old, &new, cosmetic, &mut found);
            }
        }
    }
    found
}

fn edited(path: &Path, grammar: Grammar, old: &str, new: &str, cosmetic: bool, found: &mut SourceChanges) {
    let mut lines = changed_lines(grammar, old, new);
    if lines.is_empty() || is_only_version(grammar, (old, &lines.old), (new, &lines.new)) {
        found
            .files
            .push(reported(path, grammar, FileStatus::Cosmetic, &lines));
        if !cosmetic {
            return;
        }
        let all = |source: &str| {
            let last = u32::try_from(source.lines().count()).unwrap_or(u32::MAX);
            vec![Lines { first: 1, last }]
        };
        lines = ChangedLines {
            old: all(old),
            new: all(new),
        };
    } else {
        found
            .files
            .push(reported(path, grammar, FileStatus::Changed, &lines));
    }
    // What follows a syntax error may look removed.
    let is_readable = [old, new].iter().all(|source| errors(grammar, source).is_empty());
    let (old, new) = (signatures(grammar, old), signatures(grammar, new));
    if is_readable {
        found.interface.extend(interface_changes(path, &old, &new));
    }
    found.comparable.push(changed_file(path, &lines, &old, &new));
}

/// What modules say about their project, such as `__author__`.
const ABOUT_PROJECT: [&str; 10] = [
    "author",
    "author_email",
    "copyright",
    "credits",
    "date",
    "email",
    "license",
    "maintainer",
    "maintainer_email",
    "url",
];

/// Whether only a module's own version number, or what it says about its project changed. Such modules are not searched.
fn is_only_version(grammar: Grammar, old: (&str, &[Lines]), new: (&str, &[Lines])) -> bool {
    let is_version = |line: &str| {
        let name = line.split(['=', ':']).next().unwrap_or_default().trim_end();
        let plain = name.trim_matches('_').to_lowercase();
        let is_named = ["version", "version_info", "version_tuple", "commit_id"].contains(&plain.as_str());
        let is_about_project = name.starts_with("__")
            && (plain.starts_with("release") || ABOUT_PROJECT.contains(&plain.as_str()));
        line.contains('=') && (is_named || is_about_project)
    };
    let all = |(source, ranges): (&str, &[Lines])| {
        let source: Vec<&str> = source.lines().collect();
        ranges
            .iter()
            .flat_map(|range| range.first..=range.last)
            .filter_map(|number| source.get(usize::try_from(number).ok()?.checked_sub(1)?))
            .all(|line| is_version(line))
    };
    matches!(grammar, Grammar::Python) && all(old) && all(new)
}

fn changed_file(path: &Path, lines: &ChangedLines, old: &[Signature], new: &[Signature]) -> ChangedFile {
    let within = |signature: &&Signature, ranges: &[Lines]| {
        ranges
            .iter()
            .any(|range| range.first <= signature.lines.last && range.last >= signature.lines.first)
    };
    let is_function = |signature: &&Signature| signature.kind != SymbolKind::Class;
    // A function changed where its new lines changed, or where lines of its old version are gone.
    let gone: BTreeSet<&str> = old
        .iter()
        .filter(is_function)
        .filter(|signature| within(signature, &lines.old))
        .map(|signature| signature.name.as_str())
        .collect();
    let changed: Vec<&Signature> = new
        .iter()
        .filter(is_function)
        .filter(|signature| within(signature, &lines.new) || gone.contains(signature.name.as_str()))
        .collect();
    let outside = |ranges: &[Lines], functions: &[Signature]| {
        ranges.iter().any(|range| {
            (range.first..=range.last).any(|line| {
                !functions
                    .iter()
                    .filter(is_function)
                    .any(|function| function.lines.first <= line && line <= function.lines.last)
            })
        })
    };
    ChangedFile {
        file: path.to_owned(),
        old_lines: pairs(&lines.old),
        new_lines: pairs(&lines.new),
        spans: changed
            .iter()
            .map(|signature| (signature.lines.first, signature.lines.last))
            .collect(),
        at_import: outside(&lines.new, new) || outside(&lines.old, old),
        functions: changed
            .iter()
            .map(|signature| {
                (
                    signature.name.clone(),
                    signature.lines.first,
                    signature.lines.last,
                )
            })
            .collect(),
    }
}

fn pairs(lines: &[Lines]) -> Vec<LineRange> {
    lines.iter().map(|range| (range.first, range.last)).collect()
}

fn reported(path: &Path, grammar: Grammar, status: FileStatus, lines: &ChangedLines) -> ReportedFile {
    ReportedFile {
        file: path.to_owned(),
        language: match grammar {
            Grammar::Python => "python",
            Grammar::JavaScript => "javascript",
            Grammar::TypeScript | Grammar::Tsx => "typescript",
        },
        status,
        old_lines: pairs(&lines.old),
        new_lines: pairs(&lines.new),
    }
}

fn read_source(path: &PathBuf) -> Option<String> {
    let about = fs::metadata(path).ok()?;
    (about.len() <= MAX_BYTES).then(|| fs::read_to_string(path).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_file_of_tests_is_no_source() {
        for name in ["test.js", "tests.py", "lib/test.mjs", "tests/a.py", "test_a.py"] {
            assert_eq!(kind_of(Path::new(name)), FileKind::Test, "{name}");
        }
        assert_eq!(kind_of(Path::new("docs/conf.py")), FileKind::Other);
        assert_eq!(
            kind_of(Path::new("testing.py")),
            FileKind::Source(Grammar::Python)
        );
    }

    #[test]
    fn a_new_version_number_is_no_change_of_code() {
        for (old, new, expected) in [
            ("__version__ = '1.0'\n", "__version__ = '1.1'\n", true),
            ("VERSION: str = '1.0'\n", "VERSION: str = '1.1'\n", true),
            (
                "__commit_id__ = commit_id = 'a1'\n__releasedate__ = '1'\n",
                "__commit_id__ = commit_id = 'b2'\n__releasedate__ = '2'\n__author__ = 'A'\n",
                true,
            ),
            ("RELEASES = 1\n", "RELEASES = 2\n", false),
            (
                "__version__ = '1.0'\nRATE = 1\n",
                "__version__ = '1.1'\nRATE = 2\n",
                false,
            ),
            (
                "def f():\n    version = 1\n    return version\n",
                "def f():\n    version = 2\n    return version\n",
                false,
            ),
        ] {
            let lines = changed_lines(Grammar::Python, old, new);
            let only = is_only_version(Grammar::Python, (old, &lines.old), (new, &lines.new));
            assert_eq!(only, expected, "{new}");
        }
    }
}
