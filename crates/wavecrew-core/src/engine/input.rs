//! What the engine is told. Everything that happens outside reaches it as one of these.

use crate::event::{ProcessId, StopReason, TokenUsage, Verdict, WorktreeRecord};
use crate::plan::Plan;
use crate::pool::Pool;
use crate::sheet::Patch;
use std::time::Duration;

/// One worker: one attempt at one task. Never reused within a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WorkerId(pub u64);

#[derive(Debug)]
pub enum Input {
    /// Begin to run waves. Reports that were accepted for attempts whose coordinator died come along.
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
    /// The worker showed a sign of life.
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
    /// A report arrived while the worker's turn is still under way.
    Reported {
        worker: WorkerId,
        body: String,
    },
    /// The worker waits for an answer to this.
    WorkerAsks {
        worker: WorkerId,
        key: String,
        request: WorkerRequest,
    },
    /// What the turn under way has used so far.
    UsageSoFar {
        worker: WorkerId,
        spent: TokenUsage,
        model: Option<String>,
    },
    /// The worker has a working copy of its own.
    WorktreeMade {
        worker: WorkerId,
        worktree: WorktreeRecord,
    },
    /// What became of the work in a task's tree.
    MergeDone {
        task: String,
        outcome: MergeOutcome,
    },
    /// The worker's turn is over.
    TurnEnded {
        worker: WorkerId,
        end: TurnEnd,
    },
    /// The worker went on after its report and changed these files.
    EditedAfterReport {
        worker: WorkerId,
        files: Vec<String>,
    },
    /// Something about a claim is in doubt and stays so; the outcome of its check follows.
    Doubted {
        worker: WorkerId,
        reason: String,
    },
    /// The claim of a worker was compared with the facts.
    ClaimChecked {
        worker: WorkerId,
        outcome: CheckOutcome,
    },
    /// The rows that the result of a task asked for, if there are any: the plan is the sealed result of the patch.
    Expanded {
        task: String,
        change: Result<Option<(Patch, Box<Plan>)>, String>,
    },
    /// Nothing of the worker is left.
    Closed {
        worker: WorkerId,
    },
    /// What all runs on this machine know of a pool, and how many workers the others have in it.
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
    /// A person's edit cannot be followed; it was set aside.
    TableEditRefused {
        problems: Vec<String>,
    },
    Answered {
        question: u32,
        answer: Answer,
    },
    /// Start nothing new; let what runs finish.
    Drain,
    /// End what runs, then stop.
    Stop(StopKind),
    Pause,
    Resume,
}

/// What a worker asks for and waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WorkerRequest {
    /// Permission for something that the access of its role does not cover.
    Permission(String),
    /// An answer; `options` are the ones it suggests.
    Question { question: String, options: Vec<String> },
}

/// Whether a worker prints while it works.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutputMode {
    /// Prints events from the start: one that prints nothing hangs.
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
    /// It will not work next time either: no such program, no permission.
    Permanent(String),
    /// The machine is short of something: try again later.
    Temporary(String),
}

/// How a turn of a worker ended.
#[derive(Clone, Debug)]
pub struct TurnEnd {
    pub exit: Exit,
    /// Candidates for the report, most trustworthy channel first.
    pub reports: Vec<String>,
    /// The last words of the worker, for the error text.
    pub last_output: String,
    /// What the turn used.
    pub spent: TokenUsage,
    /// By which model, if that was told.
    pub model: Option<String>,
    /// When the service wants to be asked again.
    pub retry_after: Option<Duration>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    Code(i32),
    Signal(i32),
    /// The agent itself told why it could not go on.
    Reason(StopReason),
}

#[derive(Clone, Debug)]
pub enum CheckOutcome {
    /// The facts agree; measured values replace claimed ones.
    Confirmed {
        verdict: Verdict,
        measured: Vec<(String, String)>,
    },
    /// It was examined by a program of our own.
    Measured(CheckFindings),
    /// The facts disagree; the worker may mend it in the same conversation.
    SendBack(String),
    /// Nothing is proven, but something is in doubt: the worker is asked once.
    Ask(String),
    /// The facts disagree and asking again is no use.
    Contradicted(String),
}

/// What became of work that was to be merged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MergeOutcome {
    /// It is merged; the end of all that is.
    Merged {
        commit: String,
    },
    /// There was none.
    Nothing,
    Refused(String),
}

/// What an examination found out.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CheckFindings {
    pub verdict: Verdict,
    /// Values of output columns, which replace claimed ones.
    pub measured: Vec<(String, String)>,
    /// What else those who judge the result want to know.
    pub facts: Vec<(String, String)>,
    /// Findings for a task that needed no worker.
    pub findings: String,
    /// What is still short of the target, in words for the worker.
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
    /// Of a decision: let it pass.
    Proceed,
    /// Of a decision: have the work revised.
    Revise,
    /// In a person's own words, or those of an option.
    Text(String),
}
