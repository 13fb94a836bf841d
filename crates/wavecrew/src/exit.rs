//! How the program ends: exit codes, and the failures that lead to them.

use crate::hint;
use std::fmt;
use std::io;
use std::process::ExitCode;
use wavecrew_core::event::RunOutcome;
use wavecrew_run::worker_commands::Refused;
use wavecrew_session::SessionError;

/// The program's exit codes, by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    Done = 0,
    /// A task failed or was skipped, or the command did not achieve its goal.
    TasksFailed = 1,
    BadInput = 2,
    /// By a person, a gate or a budget.
    Stopped = 3,
    Stalled = 4,
    DiskFailure = 5,
    Interrupted = 130,
}

impl From<&RunOutcome> for Exit {
    fn from(ending: &RunOutcome) -> Self {
        match ending {
            RunOutcome::Completed => Self::Done,
            RunOutcome::Failed => Self::TasksFailed,
            RunOutcome::Interrupted => Self::Interrupted,
            RunOutcome::Cancelled | RunOutcome::LimitReached { .. } | RunOutcome::Blocked { .. } => {
                Self::Stopped
            }
            RunOutcome::Stalled { .. } => Self::Stalled,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// Why a command did not do its job.
#[derive(Debug)]
pub enum Failure {
    /// The input is invalid; the problems were already shown.
    Refused,
    /// The input is invalid.
    BadInput { message: String, help: Option<String> },
    /// The person declined.
    Declined,
    /// The input is valid, but the command failed.
    NotDone { message: String, help: String },
    /// A person or the system interrupted the command before anything had started.
    Interrupted { message: String, help: String },
    /// Disk, journal or lock.
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
            Self::NotDone { .. } => Exit::TasksFailed,
            Self::Interrupted { .. } => Exit::Interrupted,
            // The reader closed the pipe, which is no error: `plan | head`.
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
            Self::Disk { .. } | Self::Output(_) => Exit::DiskFailure,
        }
    }

    pub fn help(&self) -> Option<&str> {
        match self {
            Self::BadInput { help, .. } => help.as_deref(),
            Self::NotDone { help, .. } | Self::Interrupted { help, .. } | Self::Disk { help, .. } => {
                Some(help)
            }
            Self::Refused | Self::Declined | Self::Output(_) => None,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused => f.write_str("the input has problems; standard error lists them"),
            Self::Declined => f.write_str("not confirmed"),
            Self::BadInput { message, .. }
            | Self::NotDone { message, .. }
            | Self::Interrupted { message, .. }
            | Self::Disk { message, .. } => f.write_str(message),
            Self::Output(error) => write!(f, "cannot write the output: {error}"),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        let (message, help) = (error.to_string(), hint::complete(&error.help()));
        match error {
            SessionError::NoSuchSession { .. }
            | SessionError::BadName { .. }
            | SessionError::OutsideProject { .. }
            | SessionError::TooLarge { .. }
            | SessionError::NotJson { .. }
            | SessionError::NotOwner { .. }
            | SessionError::UnknownField { .. }
            | SessionError::NotCoordinator { .. }
            | SessionError::InvalidPlan { .. }
            | SessionError::InvalidTeam { .. }
            | SessionError::Unreadable { .. } => Self::with_help(message, help),
            SessionError::Io { .. }
            | SessionError::Damaged { .. }
            | SessionError::UnknownEvent { .. }
            | SessionError::NewerFormat { .. }
            | SessionError::Poisoned { .. }
            | SessionError::Locked { .. }
            | SessionError::Copy { .. }
            | SessionError::Gone { .. }
            | SessionError::JournalGone { .. }
            | SessionError::Busy { .. }
            | SessionError::Malformed { .. }
            | SessionError::UnclaimedReport { .. } => Self::Disk { message, help },
        }
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::BadRequest { message, help } => Self::with_help(message, hint::complete(&help)),
            Refused::Session(error) => error.into(),
        }
    }
}
