//! How the program ends: exit codes, and the failures that lead to them.

use crate::show;
use std::fmt;
use std::io;
use std::process::ExitCode;

/// The program's exit codes, by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    Done = 0,
    BadInput = 2,
    DiskFailure = 5,
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
            // The reader went away, which is its good right: `plan | head`.
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
            Self::Output(_) => Exit::DiskFailure,
        }
    }

    pub fn print(&self) {
        match self {
            Self::Refused => {}
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
            Self::BadInput { message, .. } => f.write_str(message),
            Self::Output(error) => write!(f, "the output cannot be written: {error}"),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
