//! What the engine wants done. The driver performs actions in order, and only after the events before them are in the
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
    /// Send a further message to an interactive worker.
    Send {
        worker: WorkerId,
        turn: u32,
        text: String,
    },
    /// Refuse the worker's report; it may report again.
    RefuseReport {
        worker: WorkerId,
        reason: String,
    },
    /// Check the worker's claims. Answered by `ClaimChecked`.
    CheckClaim {
        worker: WorkerId,
        task: TaskIx,
        outputs: Vec<(String, String)>,
        /// The worker was asked about doubts before, or cannot be asked.
        asked: bool,
    },
    /// Run the check of a task before its worker starts. Answered by `ClaimChecked`.
    CheckBeforeStart {
        worker: WorkerId,
        task: TaskIx,
        attempt: u32,
    },
    /// Restore the work of an earlier attempt, because the revision made things worse.
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
    /// Keep the whole findings beside the log, because they are too long for the table.
    KeepFindings {
        task: TaskIx,
        attempt: u32,
        text: String,
    },
    /// Write `interactive/{id}-result.json`.
    WriteInteractive {
        task: TaskIx,
    },
    /// Publish the table with the wave's results and remove `wave-N.csv`.
    PublishWave {
        wave: u32,
    },
    /// Merge the worktrees of these tasks, in this order. Answered by one `MergeDone` each.
    Merge {
        tasks: Vec<TaskIx>,
    },
    /// Share an event of a pool with other runs on this machine.
    SharePoolEvent {
        pool: String,
        event: PoolEvent,
    },
    /// Answer a request of a worker.
    Reply {
        worker: WorkerId,
        key: String,
        reply: Reply,
    },
    /// Ask the person.
    Ask(Question),
    /// Show the person something.
    Notify(Notice),
    /// Write the final files and end the run.
    Finish(RunOutcome),
}

/// A task for a worker.
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
    /// The conversation of an interrupted attempt, to resume.
    pub resume: Option<Resume>,
    /// Why the task runs again.
    pub rework: Option<Rework>,
    /// What the check before the start found to be short.
    pub found: Option<String>,
    pub workspace: Workspace,
    /// The worktree of an earlier attempt, to continue in.
    pub worktree: Option<WorktreeRecord>,
}

/// A conversation of an earlier attempt.
#[derive(Clone, PartialEq, Debug)]
pub struct Resume {
    pub conversation: String,
    /// Its recorded usage: agents count from there.
    pub spent: TokenUsage,
}

/// Whether an agent may do what it asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Permission {
    Granted,
    Denied,
}

/// The answer to a request of a worker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    Permission(Permission),
    Text(String),
}

#[derive(Clone, Debug)]
pub struct Question {
    pub id: u32,
    /// The facts, then the question in the last line.
    pub text: String,
    /// Documents that the answer is about, as paths in the session folder.
    pub documents: Vec<String>,
    pub kind: QuestionKind,
    /// Later answers are ignored.
    pub timeout: Duration,
}

impl Question {
    /// The facts with a line for each document, and the question itself. `shown` makes a document's path one that the
    /// reader can open.
    pub fn facts_and_question(&self, shown: impl Fn(&str) -> String) -> (String, &str) {
        let (facts, asked) = self.text.rsplit_once('\n').unwrap_or(("", &self.text));
        let documents = self.documents.iter().map(|path| format!("Read {}", shown(path)));
        let facts = Some(facts.to_owned()).filter(|facts| !facts.is_empty());
        let lines: Vec<String> = facts.into_iter().chain(documents).collect();
        (lines.join("\n"), asked)
    }
}

/// What a question is about; decides which answers are possible.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum QuestionKind {
    /// All tasks of a wave failed: retry or abort.
    FailedWave,
    /// A worker asks for permission: allow or deny.
    Permission,
    /// A checkpoint or a gate blocks the run: continue, have the work revised if rounds are left, or abort.
    PolicyDecision { may_revise: bool },
    /// A person has to approve before the run continues: approve, have the work revised, or abort.
    Approval { may_revise: bool },
    /// A worker asks a question: one of these options, or free text.
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
    /// The possible answers, the cautious one last. Advice may also be free text.
    pub fn choices(&self) -> Vec<AnswerChoice> {
        let choice = |word, label, answer| AnswerChoice { word, label, answer };
        let stop = choice("abort", "Stop here", Answer::Abort);
        let go_on = choice("go-on", "Continue anyway", Answer::Proceed);
        let approve = choice("approve", "Approve", Answer::Proceed);
        let revise = choice("revise", "Have the work revised", Answer::Revise);
        match self {
            Self::FailedWave => vec![choice("retry", "Try them again", Answer::Retry), stop],
            Self::Permission => vec![
                choice("allow", "Allow it this time", Answer::Allow),
                choice("deny", "Deny it", Answer::Deny),
            ],
            Self::PolicyDecision { may_revise: true } => vec![go_on, revise, stop],
            Self::PolicyDecision { may_revise: false } => vec![go_on, stop],
            Self::Approval { may_revise: true } => vec![approve, revise, stop],
            Self::Approval { may_revise: false } => vec![approve, stop],
            Self::Advice { .. } => Vec::new(),
        }
    }

    /// The answer when nobody answers.
    pub fn unanswered(&self) -> Answer {
        match self {
            Self::FailedWave | Self::PolicyDecision { .. } | Self::Approval { .. } => Answer::Abort,
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
    /// A report was ignored because it came too late or was not the first.
    ReportIgnored {
        task: String,
        reason: String,
    },
    Note(String),
}
