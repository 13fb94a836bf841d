//! A worker: the agent process that does one attempt at a task. Started, given messages turn by turn, read, ended.

pub(crate) mod appended_files;
mod close;
pub mod conversation;
mod edits_after_report;
pub mod files;
pub(crate) mod first_message;
pub mod output;
pub(crate) mod packed_files;
mod reports;
mod requests;
mod start;
pub mod streams;
mod turn;
pub mod turn_end;
mod usage_file;

use conversation::WorkerConversation;
use output::Output;
use packed_files::WorkerFiles;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};
use wavecrew_agents::Agent;
use wavecrew_core::engine::Assignment;
use wavecrew_session::{ClosedAttempt, Token};

/// A worker as the driver sees it: its processes, its output, its report channel.
pub(crate) struct Worker {
    pub assignment: Assignment,
    pub token: Token,
    pub output: Rc<Output>,
    pub started: Instant,
    pub last_output: Instant,
    pub files: WorkerFiles,
    /// Keys of processes that run or are being started.
    pub alive: Vec<u64>,
    pub agent: Rc<dyn Agent>,
    /// The number of its token's file, of its inbox and its temporary folder.
    pub number: u32,
    /// Its temporary folder, if it is confined.
    pub temp: Option<PathBuf>,
    /// The machine that its process runs on, if it is another one.
    pub host: Option<String>,
    /// Its working folder.
    pub folder: PathBuf,
    /// The turn that was started last.
    pub turn: u32,
    pub conversation: WorkerConversation,
    /// The message to send once the current turn has ended.
    pub pending_message: Option<PendingMessage>,
    /// Names of the question files that it wrote.
    pub question_files: Vec<String>,
    /// The engine has a submitted report of it that is not refused.
    pub report_received: bool,
    /// Set when the engine ends it.
    pub closing: Option<ClosedAttempt>,
    /// Its turn was asked to end: by when, and the grace for its process after that.
    pub turn_deadline: Option<(Instant, Duration)>,
}

/// A message for the next turn.
pub(crate) struct PendingMessage {
    pub turn: u32,
    pub text: String,
    /// It answers a report, so that nothing else in the current turn counts as one.
    pub answers_report: bool,
}
