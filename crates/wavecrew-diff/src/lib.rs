//! Behaviour diffs: finds inputs on which two versions of a project behave differently, without a model.
//!
//! Both versions are copies in a temporary folder; nothing in the project changes. The search itself is in
//! `wavecrew-testgen`. This crate decides which versions and files are compared, divides the time, and renders reports.

mod changes;
mod compare;
mod interface;
pub mod project_copy;
pub mod render;
mod report;
mod request;
mod revision;
mod searches;
mod test_files;
mod versions;

pub use compare::compare;
pub use interface::{InterfaceChange, InterfaceChangeKind};
pub use report::{ChangedLineCount, FileStatus, Note, Report, ReportedFile, ReportedRevision, WrittenTests};
pub use request::{DiffError, Progress, Request};
pub use revision::{RevisionError, Selection, is_revision, top_of};
pub use test_files::{is_acceptable, write_tests};
pub use wavecrew_testgen::diff::{Difference, LineRange, TestFile, TestFolder, WantedTests};
