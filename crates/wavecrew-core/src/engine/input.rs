//! Inputs of the engine: everything that happens outside reaches it as one of these.

use crate::event::{AnsweredBy, ProcessId, Refusal, StopReason, TokenUsage, Verdict, WorktreeRecord};
use crate::plan::Plan;
use crate::pool::Pool;
use crate::sheet::Patch;
use std::time::Duration;

/// One worker: one attempt at one task. Never reused within a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WorkerId(pub u64);

#[derive(Debug)]
pub enum Input {
    /// Begin to run waves. `recovered` are the accepted reports of attempts whose coordinator died.
    Begin {
        recovered: Vec<RecoveredReport>,
    },
    /// Time has passed.
    Tick,
    Spawned {
        worker: WorkerId,
        process: ProcessId,
        output_mode: OutputMode,
    },
    SpawnFailed {
        worker: WorkerId,
        error: SpawnError,
    },
    /// The worker was active.
    Activity {
        worker: WorkerId,
    },
    /// The agent named its conversation.
    ConversationStarted {
        worker: WorkerId,
        conversation: String,
        model: Option<String>,
        version: Option<String>,
    },
    /// A report arrived during the worker's turn.
    Reported {
        worker: WorkerId,
        body: String,
    },
    /// The worker waits for an answer.
    WorkerAsks {
        worker: WorkerId,
        key: String,
        request: WorkerRequest,
    },
    /// What the current turn has used so far.
    UsageSoFar {
        worker: WorkerId,
        spent: TokenUsage,
        model: Option<String>,
    },
    /// The worker has a worktree.
    WorktreeMade {
        worker: WorkerId,
        worktree: WorktreeRecord,
    },
    /// The outcome of merging a task's worktree.
    MergeDone {
        task: String,
        outcome: MergeOutcome,
    },
    /// The worker's turn has ended.
    TurnEnded {
        worker: WorkerId,
        end: TurnEnd,
    },
    /// The worker changed these files after its report.
    EditedAfterReport {
        worker: WorkerId,
        files: Vec<String>,
    },
    /// The sandbox refused these, according to the worker's output.
    Refused {
        worker: WorkerId,
        refusals: Vec<Refusal>,
    },
    /// Something about a claim is in doubt and stays so; the outcome of its check follows.
    Doubted {
        worker: WorkerId,
        reason: String,
    },
    /// The check of a worker's claims has ended.
    ClaimChecked {
        worker: WorkerId,
        outcome: CheckOutcome,
    },
    /// The rows that a task's result asked for, if any; the plan is the sealed result of the patch.
    Expanded {
        task: String,
        change: Result<Option<(Patch, Box<Plan>)>, String>,
    },
    /// All processes of the worker have ended.
    Closed {
        worker: WorkerId,
    },
    /// What all runs on this machine know of a pool, and how many workers other runs have in it.
    PoolUpdated {
        pool: String,
        state: Pool,
        others: usize,
    },
    /// A person edited `tasks.csv`; the plan is the sealed result of the patch.
    TableEdited {
        patch: Patch,
        plan: Box<Plan>,
    },
    /// A table edit is not a valid plan; it was set aside.
    TableEditRefused {
        problems: Vec<String>,
    },
    Answered {
        question: u32,
        given: GivenAnswer,
    },
    /// Start nothing new; let what runs finish.
    Drain,
    /// End what runs, then stop.
    Stop(StopKind),
    Pause,
    Resume,
    /// A person did something outside of the terminal of the run; what follows from it is another input.
    Acted {
        action: String,
        task: Option<String>,
        via: String,
    },
    /// End the worker of this task, or skip the task if it has none yet.
    CancelTask(String),
    /// Run a failed or skipped task again, and what was skipped because of it.
    RetryTask(String),
    /// Send a message to the worker of this task.
    SendMessage {
        task: String,
        text: String,
    },
}

/// A request of a worker that waits for the answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WorkerRequest {
    /// Permission for an action that the access of its role does not cover.
    Permission(String),
    /// A question; `options` are the answers it suggests.
    Question { question: String, options: Vec<String> },
}

/// Whether a worker prints while it works.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutputMode {
    /// Prints events from the start: without any output, it hangs.
    Streaming,
    /// May print nothing until it ends.
    Silent,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecoveredReport {
    pub task: String,
    pub attempt: u32,
    pub body: String,
}

#[derive(Clone, Debug)]
pub enum SpawnError {
    /// The next attempt would fail too: no such program, no permission.
    Permanent(String),
    /// The machine lacks a resource: try again later.
    Temporary(String),
}

/// How a turn of a worker ended.
#[derive(Clone, Debug)]
pub struct TurnEnd {
    pub exit: TurnExit,
    /// Candidates for the report, most trustworthy channel first.
    pub reports: Vec<String>,
    /// The last line of output, for the error text.
    pub last_output: String,
    /// What the turn used.
    pub spent: TokenUsage,
    /// The model, if known.
    pub model: Option<String>,
    /// The wait that the service asked for.
    pub retry_after: Option<Duration>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TurnExit {
    Code(i32),
    Signal(i32),
    /// The agent reported why it stopped.
    Reason(StopReason),
}

#[derive(Clone, Debug)]
pub enum CheckOutcome {
    /// The facts support the claims; measured values replace claimed ones.
    Confirmed {
        verdict: Verdict,
        measured: Vec<(String, String)>,
    },
    /// A check program has measured the work.
    Measured(CheckFindings),
    /// The facts contradict a claim; the worker may correct it in the same conversation.
    SendBack(String),
    /// Nothing is proven, but something is in doubt: the worker is asked once.
    Ask(String),
    /// The facts contradict a claim, and the worker cannot correct it.
    Contradicted(String),
}

/// The outcome of merging a worktree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MergeOutcome {
    /// Merged; `commit` is the new end of the session's branch.
    Merged {
        commit: String,
    },
    /// There was nothing to merge.
    Nothing,
    Refused(String),
}

/// What a check program measured.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CheckFindings {
    pub verdict: Verdict,
    /// Values of output columns, which replace claimed ones.
    pub measured: Vec<(String, String)>,
    /// Further values, for policies.
    pub facts: Vec<(String, String)>,
    /// Findings for a task that needed no worker.
    pub findings: String,
    /// What is in doubt about the claim.
    pub doubt: String,
    /// What is still short of the target, for the worker.
    pub shortfall: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StopKind {
    /// Ctrl-C or a signal.
    Interrupt,
    /// `wavecrew cancel` from another process.
    Cancel,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    Retry,
    Abort,
    Allow,
    Deny,
    /// Let it pass.
    Proceed,
    /// Have the work revised.
    Revise,
    /// Free text, or an option.
    Text(String),
}

/// An answer and who gave it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GivenAnswer {
    pub answer: Answer,
    pub by: AnsweredBy,
    /// What the person adds for the worker whose work is revised.
    pub remark: Option<String>,
}

impl GivenAnswer {
    pub fn by(by: AnsweredBy, answer: Answer) -> Self {
        Self {
            answer,
            by,
            remark: None,
        }
    }
}
