//! Why a test run gave no measurement, and what to do about it.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::report::ReportError;

#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    #[error("{what} is not installed for this project")]
    NotInstalled { what: &'static str, fix: String },
    #[error("the test run took longer than {} s and was ended", .after.as_secs())]
    TimedOut { after: Duration, output: String },
    #[error("the test run was stopped")]
    Stopped,
    #[error("the test run was killed by signal {signal} before it wrote its report")]
    Killed { signal: i32, output: String },
    #[error("a process of the test run ended before its tests did")]
    Unfinished { output: String },
    /// The environment is broken: no test has run.
    #[error("the test run ended with exit code {code} and without a report: {why}")]
    NoReport {
        code: i32,
        why: String,
        fix: String,
        output: String,
    },
    #[error("cannot start `{}`: {source}", .program.display())]
    Start { program: PathBuf, source: io::Error },
    #[error("the report {} is too large", .path.display())]
    HugeReport { path: PathBuf },
    #[error(transparent)]
    Report(#[from] ReportError),
    #[error("the folder for reports cannot be used: {0}")]
    Folder(#[from] io::Error),
}

impl MeasureError {
    /// What a person can do.
    pub fn help(&self) -> String {
        match self {
            Self::NotInstalled { fix, .. } | Self::NoReport { fix, .. } => fix.clone(),
            Self::TimedOut { .. } => "look for a test that blocks, or allow more time".to_owned(),
            Self::Stopped => "run it again to measure".to_owned(),
            Self::Killed { signal: 9, .. } => {
                "a test killed its own process, or the machine ran out of memory".to_owned()
            }
            Self::Killed { .. } | Self::Unfinished { .. } => {
                "a test killed its own process, or the runtime crashed".to_owned()
            }
            Self::Start { .. } => "check that it is installed and that its folder is in PATH".to_owned(),
            Self::HugeReport { .. } => "run fewer tests at once, or make them print less".to_owned(),
            Self::Report(_) => "check the version of the framework".to_owned(),
            Self::Folder(_) => "check the free space and the permissions of the temporary folder".to_owned(),
        }
    }

    /// What the framework printed, beginning and end.
    pub fn output(&self) -> Option<&str> {
        match self {
            Self::TimedOut { output, .. }
            | Self::Killed { output, .. }
            | Self::Unfinished { output }
            | Self::NoReport { output, .. } => Some(output),
            Self::NotInstalled { .. }
            | Self::Stopped
            | Self::Start { .. }
            | Self::HugeReport { .. }
            | Self::Report(_)
            | Self::Folder(_) => None,
        }
    }
}
