//! How the program ends: exit codes, and the failures that lead to them.

use crate::show;
use std::fmt;
use std::io;
use std::process::ExitCode;

/// The program's exit codes, by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    Done = 0,
    /// Something failed or was skipped.
    TasksFailed = 1,
    BadInput = 2,
    /// Stopped by a person, a gate or a budget.
    Stopped = 3,
    Stalled = 4,
    /// Disk, journal or lock.
    DiskFailure = 5,
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// Why a command did not do its job.
#[derive(Debug)]
pub enum Failure {
    /// Something is wrong with what was given; the problems were shown already.
    Refused,
    /// Something is wrong with what was given.
    BadInput { message: String, help: Option<String> },
    /// The person said no.
    Declined,
    /// The session's files cannot be read or written.
    Disk { message: String, help: String },
    /// The output could not be written.
    Output(io::Error),
}

impl Failure {
    pub fn input(message: impl Into<String>) -> Self {
        Self::BadInput {
            message: message.into(),
            help: None,
        }
    }

    pub fn with_help(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::BadInput {
            message: message.into(),
            help: Some(help.into()),
        }
    }

    pub fn exit(&self) -> Exit {
        match self {
            Self::Refused | Self::BadInput { .. } => Exit::BadInput,
            Self::Declined => Exit::Stopped,
            Self::Disk { .. } => Exit::DiskFailure,
            // The reader went away, which is its good right: `plan | head`.
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
            Self::Output(_) => Exit::DiskFailure,
        }
    }

    pub fn print(&self) {
        match self {
            Self::Refused | Self::Declined => {}
            Self::Disk { message, help } => show::error(message, Some(help)),
            Self::BadInput { message, help } => show::error(message, help.as_deref()),
            Self::Output(_) if self.exit() == Exit::Done => {}
            Self::Output(_) => show::error(&self.to_string(), None),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused => f.write_str("the input was refused"),
            Self::Declined => f.write_str("not confirmed"),
            Self::BadInput { message, .. } | Self::Disk { message, .. } => f.write_str(message),
            Self::Output(error) => write!(f, "the output cannot be written: {error}"),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
