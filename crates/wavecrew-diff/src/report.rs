//! The result of a comparison.

use std::path::{Path, PathBuf};

use serde::Serialize;
use wavecrew_testgen::diff::{Difference, LineRange};

use crate::interface::InterfaceChange;

/// The result of a comparison. Its JSON is the output of `wavecrew diff --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    pub base: ReportedRevision,
    pub head: ReportedRevision,
    pub files: Vec<ReportedFile>,
    pub interface: Vec<InterfaceChange>,
    /// One per cause, the easiest to read first.
    pub differences: Vec<Difference>,
    pub notes: Vec<Note>,
    pub changed_lines: ChangedLineCount,
    /// Inputs that ran in both versions.
    pub calls: u64,
    /// Inputs that differed in the search and could not be confirmed in time.
    pub unconfirmed: u64,
    /// Modules that were searched.
    pub compared: usize,
    pub written: Vec<WrittenTests>,
    pub seconds: f64,
    /// Whether every search ended by itself.
    pub complete: bool,
}

impl Report {
    /// Whether inputs differed and none could be confirmed in time.
    pub fn is_undecided(&self) -> bool {
        self.differences.is_empty() && self.unconfirmed > 0
    }

    /// Whether nothing could be compared although source files changed.
    pub fn is_empty_handed(&self) -> bool {
        let wanted = self.files.iter().any(|file| file.status == FileStatus::Changed);
        wanted && self.compared == 0
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReportedRevision {
    pub name: String,
    /// `null` for files that are not committed.
    pub commit: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReportedFile {
    pub file: PathBuf,
    pub language: &'static str,
    pub status: FileStatus,
    pub old_lines: Vec<LineRange>,
    pub new_lines: Vec<LineRange>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileStatus {
    Changed,
    Added,
    Removed,
    /// Only comments, documentation, layout, types of functions or the version number changed.
    Cosmetic,
}

/// What was not compared, and why.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Note {
    pub what: String,
    pub why: String,
}

impl Note {
    pub fn new(what: &Path, why: impl Into<String>) -> Self {
        Self {
            what: what.display().to_string(),
            why: why.into(),
        }
    }
}

/// Changed lines that can run, of the new version.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ChangedLineCount {
    pub total: usize,
    pub reached: usize,
}

/// A test file that was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WrittenTests {
    pub file: PathBuf,
    pub tests: Vec<String>,
    /// `change` or `guard`.
    pub kind: String,
}
