//! Matches a coverage report with the files in scope. A file that the report does not name is never dropped silently.

use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::measurement::{CoverageStatus, FileCoverage, LineRange, Note, Ratio};
use crate::report::HitsByFile;

/// What it means when a report does not name a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenMissing {
    /// The tool also reports files that no test loads, so the project's settings exclude it.
    Excluded,
    /// The tool reports only files that tests load.
    NotLoaded,
}

/// The files in scope that the report does not name.
pub fn missing(hits: &HitsByFile, scope: &[PathBuf], root: &Path) -> Vec<PathBuf> {
    let unnamed = |file: &&PathBuf| name_of(file, hits, root).is_none();
    scope.iter().filter(unnamed).cloned().collect()
}

/// One entry per file in scope, in its order.
pub fn count(
    mut hits: HitsByFile,
    scope: &[PathBuf],
    root: &Path,
    when_missing: WhenMissing,
    broken: &[PathBuf],
) -> Vec<FileCoverage> {
    let mut files = Vec::with_capacity(scope.len());
    for file in scope {
        let path = relative_path(&file.to_string_lossy(), root);
        let name = name_of(file, &hits, root);
        files.push(match name.and_then(|name| hits.remove(&name)) {
            Some(hits) => hits.into_coverage(path),
            None if broken.contains(file) => unreported(file, path, CoverageStatus::Broken),
            None => match when_missing {
                WhenMissing::Excluded => unreported(file, path, CoverageStatus::Excluded),
                WhenMissing::NotLoaded => unreported(file, path, CoverageStatus::NotLoaded),
            },
        });
    }
    files
}

fn unreported(file: &Path, path: String, status: CoverageStatus) -> FileCoverage {
    let lines = match status {
        CoverageStatus::Excluded | CoverageStatus::Measured => Vec::new(),
        CoverageStatus::NotLoaded | CoverageStatus::Broken => code_lines(file),
    };
    let range = lines
        .first()
        .zip(lines.last())
        .map(|(&first, &last)| LineRange { first, last });
    FileCoverage {
        path,
        status,
        lines: Ratio {
            covered: 0,
            total: lines.len() as u64,
        },
        branches: None,
        uncovered: range.into_iter().collect(),
        missed: lines,
    }
}

/// Lines that are neither blank nor only a comment: an estimate for files that no tool counts.
fn code_lines(file: &Path) -> Vec<u32> {
    let bytes = fs::read(file).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let is_code = |line: &str| {
        let line = line.trim();
        !line.is_empty() && !["#", "//", "/*", "*"].iter().any(|mark| line.starts_with(mark))
    };
    (1..)
        .zip(text.lines())
        .filter(|(_, line)| is_code(line))
        .map(|(number, _)| number)
        .collect()
}

/// The name of a file in the report: its path, absolute or from the root, or, in Go, a path that ends like it.
fn name_of(file: &Path, hits: &HitsByFile, root: &Path) -> Option<String> {
    let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let same = |name: &str| {
        let path = normalised(&root.join(name));
        path == *file || path == real || path.canonicalize().is_ok_and(|path| path == real)
    };
    if let Some(name) = hits.keys().find(|name| same(name)) {
        return Some(name.clone());
    }
    let below = file.strip_prefix(root).ok()?;
    hits.keys()
        .find(|name| !name.starts_with('/') && Path::new(name).ends_with(below))
        .cloned()
}

/// Without `.` and `..`; does not read the disk.
fn normalised(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => out.push(part),
        }
    }
    out
}

/// Relative to the project's root if it is below it.
pub fn relative_path(path: &str, root: &Path) -> String {
    match Path::new(path).strip_prefix(root) {
        Ok(below) => below.to_string_lossy().into_owned(),
        Err(_) => path.to_owned(),
    }
}

/// Explains which files are not measured, and why.
pub fn notes(files: &[FileCoverage]) -> Vec<Note> {
    let names_of = |status| -> Vec<&str> {
        files
            .iter()
            .filter(|f| f.status == status)
            .map(|f| f.path.as_str())
            .collect()
    };
    let note = |status, what: &str, fix: &str| {
        let names = names_of(status);
        (!names.is_empty()).then(|| Note {
            what: format!("{what}: {}", names.join(", ")),
            fix: Some(fix.to_owned()),
        })
    };
    [
        note(
            CoverageStatus::Excluded,
            "excluded by the project's coverage settings, not counted",
            "change the project's coverage settings to count them",
        ),
        note(
            CoverageStatus::NotLoaded,
            "loaded by no test, counted as 0 %",
            "write a test that imports them",
        ),
        note(
            CoverageStatus::Broken,
            "cannot be parsed, counted as 0 %",
            "fix their syntax",
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}
