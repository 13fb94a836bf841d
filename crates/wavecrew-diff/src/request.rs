//! What to compare, what is reported meanwhile, and why there may be nothing to compare.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use wavecrew_testgen::GenerateError;
use wavecrew_testgen::diff::{Difference, TestFolder, WantedTests};

use crate::revision::{RevisionError, Selection};

/// What to compare.
#[derive(Debug, Clone)]
pub struct Request {
    /// A folder in the repository.
    pub folder: PathBuf,
    /// A copy of the repository with the files of the working tree, if not its own.
    pub files: Option<PathBuf>,
    pub selection: Selection,
    /// Files and folders to compare, absolute; all if empty.
    pub paths: Vec<PathBuf>,
    pub budget: Duration,
    pub seed: u64,
    /// Whether to use the old versions of test files that the change touches.
    pub ignore_tests: bool,
    /// Whether to compare files whose code did not change, too.
    pub cosmetic: bool,
    /// Whether to end early when all changed code is reached and nothing new is found.
    pub quick: bool,
    pub tests: WantedTests,
    /// The folder for tests, if not the project's usual one.
    pub test_folders: Vec<TestFolder>,
    pub jobs: usize,
}

/// Reported while a comparison runs.
#[derive(Debug)]
pub enum Progress<'a> {
    Started {
        files: usize,
    },
    Step {
        file: &'a Path,
        what: &'a str,
    },
    Found {
        difference: &'a Difference,
    },
    /// No progress for a moment.
    Silent,
}

#[derive(Debug, thiserror::Error)]
pub enum DiffError {
    #[error(transparent)]
    Revision(#[from] RevisionError),
    #[error("nothing changed between {old} and {new}")]
    NothingChanged { old: String, new: String },
    #[error("nothing changed in {paths} between {old} and {new}")]
    NothingInPaths { paths: String, old: String, new: String },
    #[error("there is no {path}, neither in {old} nor in {new}")]
    NoSuchPath { path: String, old: String, new: String },
    #[error("only tests changed between {old} and {new}: {files}")]
    OnlyTests { old: String, new: String, files: String },
    #[error("only documents, settings or other languages changed between {old} and {new}: {files}")]
    OnlyDocuments { old: String, new: String, files: String },
    #[error("cannot copy the versions: {0}")]
    Copy(io::Error),
    #[error(transparent)]
    Search(#[from] GenerateError),
}

impl DiffError {
    pub fn help(&self) -> &'static str {
        match self {
            Self::Revision(error) => error.help(),
            Self::NothingChanged { .. } | Self::NothingInPaths { .. } => {
                "name an older revision: `wavecrew diff HEAD~5`"
            }
            Self::NoSuchPath { .. } => "name files and folders of one of the versions",
            Self::OnlyTests { .. } => {
                "tests are inputs of the comparison; name an older revision to compare code"
            }
            Self::OnlyDocuments { .. } => "wavecrew compares Python, JavaScript and TypeScript",
            Self::Copy(_) => "check that the temporary folder has space",
            Self::Search(_) => "check that the interpreter of the project is installed",
        }
    }

    /// Whether there is nothing to compare, which is not an error of the request.
    pub fn is_nothing_to_compare(&self) -> bool {
        match self {
            Self::NothingChanged { .. }
            | Self::NothingInPaths { .. }
            | Self::OnlyTests { .. }
            | Self::OnlyDocuments { .. } => true,
            Self::NoSuchPath { .. } | Self::Revision(_) | Self::Copy(_) | Self::Search(_) => false,
        }
    }
}
