//! The events of the journal: the only state on disk. Everything that the engine knows about a session is a fold over
//! them.

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
    /// A run of the session began.
    RunStarted {
        at: Timestamp,
        concurrency: usize,
    },
    WaveStarted {
        wave: u32,
    },
    /// A worker is about to start.
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
        /// The version of the agent.
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
    /// Work or a report was sent back in the same conversation.
    SentBack {
        task: String,
        attempt: u32,
        turn: u32,
        reason: String,
    },
    /// The worker changed files after its report, which may no longer describe them.
    EditedAfterReport {
        task: String,
        attempt: u32,
        files: Vec<String>,
    },
    /// The sandbox refused these, according to the worker's output.
    Refused {
        task: String,
        attempt: u32,
        refusals: Vec<Refusal>,
    },
    /// The attempt has ended and the task has its result.
    Finished {
        at: Timestamp,
        task: String,
        attempt: u32,
        stop: StopReason,
        result: TaskResult,
    },
    /// The attempt has failed and another one follows.
    AttemptFailed {
        at: Timestamp,
        task: String,
        attempt: u32,
        stop: StopReason,
        error: String,
        retry_at: Timestamp,
    },
    /// The attempt met a rate limit or a used-up quota. The task is pending again, and the attempt does not count.
    Postponed {
        at: Timestamp,
        task: String,
        attempt: u32,
        stop: StopReason,
        error: String,
    },
    /// A pool has changed: nothing of it starts before its `until`.
    QuotaWait {
        at: Timestamp,
        pool: String,
        #[serde(flatten)]
        state: Pool,
    },
    /// The budget of the session from now on.
    Budgeted {
        budget: Budget,
    },
    /// The attempt was open when the coordinator died or stopped.
    Interrupted {
        at: Timestamp,
        task: String,
        attempt: u32,
    },
    /// The task was skipped because a dependency failed, or by a table edit.
    Skipped {
        task: String,
        error: String,
    },
    /// The task runs again.
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
    /// The task runs again because a policy sent its work back.
    Reworked {
        task: String,
        #[serde(flatten)]
        rework: Rework,
    },
    /// The rework was rolled back: the result before it stands.
    RolledBack {
        task: String,
        why: String,
    },
    /// A person marked the task as done.
    MarkedDone {
        task: String,
    },
    WaveMerged {
        wave: u32,
    },
    /// The task's worker has a worktree.
    #[serde(rename = "tree_made")]
    WorktreeMade {
        task: String,
        #[serde(flatten)]
        worktree: WorktreeRecord,
    },
    /// The task's worktree is merged, or there was nothing to merge.
    #[serde(rename = "tree_merged")]
    WorktreeMerged {
        task: String,
        /// The new end of the session's branch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
    },
    /// The worktree could not be merged: the task has failed, and the worktree stays.
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
    /// A table edit was not a valid plan; it was set aside.
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
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<AnsweredBy>,
        /// What the person adds for the worker.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remark: Option<String>,
    },
    /// A person did something outside of the terminal of the run.
    Acted {
        at: Timestamp,
        /// In words: `pause`, `cancel`, `answer`, ...
        action: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<String>,
        /// Where: `browser`.
        via: String,
    },
    RunEnded {
        at: Timestamp,
        ending: RunOutcome,
    },
}

impl Event {
    /// When it happened, if recorded.
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
            | Self::Acted { at, .. }
            | Self::RunEnded { at, .. } => Some(*at),
            Self::WaveStarted { .. }
            | Self::Spawned { .. }
            | Self::ConversationStarted { .. }
            | Self::Usage { .. }
            | Self::SentBack { .. }
            | Self::EditedAfterReport { .. }
            | Self::Refused { .. }
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

/// A place that the sandbox kept a worker from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    pub path: String,
    pub access: RefusedAccess,
}

/// What is not allowed there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RefusedAccess {
    /// Neither reading nor changing.
    Read,
    /// Changing.
    Write,
}

impl RefusedAccess {
    /// The kind of access that the worker attempted, at least.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "change",
        }
    }
}

/// The worktree of a task.
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
    /// The policy; rounds are counted per policy.
    pub by: Policy,
    pub outcome: PolicyOutcome,
    /// How often the policy had sent the work back before.
    pub round: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    pub why: String,
    /// The measured figures of the decision.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measured: Vec<(String, String)>,
    /// Values of output columns that replace the current ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<(String, String)>,
    /// Who decided, when it was not the policy alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<AnsweredBy>,
}

/// Who answered a question of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnsweredBy {
    /// At the terminal.
    Person,
    /// In the browser.
    Browser,
    /// A program, over MCP or in the session folder.
    Client,
    /// The flag `-y`: nobody was asked.
    YesFlag,
    /// Nobody answered in time, or nobody could be asked.
    Nobody,
}

impl AnsweredBy {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Person => "a person",
            Self::Browser => "a person in the browser",
            Self::Client => "an MCP client",
            Self::YesFlag => "-y",
            Self::Nobody => "nobody",
        }
    }
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
    /// The work is sent back.
    Revise,
    /// The rounds are used up; the work is accepted as it is.
    Accepted,
    /// The rounds are used up; the task counts as failed.
    Failed,
    /// The run stops here; the policy decides again when the session continues.
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

/// Why a task runs again, and what its worker should read about it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Rework {
    /// The task whose result led to the decision.
    pub by: String,
    /// From 1.
    pub round: u32,
    pub why: String,
    /// A file of the session folder with the improvements to make.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brief: Option<String>,
}

/// Hashes of what a result was made from. On continue, a result is kept while they match.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Fingerprint {
    pub row: u64,
    pub instruction: u64,
    pub upstream: u64,
}

/// Tokens and money that a worker used, as far as known.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct TokenUsage {
    /// Includes cached tokens.
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

    /// All tokens, including cached ones.
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

/// A process, distinguishable from a later one with the same pid.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct ProcessId {
    pub pid: i32,
    /// In clock ticks since boot.
    pub start_time: u64,
    pub boot_id: String,
    /// The host that it runs on, if that is not the machine of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}
