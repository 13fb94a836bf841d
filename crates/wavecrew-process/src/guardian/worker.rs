//! One worker as the guardian sees it.

use std::collections::HashSet;
use std::time::Duration;

use rustix::process::Pid;

use super::confined_threads::ParentThread;
use crate::ProcessExit;

/// The time that leftovers of a worker have to clean up after its main process exited.
pub const LEFTOVER_GRACE: Duration = Duration::from_millis(200);

/// A process that was started on request.
#[derive(Debug)]
pub struct Worker {
    pub pid: Pid,
    pub start_time: u64,
    /// Set once the main process ended.
    pub exit: Option<ProcessExit>,
    /// Processes that outlived the main process.
    pub leftovers: HashSet<(Pid, u64)>,
    /// Of a confined worker: the thread that it is a child of.
    pub parent: Option<ParentThread>,
}
