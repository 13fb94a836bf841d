//! Measures tests: finds the framework of a file, runs it, and reads its machine reports into one [`Measurement`].
//! Judges no agent and loops over nothing; what console text says is never a figure.

pub mod detect;
pub mod framework;
pub mod measurement;
pub mod report;
pub mod run;
pub mod verify;

pub use measurement::{
    Coverage, CoverageStatus, FileCoverage, Flaky, LineRange, Measurement, Note, Ratio, TestCase, TestId,
    TestOutcome,
};
pub use run::mutation;
