//! The durable record of what happened: the only disk format of state. Everything the engine knows about a
//! session is a fold over these.

mod policy;
mod result;

pub use policy::Policy;
pub use result::{RunOutcome, Status, StopReason, TaskResult, Verdict};

use crate::budget::Budget;
use crate::pool::Pool;
use crate::sheet::Patch;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// One line of the journal. New kinds and optional fields may be added; none changes its meaning.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "e", rename_all = "snake_case")]
pub enum Event {
    /// A coordinator began to drive the session, for the first time or again.
    RunStarted {
        at: Timestamp,
        concurrency: usize,
    },
    WaveStarted {
        wave: u32,
    },
    /// A worker is about to be started.
    AttemptStarted {
        at: Timestamp,
        task: String,
        attempt: u32,
        print: Fingerprint,
        agent: String,
    },
    /// The worker's process exists.
    Spawned {
        task: String,
        attempt: u32,
        turn: u32,
        process: ProcessId,
    },
    /// The agent named its conversation, which a later attempt may resume.
    #[serde(rename = "conversing")]
    ConversationStarted {
        task: String,
        attempt: u32,
        conversation: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// Of the agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        version: Option<String>,
    },
    /// What one turn of an attempt used.
    Usage {
        task: String,
        attempt: u32,
        turn: u32,
        #[serde(flatten)]
        spent: TokenUsage,
    },
    /// A report was refused and the worker was asked again in the same conversation.
    SentBack {
        task: String,
        attempt: u32,
        turn: u32,
        reason: String,
    },
    /// Files changed after the worker's report was in: it may not describe what is there.
    EditedAfterReport {
        task: String,
        attempt: u32,
        files: Vec<String>,
    },
    /// The attempt is over and the task has its result.
    Finished {
        at: Timestamp,
        task: String,
        attempt: u32,
        stop: StopReason,
        result: TaskResult,
    },
    /// The attempt is over and the task will be tried again.
    AttemptFailed {
        at: Timestamp,
        task: String,
        attempt: u32,
        stop: StopReason,
        error: String,
        retry_at: Timestamp,
    },
    /// The attempt met a limit of its service that time lifts. The task is to do, and the attempt does not count.
    Postponed {
        at: Timestamp,
        task: String,
        attempt: u32,
        stop: StopReason,
        error: String,
    },
    /// What is known of the service behind an account has changed: nothing of it starts before its `until`.
    QuotaWait {
        at: Timestamp,
        pool: String,
        #[serde(flatten)]
        state: Pool,
    },
    /// The limits of the session from now on.
    Budgeted {
        budget: Budget,
    },
    /// The attempt had no end when the coordinator died or was told to stop.
    Interrupted {
        at: Timestamp,
        task: String,
        attempt: u32,
    },
    /// The task was not run because of what happened before it, or because a person said so.
    Skipped {
        task: String,
        error: String,
    },
    /// The task is to run again.
    Reset {
        task: String,
        why: String,
    },
    /// A policy decided about the result of a task.
    #[serde(rename = "judged")]
    PolicyDecided {
        at: Timestamp,
        #[serde(flatten)]
        decision: PolicyDecision,
    },
    /// The task is to run again because of what a judgement said of its work.
    Reworked {
        task: String,
        #[serde(flatten)]
        rework: Rework,
    },
    /// The rework of the task came to nothing: the result before it stands.
    RolledBack {
        task: String,
        why: String,
    },
    /// A person said the task is done.
    MarkedDone {
        task: String,
    },
    WaveMerged {
        wave: u32,
    },
    /// The task's worker has a working copy of its own.
    #[serde(rename = "tree_made")]
    WorktreeMade {
        task: String,
        #[serde(flatten)]
        worktree: WorktreeRecord,
    },
    /// The work in the task's tree is where the work of all tasks comes together, or there was none.
    #[serde(rename = "tree_merged")]
    WorktreeMerged {
        task: String,
        /// The end of all that is merged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
    },
    /// The work in the task's tree could not be merged: the task has failed, and the tree stays.
    #[serde(rename = "tree_refused")]
    MergeFailed {
        at: Timestamp,
        task: String,
        error: String,
    },
    /// A person edited `tasks.csv`.
    #[serde(rename = "edited")]
    TableEdited {
        patch: Patch,
    },
    /// A person edited `tasks.csv` in a way that cannot be followed; the edit was set aside.
    #[serde(rename = "edit_refused")]
    TableEditRefused {
        at: Timestamp,
        problems: Vec<String>,
    },
    Asked {
        question: u32,
        text: String,
    },
    Answered {
        question: u32,
        answer: String,
    },
    RunEnded {
        at: Timestamp,
        ending: RunOutcome,
    },
}

impl Event {
    /// When it happened, where that is on record.
    pub fn at(&self) -> Option<Timestamp> {
        match self {
            Self::RunStarted { at, .. }
            | Self::AttemptStarted { at, .. }
            | Self::Finished { at, .. }
            | Self::AttemptFailed { at, .. }
            | Self::Postponed { at, .. }
            | Self::QuotaWait { at, .. }
            | Self::Interrupted { at, .. }
            | Self::MergeFailed { at, .. }
            | Self::TableEditRefused { at, .. }
            | Self::PolicyDecided { at, .. }
            | Self::RunEnded { at, .. } => Some(*at),
            Self::WaveStarted { .. }
            | Self::Spawned { .. }
            | Self::ConversationStarted { .. }
            | Self::Usage { .. }
            | Self::SentBack { .. }
            | Self::EditedAfterReport { .. }
            | Self::Budgeted { .. }
            | Self::Skipped { .. }
            | Self::Reset { .. }
            | Self::Reworked { .. }
            | Self::RolledBack { .. }
            | Self::MarkedDone { .. }
            | Self::WaveMerged { .. }
            | Self::WorktreeMade { .. }
            | Self::WorktreeMerged { .. }
            | Self::TableEdited { .. }
            | Self::Asked { .. }
            | Self::Answered { .. } => None,
        }
    }
}

/// A working copy of a task's own.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WorktreeRecord {
    pub branch: String,
    /// Below the session's folder.
    pub folder: String,
    /// The commit it was made from.
    pub base: String,
}

/// What a loop, a checkpoint or a gate decided about the result of a task.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PolicyDecision {
    pub task: String,
    pub attempt: u32,
    /// Rounds are counted by this.
    pub by: Policy,
    pub outcome: PolicyOutcome,
    /// How often the work had been sent back before.
    pub round: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    pub why: String,
    /// The figures it was decided by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measured: Vec<(String, String)>,
    /// Values of output columns that stand from now on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<(String, String)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyOutcome {
    Pass,
    Warn,
    /// A person let it pass.
    Overridden,
    /// A person approved.
    Approved,
    /// The work goes back.
    Revise,
    /// The rounds are used up; what there is is taken.
    Accepted,
    /// The rounds are used up; the task counts as failed.
    Failed,
    /// The run stops here; it is judged again when the run goes on.
    Stop,
}

impl PolicyOutcome {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Warn => "warn",
            Self::Overridden => "overridden",
            Self::Approved => "approved",
            Self::Revise => "revise",
            Self::Accepted => "accepted",
            Self::Failed => "failed",
            Self::Stop => "stop",
        }
    }
}

/// Why a task runs again, and what its worker is to read about it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Rework {
    /// The task whose judgement sent it back.
    pub by: String,
    /// From 1.
    pub round: u32,
    pub why: String,
    /// File of the session folder that says what is to be better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brief: Option<String>,
}

/// What a result was produced from. On continue, a result is kept while all of it still matches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Fingerprint {
    pub row: u64,
    pub instruction: u64,
    pub upstream: u64,
}

/// Tokens and money that a worker used, as far as its agent tells.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct TokenUsage {
    /// With what came from the service's cache.
    pub input: u64,
    pub cached: u64,
    pub output: u64,
    /// In US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

impl TokenUsage {
    pub fn is_nothing(&self) -> bool {
        (self.input, self.cached, self.output) == (0, 0, 0) && self.cost.is_none_or(|cost| cost <= 0.0)
    }

    /// All of them, cached ones included.
    pub fn tokens(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

impl std::ops::AddAssign for TokenUsage {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.cached += other.cached;
        self.output += other.output;
        self.cost = match (self.cost, other.cost) {
            (Some(a), Some(b)) => Some(a + b),
            (cost, None) | (None, cost) => cost,
        };
    }
}

/// A process that cannot be mistaken for another one that got the same pid later.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct ProcessId {
    pub pid: i32,
    /// In clock ticks since the boot.
    pub start_time: u64,
    pub boot_id: String,
}
