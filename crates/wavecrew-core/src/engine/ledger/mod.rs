//! The durable state of a session: a fold over its events. Has no clock and decides nothing.

mod fold;
mod task;

pub use task::{Conversation, TaskProgress, TaskState, TaskWorktree, WorktreeState};

use super::AgentChoice;
use super::run_time::RunTime;
use crate::budget::{Budget, Totals};
use crate::event::{PolicyDecision, Status, Verdict};
use crate::id::TaskIx;
use crate::plan::Plan;
use crate::pool::Pool;
use crate::team::Team;
use crate::time::Timestamp;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;
use task::{UNVERIFIED, state_of_row};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    pub pending: usize,
    pub running: usize,
    pub completed: usize,
    pub failed: usize,
    pub skipped: usize,
}

impl Counts {
    pub fn total(&self) -> usize {
        self.pending + self.running + self.completed + self.failed + self.skipped
    }

    fn of(&mut self, status: Status, open: bool) -> &mut usize {
        match (status, open) {
            (Status::Pending, true) => &mut self.running,
            (Status::Pending, false) => &mut self.pending,
            (Status::Completed, _) => &mut self.completed,
            (Status::Failed, _) => &mut self.failed,
            (Status::Skipped, _) => &mut self.skipped,
        }
    }
}

pub struct Ledger {
    pub team: Arc<Team>,
    plan: Plan,
    tasks: Vec<TaskState>,
    counts: Counts,
    /// Unfinished tasks per wave (index 0 is wave 1), and the lowest wave that may have any.
    unfinished: Vec<u32>,
    lowest: u32,
    pub wave: u32,
    /// The latest ending, if no run was begun since.
    pub ending: Option<crate::event::RunOutcome>,
    /// Whether a person paused the run: nothing new starts.
    pub paused: bool,
    pub questions: u32,
    /// What all tasks used, including tasks that are no longer in the table.
    pub totals: Totals,
    pub budget: Budget,
    /// Everything that loops, checkpoints and gates decided, in order.
    pub decisions: Vec<PolicyDecision>,
    /// The state of each pool.
    pub pools: BTreeMap<String, Pool>,
    /// Start and end of attempts before the latest ones.
    earlier: Vec<(Timestamp, Timestamp)>,
    time: RunTime,
    agent: Arc<str>,
    /// Tasks with an open worktree, by id.
    open_worktrees: BTreeSet<String>,
}

impl Ledger {
    /// The state before any event, from the table.
    pub fn new(team: Arc<Team>, plan: Plan) -> Self {
        let tasks = plan
            .tasks()
            .map(|task| state_of_row(&team, &plan, task))
            .collect();
        let mut ledger = Self {
            team,
            plan,
            tasks,
            counts: Counts::default(),
            unfinished: Vec::new(),
            lowest: 1,
            wave: 0,
            ending: None,
            paused: false,
            questions: 0,
            totals: Totals::default(),
            budget: Budget::default(),
            decisions: Vec::new(),
            pools: BTreeMap::new(),
            earlier: Vec::new(),
            time: RunTime::default(),
            agent: Arc::from(""),
            open_worktrees: BTreeSet::new(),
        };
        ledger.recount();
        ledger
    }

    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    pub fn task(&self, task: TaskIx) -> &TaskState {
        &self.tasks[task.index()]
    }

    pub fn status(&self, task: TaskIx) -> Status {
        self.tasks[task.index()].result.status
    }

    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Start and end of attempts before the latest ones.
    pub fn earlier_attempts(&self) -> &[(Timestamp, Timestamp)] {
        &self.earlier
    }

    pub fn wave_counts(&self, wave: u32) -> Counts {
        let mut counts = Counts::default();
        for &task in self.plan.wave_tasks(wave) {
            let state = self.task(task);
            *counts.of(
                state.result.status,
                matches!(state.progress, TaskProgress::Open { .. }),
            ) += 1;
        }
        counts
    }

    /// The lowest wave with a task that has no result.
    pub fn next_wave(&mut self) -> Option<u32> {
        while let Some(&left) = self.unfinished.get(self.lowest as usize - 1) {
            if left > 0 {
                return Some(self.lowest);
            }
            self.lowest += 1;
        }
        None
    }

    /// Attempts that have started and not ended.
    pub fn open_attempts(&self) -> impl Iterator<Item = (TaskIx, u32)> + '_ {
        self.plan
            .tasks()
            .filter_map(|task| match self.task(task).progress {
                TaskProgress::Open { attempt } => Some((task, attempt)),
                TaskProgress::Pending | TaskProgress::Waiting { .. } | TaskProgress::Done => None,
            })
    }

    /// Completed tasks with an open worktree, in plan order.
    pub fn unmerged(&self) -> Vec<TaskIx> {
        let ids = self.open_worktrees.iter().filter_map(|id| self.plan.find(id));
        let mut tasks: Vec<TaskIx> = ids
            .filter(|&task| self.task(task).open_worktree().is_some())
            .filter(|&task| self.status(task) == Status::Completed)
            .collect();
        tasks.sort();
        tasks
    }

    /// The value of a column that the engine fills; `None` for a column of the person.
    pub fn cell(&self, task: TaskIx, column: &str) -> Option<Cow<'_, str>> {
        let state = self.task(task);
        Some(match column {
            "wave" => Cow::Owned(self.plan.wave(task).to_string()),
            "status" => Cow::Borrowed(state.result.status.as_str()),
            "findings" => Cow::Borrowed(&state.result.findings),
            "error" if state.result.error.is_empty() && !state.result.doubt.is_empty() => {
                Cow::Owned(format!("{UNVERIFIED}{}", state.result.doubt))
            }
            "error" => Cow::Borrowed(&state.result.error),
            name if self.team.output_columns().any(|output| output.name == name) => {
                Cow::Borrowed(state.result.output(name))
            }
            _ => return None,
        })
    }

    /// The findings of the tasks that this one builds on, one block each.
    pub fn prev_context(&self, task: TaskIx) -> String {
        let mut text = String::new();
        for &source in self.plan.context(task) {
            let result = &self.task(source).result;
            if result.status != Status::Completed {
                continue;
            }
            if !text.is_empty() {
                text.push('\n');
            }
            let (id, title) = (self.plan.id(source), self.plan.title(source));
            let _ = write!(text, "[{id}: {title}] {}", result.findings);
            let artifact = result.output("artifact_path");
            if !artifact.is_empty() {
                let _ = write!(text, "\nArtifact: {artifact}");
            }
        }
        text
    }

    /// The agent of a task: the one that its row names, else that of its role.
    pub fn agent_of<'a>(&'a self, task: TaskIx, agents: &'a AgentChoice) -> &'a str {
        let own = self
            .team
            .agent_column()
            .map(|column| self.plan.cell(task, column));
        match own {
            Some(own) if !own.is_empty() && !agents.ignore_rows => own,
            Some(_) | None => agents.for_role(self.plan.role(task)),
        }
    }

    /// The verdict on a finished task.
    pub fn verdict_of(&self, id: &str) -> Option<Verdict> {
        let state = self.task(self.plan.find(id)?);
        (state.progress == TaskProgress::Done).then_some(state.result.verdict)
    }

    /// How long the session has run, without breaks.
    pub fn time_used(&self, now: Timestamp) -> Duration {
        self.time.at(now)
    }

    /// Pools that allow no start yet.
    pub fn waits(&self, now: Timestamp) -> impl Iterator<Item = (&str, &Pool)> {
        let waits = move |(_, pool): &(&String, &Pool)| pool.until > now;
        self.pools
            .iter()
            .filter(waits)
            .map(|(name, pool)| (name.as_str(), pool))
    }
}

/// Sets the value with this name.
pub(super) fn set(values: &mut Vec<(String, String)>, name: &str, value: String) {
    values.retain(|(known, _)| known != name);
    values.push((name.to_owned(), value));
}
