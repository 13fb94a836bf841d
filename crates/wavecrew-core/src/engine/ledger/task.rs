//! The state of one task, and how events change it.

use super::set;
use crate::engine::action::Resume;
use crate::event::{
    Fingerprint, PolicyDecision, PolicyOutcome, Refusal, Rework, Status, StopReason, TaskResult, TokenUsage,
    Verdict, WorktreeRecord,
};
use crate::id::TaskIx;
use crate::plan::Plan;
use crate::team::Team;
use crate::time::Timestamp;
use std::sync::Arc;

/// The state of one task.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TaskState {
    pub progress: TaskProgress,
    /// How many workers were started on it.
    pub attempts: u32,
    /// How many of those do not count, because of a rate limit.
    pub postponed: u32,
    pub result: TaskResult,
    pub stop: Option<StopReason>,
    /// What the latest attempt was produced from, and by which agent.
    pub made_from: Option<(Fingerprint, Arc<str>)>,
    pub started: Option<Timestamp>,
    pub ended: Option<Timestamp>,
    /// What all attempts used.
    pub spent: TokenUsage,
    /// The latest attempt whose usage is counted.
    metered: u32,
    /// The conversation of the latest attempt, until the attempt ends.
    pub conversation: Option<Box<Conversation>>,
    /// Files that the worker changed after its report.
    pub edits_after_report: Option<Box<[String]>>,
    /// What the sandbox refused to the latest attempt.
    pub refusals: Option<Box<[Refusal]>>,
    /// The latest attempt that a policy decided about.
    pub decided_attempt: u32,
    /// Why it runs, or ran, again.
    pub rework: Option<Box<Rework>>,
    /// The result before the rework, until the rework has a result that stands.
    before: Option<Box<TaskResult>>,
    /// Its latest worktree.
    pub worktree: Option<Box<TaskWorktree>>,
}

/// The worktree of a task.
#[derive(Clone, PartialEq, Debug)]
pub struct TaskWorktree {
    pub worktree: WorktreeRecord,
    pub state: WorktreeState,
}

/// Whether the work in a worktree is merged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WorktreeState {
    /// Being worked in, or to be merged.
    Open,
    /// Merged, up to this commit, if there was something to merge.
    Merged { commit: Option<String> },
    /// It could not be merged.
    Refused,
}

/// A conversation between a worker and its model.
#[derive(Clone, PartialEq, Debug)]
pub struct Conversation {
    pub id: String,
    pub agent: Arc<str>,
    pub spent: TokenUsage,
}

impl TaskState {
    pub(super) fn skip(&mut self, error: &str) {
        self.progress = TaskProgress::Done;
        self.result = TaskResult {
            status: Status::Skipped,
            error: error.to_owned(),
            ..TaskResult::default()
        };
    }

    pub(super) fn reset(&mut self) {
        self.progress = TaskProgress::Pending;
        self.result = TaskResult::default();
        self.made_from = None;
        if self.stop == Some(StopReason::Interrupted) {
            self.started = None;
        }
        self.stop = None;
        self.conversation = None;
        self.edits_after_report = None;
        self.refusals = None;
        // An open worktree is kept; after a merge or a failed one, the task starts from the merged work.
        if self.open_worktree().is_none() {
            self.worktree = None;
        }
        self.rework = None;
        self.before = None;
    }

    /// The worktree in which an attempt may continue.
    pub fn open_worktree(&self) -> Option<&WorktreeRecord> {
        let worktree = self
            .worktree
            .as_ref()
            .filter(|worktree| worktree.state == WorktreeState::Open)?;
        Some(&worktree.worktree)
    }

    pub(super) fn mark_merge_failed(&mut self, at: Timestamp, error: &str) {
        if let Some(worktree) = &mut self.worktree {
            worktree.state = WorktreeState::Refused;
        }
        self.progress = TaskProgress::Done;
        self.result.status = Status::Failed;
        error.clone_into(&mut self.result.error);
        self.ended = Some(at);
    }

    pub(super) fn begin(&mut self, at: Timestamp, attempt: u32, made_from: (Fingerprint, Arc<str>)) {
        self.progress = TaskProgress::Open { attempt };
        self.attempts = attempt;
        self.made_from = Some(made_from);
        self.started = Some(at);
        self.ended = None;
        self.edits_after_report = None;
        self.refusals = None;
    }

    pub(super) fn open_new_worktree(&mut self, worktree: &WorktreeRecord) {
        self.worktree = Some(Box::new(TaskWorktree {
            worktree: worktree.clone(),
            state: WorktreeState::Open,
        }));
    }

    pub(super) fn mark_merged(&mut self, commit: Option<&String>) {
        if let Some(worktree) = &mut self.worktree {
            worktree.state = WorktreeState::Merged {
                commit: commit.cloned(),
            };
        }
    }

    pub(super) fn converse(&mut self, conversation: &str) {
        let known = self
            .conversation
            .as_ref()
            .is_some_and(|known| known.id == conversation);
        if let Some((_, agent)) = self.made_from.as_ref().filter(|_| !known) {
            self.conversation = Some(Box::new(Conversation {
                id: conversation.to_owned(),
                agent: Arc::clone(agent),
                spent: TokenUsage::default(),
            }));
        }
    }

    pub(super) fn rework(&mut self, rework: &Rework) {
        let result = std::mem::take(&mut self.result);
        let completed = result.status == Status::Completed;
        let before = if completed {
            Some(Box::new(result))
        } else {
            self.before.take()
        };
        self.reset();
        self.before = before;
        self.rework = Some(Box::new(rework.clone()));
    }

    /// Whether there is a result to roll back to.
    pub(in crate::engine) fn can_roll_back(&self) -> bool {
        self.before.is_some()
    }

    pub(super) fn roll_back(&mut self) {
        if let Some(before) = self.before.clone() {
            self.result = *before;
            self.progress = TaskProgress::Done;
        }
    }

    pub(super) fn apply_decision(&mut self, decision: &PolicyDecision) {
        match decision.outcome {
            PolicyOutcome::Stop => return,
            PolicyOutcome::Failed => {
                self.result.status = Status::Failed;
                self.result.error.clone_from(&decision.why);
            }
            PolicyOutcome::Pass
            | PolicyOutcome::Warn
            | PolicyOutcome::Overridden
            | PolicyOutcome::Approved
            | PolicyOutcome::Revise
            | PolicyOutcome::Accepted => {}
        }
        self.decided_attempt = self.decided_attempt.max(decision.attempt);
        for (column, value) in &decision.outputs {
            set(&mut self.result.outputs, column, value.clone());
        }
    }

    pub(super) fn mark_done(&mut self) {
        self.progress = TaskProgress::Done;
        self.result.status = Status::Completed;
        self.result.error.clear();
        self.result.verdict = Verdict::Unverified;
    }

    /// Adds to the usage of an attempt; returns whether it is the attempt's first usage.
    pub(super) fn meter(&mut self, attempt: u32, spent: TokenUsage) -> bool {
        self.spent += spent;
        if let Some(conversation) = &mut self.conversation {
            conversation.spent += spent;
        }
        std::mem::replace(&mut self.metered, attempt) != attempt
    }

    /// The conversation that another attempt by this agent may resume.
    pub(in crate::engine) fn resume(&self, agent: &str) -> Option<Resume> {
        let conversation = self
            .conversation
            .as_ref()
            .filter(|conversation| *conversation.agent == *agent)?;
        Some(Resume {
            conversation: conversation.id.clone(),
            spent: conversation.spent,
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TaskProgress {
    #[default]
    Pending,
    /// Waits before the next attempt.
    Waiting {
        until: Timestamp,
    },
    /// An attempt has started and not ended.
    Open {
        attempt: u32,
    },
    Done,
}

/// How the column `error` of a completed task begins when something about it is in doubt.
pub(super) const UNVERIFIED: &str = "unverified: ";

/// The state that a row gives: a row with a result is done, unverified; any other is pending.
pub(super) fn state_of_row(team: &Team, plan: &Plan, task: TaskIx) -> TaskState {
    let status = Status::parse(plan.cell(task, "status")).unwrap_or_default();
    if status == Status::Pending {
        return TaskState::default();
    }
    let outputs = team
        .output_columns()
        .map(|column| (column.name.clone(), plan.cell(task, &column.name).to_owned()))
        .filter(|(_, value)| !value.is_empty());
    let error = plan.cell(task, "error");
    // The column of a completed task holds what is in doubt about it.
    let (error, doubt) = match error.strip_prefix(UNVERIFIED) {
        Some(doubt) if status == Status::Completed => ("", doubt),
        Some(_) | None => (error, ""),
    };
    TaskState {
        progress: TaskProgress::Done,
        result: TaskResult {
            status,
            findings: plan.cell(task, "findings").to_owned(),
            outputs: outputs.collect(),
            error: error.to_owned(),
            doubt: doubt.to_owned(),
            ..TaskResult::default()
        },
        ..TaskState::default()
    }
}
