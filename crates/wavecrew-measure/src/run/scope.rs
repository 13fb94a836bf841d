//! Puts what a coverage tool reported beside the files that were asked for. A file that the tool is silent about is never
//! dropped from the figures without a word.

use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::measurement::{CoverageStatus, FileCoverage, LineRange, Note, Ratio};
use crate::report::HitsByFile;

/// What the silence of a tool about a file means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenMissing {
    /// It was told to report files that no test loads, so its settings leave this one out.
    Excluded,
    /// It only reports what was loaded.
    NotLoaded,
}

/// The scoped files that the report does not name.
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
        let path = shown(&file.to_string_lossy(), root);
        let name = name_of(file, &hits, root);
        files.push(match name.and_then(|name| hits.remove(&name)) {
            Some(hits) => hits.into_coverage(path),
            None if broken.contains(file) => silent(file, path, CoverageStatus::Broken),
            None => match when_missing {
                WhenMissing::Excluded => silent(file, path, CoverageStatus::Excluded),
                WhenMissing::NotLoaded => silent(file, path, CoverageStatus::NotLoaded),
            },
        });
    }
    files
}

fn silent(file: &Path, path: String, status: CoverageStatus) -> FileCoverage {
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

/// How the report calls a file: its path, absolute or from the root, or, as Go has it, a path that ends like it.
fn name_of(file: &Path, hits: &HitsByFile, root: &Path) -> Option<String> {
    let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let same = |name: &str| {
        let path = plain(&root.join(name));
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

/// Without `.` and `..`, by text alone.
fn plain(path: &Path) -> PathBuf {
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

/// A path as people write it: from the project's root where it lies below it.
pub fn shown(path: &str, root: &Path) -> String {
    match Path::new(path).strip_prefix(root) {
        Ok(below) => below.to_string_lossy().into_owned(),
        Err(_) => path.to_owned(),
    }
}

/// What the status of the files means for the figures.
pub fn notes(files: &[FileCoverage]) -> Vec<Note> {
    let names_of = |status| -> Vec<&str> {
        files
            .iter()
            .filter(|f| f.status == status)
            .map(|f| f.path.as_str())
            .collect()
    };
    let told = |status, what: &str, fix: &str| {
        let names = names_of(status);
        (!names.is_empty()).then(|| Note {
            what: format!("{what}: {}", names.join(", ")),
            fix: Some(fix.to_owned()),
        })
    };
    [
        told(
            CoverageStatus::Excluded,
            "left out by the project's coverage settings, and so of the figures",
            "change the coverage settings of the project to have them counted",
        ),
        told(
            CoverageStatus::NotLoaded,
            "loaded by no test, counted with 0 %",
            "write a test that imports them",
        ),
        told(
            CoverageStatus::Broken,
            "cannot be parsed, counted with 0 %",
            "repair their syntax",
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}
