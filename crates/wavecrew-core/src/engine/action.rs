//! What the engine wants done. The driver does it, in order, and only after the events before it are in the
//! journal.

use super::input::{Answer, WorkerId};
use crate::event::{Event, Rework, RunOutcome, TokenUsage, WorktreeRecord};
use crate::id::{ExecMode, TaskIx};
use crate::pool::PoolEvent;
use crate::team::Workspace;
use std::time::Duration;

#[derive(Debug)]
#[must_use = "an action that is dropped is work that never happens"]
pub enum Action {
    /// Append to the journal before anything that follows.
    Record(Event),
    /// Write `wave-N.csv` for these tasks, with their `prev_context`.
    WriteWave {
        wave: u32,
        rows: Vec<(TaskIx, String)>,
    },
    Spawn(Box<Assignment>),
    /// Say something more to a worker in its conversation.
    Send {
        worker: WorkerId,
        turn: u32,
        text: String,
    },
    /// Tell the worker that its report was refused; it may report again.
    RefuseReport {
        worker: WorkerId,
        reason: String,
    },
    /// Compare the worker's claim with the facts.
    CheckClaim {
        worker: WorkerId,
        task: TaskIx,
        outputs: Vec<(String, String)>,
        /// The worker was asked about doubts before, or cannot be asked.
        asked: bool,
    },
    /// Find out what is so before a worker is started. Answered by `ClaimChecked`.
    CheckBeforeStart {
        worker: WorkerId,
        task: TaskIx,
        attempt: u32,
    },
    /// A revision made things worse: put back what this attempt of the task had measured.
    Restore {
        task: TaskIx,
        attempt: u32,
    },
    /// Replace rows by those that the result of this task asks for. Answered by `Expanded`.
    Expand {
        task: TaskIx,
    },
    /// End the worker and everything it started. Answered by `Closed`.
    Close {
        worker: WorkerId,
        grace: Duration,
    },
    /// The findings were longer than the table holds; keep the whole text beside the log.
    KeepFindings {
        task: TaskIx,
        attempt: u32,
        text: String,
    },
    /// Write `interactive/{id}-result.json`.
    WriteInteractive {
        task: TaskIx,
    },
    /// The wave's results are in the table: publish it and remove `wave-N.csv`.
    PublishWave {
        wave: u32,
    },
    /// Bring the work in the trees of these tasks together, in this order. Answered by one `Landed` each.
    Merge {
        tasks: Vec<TaskIx>,
    },
    /// Let other runs on this machine know how the pool fared.
    SharePoolEvent {
        pool: String,
        event: PoolEvent,
    },
    /// Answer a question of a worker.
    Reply {
        worker: WorkerId,
        key: String,
        reply: Reply,
    },
    /// Put a question to the person.
    Ask(Question),
    /// Something a person should see.
    Notify(Notice),
    /// The run is over: write the final files and leave.
    Finish(RunOutcome),
}

/// A task handed to a worker.
#[derive(Clone, Debug)]
pub struct Assignment {
    pub worker: WorkerId,
    pub task: TaskIx,
    pub id: String,
    pub role: String,
    pub attempt: u32,
    pub mode: ExecMode,
    pub agent: String,
    pub prev_context: String,
    /// The conversation of an attempt that was cut off, to go on with.
    pub resume: Option<Resume>,
    /// Why the task runs again.
    pub rework: Option<Rework>,
    /// What was found out before the worker was started.
    pub found: Option<String>,
    pub workspace: Workspace,
    /// The working copy of an earlier attempt, to go on in.
    pub worktree: Option<WorktreeRecord>,
}

/// A conversation that a former attempt began.
#[derive(Clone, PartialEq, Debug)]
pub struct Resume {
    pub conversation: String,
    /// What is on record of it: agents count on from there.
    pub spent: TokenUsage,
}

/// Whether an agent may do what it asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Permission {
    Granted,
    Denied,
}

/// What a worker is told that asked something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    Permission(Permission),
    Text(String),
}

#[derive(Clone, Debug)]
pub struct Question {
    pub id: u32,
    pub text: String,
    pub kind: QuestionKind,
    /// After this an answer comes too late.
    pub timeout: Duration,
}

/// What a question is about, and with it what can be answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum QuestionKind {
    /// All tasks of a wave failed: retry or abort.
    FailedWave,
    /// A worker wants to do more than its role may: allow or deny.
    Permission,
    /// A checkpoint or a gate holds the run up: go on, have the work revised where that is still possible, or abort.
    PolicyDecision { may_revise: bool },
    /// A person has to approve before the run goes on: approve or abort.
    Approval,
    /// A worker wants to know something: one of these if there are any, or other words.
    Advice { options: Vec<String> },
}

/// One way to answer a question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AnswerChoice {
    /// For programs.
    pub word: &'static str,
    /// For people.
    pub label: &'static str,
    pub answer: Answer,
}

impl QuestionKind {
    /// What may be answered, the cautious answer last. Advice is given in other words, too.
    pub fn choices(&self) -> Vec<AnswerChoice> {
        let choice = |word, label, answer| AnswerChoice { word, label, answer };
        let stop = choice("abort", "Stop here", Answer::Abort);
        let go_on = choice("go-on", "Go on all the same", Answer::Proceed);
        match self {
            Self::FailedWave => vec![choice("retry", "Try them again", Answer::Retry), stop],
            Self::Permission => vec![
                choice("allow", "Allow it this time", Answer::Allow),
                choice("deny", "Deny it", Answer::Deny),
            ],
            Self::PolicyDecision { may_revise: true } => {
                vec![
                    go_on,
                    choice("revise", "Have the work revised", Answer::Revise),
                    stop,
                ]
            }
            Self::PolicyDecision { may_revise: false } => vec![go_on, stop],
            Self::Approval => vec![choice("approve", "Approve", Answer::Proceed), stop],
            Self::Advice { .. } => Vec::new(),
        }
    }

    /// What counts when nobody answers.
    pub fn unanswered(&self) -> Answer {
        match self {
            Self::FailedWave | Self::PolicyDecision { .. } | Self::Approval => Answer::Abort,
            Self::Permission | Self::Advice { .. } => Answer::Deny,
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub enum Notice {
    WaveDone {
        wave: u32,
        completed: usize,
        failed: usize,
        skipped: usize,
    },
    /// A worker has been silent for a while.
    Stalled {
        task: String,
        silent: Duration,
    },
    /// The worker changed its mind or was late; its report did not count.
    ReportIgnored {
        task: String,
        reason: String,
    },
    Note(String),
}
