//! Starts, observes and ends processes: the [guardian], which is the parent of every worker, the kernel's process table, and
//! functions that end whole sets of processes. Knows nothing about tasks, waves or test runs.

mod detached;
mod ending;
mod environment;
mod git;
pub mod guardian;
mod identity;
mod limits;
mod lock_anyway;
mod own_process;
mod pipes;
pub mod process_table;
pub mod sandbox;

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

pub use detached::{DetachedChild, start_detached};
pub(crate) use ending::{KILL_INTERVAL, Progress, Sweep, end_processes, send_signal};
pub use ending::{end_all_descendants, end_process_trees};
pub use environment::{WORKER_VARIABLE, outer_agent_markers};
pub use git::{git_bytes, git_command, git_names, git_output, git_output_to, git_text, trust_repository};
pub(crate) use identity::process_id;
pub use identity::{Leftovers, end_leftovers, is_alive};
pub use limits::{check_open_files_limit, raise_open_files_limit};
pub use lock_anyway::LockAnyway;
pub use own_process::{signal_self, terminate_when_stdin_closes};
pub use pipes::{drain_pipe, input_pipe, no_input, output_pipe, pump};
use sandbox::Confinement;
pub use wavecrew_core::event::ProcessId;

/// One program to start. The environment is the coordinator's own, without the markers of an outer agent.
#[derive(Debug)]
pub struct Spawn {
    /// A path, or a name that is looked up on `PATH`.
    pub program: OsString,
    pub args: Vec<OsString>,
    /// Absolute.
    pub cwd: PathBuf,
    pub env_set: Vec<(OsString, OsString)>,
    pub env_remove: Vec<OsString>,
    pub stdin: OwnedFd,
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
    /// What it may do; `None` for whatever the user may.
    pub confinement: Option<Arc<Confinement>>,
}

/// How a worker's main process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProcessExit {
    Code(i32),
    Signal(i32),
}

impl ProcessExit {
    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }
}

/// What the guardian reports to the driver, in the order in which it happened.
#[derive(Debug)]
pub enum GuardianEvent {
    Spawned {
        key: u64,
        process: ProcessId,
    },
    /// No `Exited` follows.
    SpawnFailed {
        key: u64,
        error: SpawnError,
    },
    /// The main process and everything it started have ended.
    Exited {
        key: u64,
        status: ProcessExit,
        /// Processes that outlived the main process and were ended.
        killed_leftovers: u32,
    },
    /// The guardian died. All workers have been ended; no `Exited` follows for them.
    GuardianLost,
}

#[derive(Debug, thiserror::Error)]
#[error("cannot start `{program}`: {reason}")]
pub struct SpawnError {
    pub program: String,
    pub reason: SpawnFailure,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpawnFailure {
    #[error("not found (check the spelling, and that its folder is in PATH)")]
    NotFound,
    #[error("its working folder `{}` does not exist", .0.display())]
    NoWorkingFolder(PathBuf),
    #[error("no permission to run it (is it executable?)")]
    NotPermitted,
    #[error("not a program (a script needs a `#!` line at its start)")]
    NotAProgram,
    #[error("its arguments and environment are too long for the system (put long texts in a file)")]
    TooLong,
    #[error("too many open files (raise the limit with `ulimit -n`, or run fewer workers at once)")]
    TooManyFiles,
    /// On another machine.
    #[error("{reason}")]
    Elsewhere { reason: String, temporary: bool },
    #[error("{}", io::Error::from(*.0))]
    Other(Errno),
}

impl SpawnFailure {
    pub(crate) fn new(errno: Errno, cwd: PathBuf) -> Self {
        match errno {
            Errno::NOENT | Errno::NOTDIR if !cwd.is_dir() => Self::NoWorkingFolder(cwd),
            Errno::NOENT | Errno::NOTDIR => Self::NotFound,
            Errno::ACCESS | Errno::PERM => Self::NotPermitted,
            Errno::NOEXEC => Self::NotAProgram,
            Errno::TOOBIG => Self::TooLong,
            Errno::MFILE | Errno::NFILE => Self::TooManyFiles,
            other => Self::Other(other),
        }
    }
}

/// Why no worker can be managed at all.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    #[error("cannot start the guardian process `{program}`: {source}")]
    Start { program: String, source: io::Error },
    #[error("the guardian process `{program}` did not become ready: {reason}")]
    NotReady { program: String, reason: String },
    #[error("the guardian process is gone")]
    GuardianGone,
    #[error("cannot {what}: {source}")]
    System { what: &'static str, source: io::Error },
}

impl ProcessError {
    pub(crate) fn system(what: &'static str) -> impl FnOnce(Errno) -> Self {
        move |errno| Self::System {
            what,
            source: errno.into(),
        }
    }
}
