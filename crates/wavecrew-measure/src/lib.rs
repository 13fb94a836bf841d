//! Measures tests: finds the framework of a file, runs it, and reads its machine reports into one [`Measurement`]. Never takes a
//! figure from console output.

pub mod detect;
pub mod framework;
mod measured_project;
pub mod measurement;
pub mod report;
pub mod run;
pub mod verify;

pub use measured_project::{MeasureOptions, MeasuredProject, ScopeError, projects_in_scope, repository_root};
pub use measurement::{
    Coverage, CoverageStatus, FileCoverage, Flaky, LineRange, Measurement, Note, Ratio, TestCase, TestId,
    TestOutcome,
};
pub use run::mutation;
