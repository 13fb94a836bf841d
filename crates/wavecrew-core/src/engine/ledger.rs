//! The durable state of a session: a fold over its events, and nothing else. Holds no clock and decides nothing.

use super::AgentChoice;
use super::action::Resume;
use super::run_time::RunTime;
use crate::budget::{Budget, Totals};
use crate::event::{
    Checked, Event, Fingerprint, Judgement, Outcome, Rework, Spent, Status, StopReason, TaskResult, Tree,
};
use crate::id::TaskIx;
use crate::plan::{self, Plan};
use crate::pool::Pool;
use crate::team::Team;
use crate::time::Timestamp;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

/// What is known of one task.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TaskState {
    pub progress: Progress,
    /// How often a worker was started on it.
    pub attempts: u32,
    /// How many of those do not count, because their service had to be waited for.
    pub postponed: u32,
    pub result: TaskResult,
    pub stop: Option<StopReason>,
    /// What the latest attempt was produced from, and by which agent.
    pub made_from: Option<(Fingerprint, Arc<str>)>,
    pub started: Option<Timestamp>,
    pub ended: Option<Timestamp>,
    /// What all attempts at it used.
    pub spent: Spent,
    /// The latest attempt that told what it used.
    metered: u32,
    /// The conversation of the latest attempt, while it has no end of its own.
    pub talk: Option<Box<Talk>>,
    /// Files that the worker changed after its report.
    pub late_edits: Option<Box<[String]>>,
    /// The latest attempt whose result was judged.
    pub judged: u32,
    /// Why it runs, or ran, again.
    pub rework: Option<Box<Rework>>,
    /// The result that the rework is to better, until it has one of its own that stands.
    before: Option<Box<TaskResult>>,
    /// The latest working copy of its own.
    pub tree: Option<Box<TaskTree>>,
}

/// A task's own working copy.
#[derive(Clone, PartialEq, Debug)]
pub struct TaskTree {
    pub tree: Tree,
    pub state: TreeState,
}

/// How far the work in a tree has got.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TreeState {
    /// Being worked in, or to be merged.
    Open,
    /// Merged, up to this commit, if there was something to merge.
    Merged { commit: Option<String> },
    /// It could not be merged.
    Refused,
}

/// A conversation between a worker and its model.
#[derive(Clone, PartialEq, Debug)]
pub struct Talk {
    pub id: String,
    pub agent: Arc<str>,
    pub spent: Spent,
}

impl TaskState {
    fn skip(&mut self, error: &str) {
        self.progress = Progress::Done;
        self.result = TaskResult {
            status: Status::Skipped,
            error: error.to_owned(),
            ..TaskResult::default()
        };
    }

    fn reset(&mut self) {
        self.progress = Progress::Pending;
        self.result = TaskResult::default();
        self.made_from = None;
        self.stop = None;
        self.talk = None;
        self.late_edits = None;
        // Work that was never to be merged goes on where it is; after that, it begins anew from all that is merged.
        if self.open_tree().is_none() {
            self.tree = None;
        }
        self.rework = None;
        self.before = None;
    }

    /// The working copy that an attempt may go on in.
    pub fn open_tree(&self) -> Option<&Tree> {
        let tree = self.tree.as_ref().filter(|tree| tree.state == TreeState::Open)?;
        Some(&tree.tree)
    }

    fn refuse_tree(&mut self, at: Timestamp, error: &str) {
        if let Some(tree) = &mut self.tree {
            tree.state = TreeState::Refused;
        }
        self.progress = Progress::Done;
        self.result.status = Status::Failed;
        error.clone_into(&mut self.result.error);
        self.ended = Some(at);
    }

    fn begin(&mut self, at: Timestamp, attempt: u32, made_from: (Fingerprint, Arc<str>)) {
        self.progress = Progress::Open { attempt };
        self.attempts = attempt;
        self.made_from = Some(made_from);
        self.started = Some(at);
        self.ended = None;
        self.late_edits = None;
    }

    fn make_tree(&mut self, tree: &Tree) {
        self.tree = Some(Box::new(TaskTree {
            tree: tree.clone(),
            state: TreeState::Open,
        }));
    }

    fn merge_tree(&mut self, commit: Option<&String>) {
        if let Some(tree) = &mut self.tree {
            tree.state = TreeState::Merged {
                commit: commit.cloned(),
            };
        }
    }

    fn converse(&mut self, conversation: &str) {
        let known = self.talk.as_ref().is_some_and(|talk| talk.id == conversation);
        if let Some((_, agent)) = self.made_from.as_ref().filter(|_| !known) {
            self.talk = Some(Box::new(Talk {
                id: conversation.to_owned(),
                agent: Arc::clone(agent),
                spent: Spent::default(),
            }));
        }
    }

    fn rework(&mut self, rework: &Rework) {
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

    /// Whether there is a result to go back to.
    pub(super) fn can_roll_back(&self) -> bool {
        self.before.is_some()
    }

    fn roll_back(&mut self) {
        if let Some(before) = self.before.clone() {
            self.result = *before;
            self.progress = Progress::Done;
        }
    }

    fn judge(&mut self, judgement: &Judgement) {
        match judgement.outcome {
            Outcome::Stop => return,
            Outcome::Failed => {
                self.result.status = Status::Failed;
                self.result.error.clone_from(&judgement.why);
            }
            Outcome::Pass
            | Outcome::Warn
            | Outcome::Overridden
            | Outcome::Approved
            | Outcome::Revise
            | Outcome::Accepted => {}
        }
        self.judged = self.judged.max(judgement.attempt);
        for (column, value) in &judgement.outputs {
            set(&mut self.result.outputs, column, value.clone());
        }
    }

    fn mark_done(&mut self) {
        self.progress = Progress::Done;
        self.result.status = Status::Completed;
        self.result.error.clear();
        self.result.checked = Checked::Unverified;
    }

    /// What another attempt by this agent may go on with.
    pub(super) fn resume(&self, agent: &str) -> Option<Resume> {
        let talk = self.talk.as_ref().filter(|talk| *talk.agent == *agent)?;
        Some(Resume {
            conversation: talk.id.clone(),
            spent: talk.spent,
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Progress {
    #[default]
    Pending,
    /// Waits before it is tried again.
    Waiting {
        until: Timestamp,
    },
    /// An attempt was begun and has no end yet.
    Open {
        attempt: u32,
    },
    Done,
}

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
    pub ending: Option<crate::event::Ending>,
    pub questions: u32,
    /// What all tasks used, those that are no longer in the table included.
    pub totals: Totals,
    pub budget: Budget,
    /// Everything that loops, checkpoints and gates decided, in order.
    pub judgements: Vec<Judgement>,
    /// What is known of the services behind the agents, by pool.
    pub pools: BTreeMap<String, Pool>,
    /// Begin and end of attempts that another one followed.
    earlier: Vec<(Timestamp, Timestamp)>,
    time: RunTime,
    agent: Arc<str>,
    /// Tasks with a tree that is not merged, by id.
    in_trees: BTreeSet<String>,
}

impl Ledger {
    /// The state before anything happened: what the table itself says.
    pub fn new(team: Arc<Team>, plan: Plan) -> Self {
        let tasks = plan
            .tasks()
            .map(|task| state_in_table(&team, &plan, task))
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
            questions: 0,
            totals: Totals::default(),
            budget: Budget::default(),
            judgements: Vec::new(),
            pools: BTreeMap::new(),
            earlier: Vec::new(),
            time: RunTime::default(),
            agent: Arc::from(""),
            in_trees: BTreeSet::new(),
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

    /// Begin and end of attempts that another one followed.
    pub fn earlier(&self) -> &[(Timestamp, Timestamp)] {
        &self.earlier
    }

    pub fn wave_counts(&self, wave: u32) -> Counts {
        let mut counts = Counts::default();
        for &task in self.plan.wave_tasks(wave) {
            let state = self.task(task);
            *counts.of(
                state.result.status,
                matches!(state.progress, Progress::Open { .. }),
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

    /// Attempts that were begun and have no end.
    pub fn open_attempts(&self) -> impl Iterator<Item = (TaskIx, u32)> + '_ {
        self.plan
            .tasks()
            .filter_map(|task| match self.task(task).progress {
                Progress::Open { attempt } => Some((task, attempt)),
                Progress::Pending | Progress::Waiting { .. } | Progress::Done => None,
            })
    }

    /// Completed tasks whose work is in a tree of their own and not merged yet, in plan order.
    pub fn unmerged(&self) -> Vec<TaskIx> {
        let ids = self.in_trees.iter().filter_map(|id| self.plan.find(id));
        let mut tasks: Vec<TaskIx> = ids
            .filter(|&task| self.task(task).open_tree().is_some())
            .filter(|&task| self.status(task) == Status::Completed)
            .collect();
        tasks.sort();
        tasks
    }

    /// The value of a column that the engine fills, or `None` for a column that is the person's.
    pub fn cell(&self, task: TaskIx, column: &str) -> Option<Cow<'_, str>> {
        let state = self.task(task);
        Some(match column {
            "wave" => Cow::Owned(self.plan.wave(task).to_string()),
            "status" => Cow::Borrowed(state.result.status.as_str()),
            "findings" => Cow::Borrowed(&state.result.findings),
            "error" => Cow::Borrowed(&state.result.error),
            name if self.team.output_columns().any(|output| output.name == name) => {
                Cow::Borrowed(output(&state.result, name))
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
            let artifact = output(result, "artifact_path");
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

    /// Whether the claim of a task that has its result was compared with the facts.
    pub fn checked(&self, id: &str) -> Option<Checked> {
        let state = self.task(self.plan.find(id)?);
        (state.progress == Progress::Done).then_some(state.result.checked)
    }

    /// How long the session has been run, breaks not counted.
    pub fn time_used(&self, now: Timestamp) -> Duration {
        self.time.at(now)
    }

    /// Pools of which nothing may start yet.
    pub fn waits(&self, now: Timestamp) -> impl Iterator<Item = (&str, &Pool)> {
        let waits = move |(_, pool): &(&String, &Pool)| pool.until > now;
        self.pools
            .iter()
            .filter(waits)
            .map(|(name, pool)| (name.as_str(), pool))
    }

    /// Keeps when the attempt before the next one was made.
    fn remember_attempt(&mut self, task: &str) {
        let state = self.plan.find(task).map(|task| self.task(task));
        let span = state.and_then(|state| state.started.zip(state.ended));
        self.earlier.extend(span);
    }

    /// Takes in one event. Events of tasks that are no longer in the plan are history and change nothing.
    pub fn apply(&mut self, event: &Event) {
        self.time.hear(event);
        match event {
            Event::RunStarted { .. } => self.ending = None,
            Event::WaveStarted { wave } | Event::WaveMerged { wave } => self.wave = *wave,
            Event::AttemptStarted {
                at,
                task,
                attempt,
                print,
                agent,
            } => {
                if *agent != *self.agent {
                    self.agent = Arc::from(agent.as_str());
                }
                let made_from = (*print, Arc::clone(&self.agent));
                self.remember_attempt(task);
                self.change(task, |state| state.begin(*at, *attempt, made_from));
            }
            Event::Finished {
                at,
                task,
                stop,
                result,
                ..
            } => self.change(task, |state| {
                state.progress = Progress::Done;
                state.result.clone_from(result);
                state.stop = Some(*stop);
                state.ended = Some(*at);
                state.talk = None;
            }),
            Event::AttemptFailed {
                at,
                task,
                stop,
                retry_at,
                ..
            } => self.change(task, |state| {
                state.progress = Progress::Waiting { until: *retry_at };
                state.stop = Some(*stop);
                state.ended = Some(*at);
                state.talk = None;
            }),
            Event::Conversing {
                task, conversation, ..
            } => self.change(task, |state| state.converse(conversation)),
            Event::Usage {
                task, attempt, spent, ..
            } => self.used(task, *attempt, *spent),
            // Its conversation is kept: the work in it goes on when the service answers again.
            Event::Postponed { at, task, stop, .. } => self.change(task, |state| {
                state.progress = Progress::Pending;
                state.postponed += 1;
                state.stop = Some(*stop);
                state.ended = Some(*at);
            }),
            Event::QuotaWait { pool, state, .. } => {
                self.pools.insert(pool.clone(), *state);
            }
            Event::Budgeted { budget } => self.budget = *budget,
            Event::EditedAfterReport { task, files, .. } => self.change(task, |state| {
                state.late_edits = Some(files.clone().into());
            }),
            Event::TreeMade { task, tree } => {
                self.in_trees.insert(task.clone());
                self.change(task, |state| state.make_tree(tree));
            }
            Event::TreeMerged { task, commit } => {
                self.in_trees.remove(task);
                self.change(task, |state| state.merge_tree(commit.as_ref()));
            }
            Event::TreeRefused { at, task, error } => {
                self.in_trees.remove(task);
                self.change(task, |state| state.refuse_tree(*at, error));
            }
            Event::Interrupted { at, task, .. } => self.change(task, |state| {
                state.progress = Progress::Pending;
                state.stop = Some(StopReason::Interrupted);
                state.ended = Some(*at);
            }),
            Event::Skipped { task, error } => self.change(task, |state| state.skip(error)),
            Event::Reset { task, .. } => self.change(task, TaskState::reset),
            Event::Judged { judgement, .. } => {
                self.change(&judgement.task, |state| state.judge(judgement));
                self.judgements.push(judgement.clone());
            }
            Event::Reworked { task, rework } => self.change(task, |state| state.rework(rework)),
            Event::RolledBack { task, .. } => self.change(task, TaskState::roll_back),
            Event::MarkedDone { task } => self.change(task, TaskState::mark_done),
            Event::Edited { patch } => {
                // A patch in the journal was sealed when it was recorded, so it seals again.
                if let Ok((plan, _)) = plan::seal(self.plan.sheet().apply(patch), &self.team) {
                    self.replace_plan(plan);
                }
            }
            Event::Asked { question, .. } => self.questions = self.questions.max(question + 1),
            Event::RunEnded { ending, .. } => self.ending = Some(ending.clone()),
            Event::Spawned { .. }
            | Event::SentBack { .. }
            | Event::EditRefused { .. }
            | Event::Answered { .. } => {}
        }
    }

    fn used(&mut self, task: &str, attempt: u32, spent: Spent) {
        self.totals.add(&spent);
        let mut first = true;
        self.change(task, |state| {
            first = std::mem::replace(&mut state.metered, attempt) != attempt;
            state.spent += spent;
            if let Some(talk) = &mut state.talk {
                talk.spent += spent;
            }
        });
        self.totals.attempts += u32::from(first);
    }

    /// Puts another plan in place; tasks keep their state by id, new ones start as their row says.
    pub fn replace_plan(&mut self, plan: Plan) {
        let tasks = plan.tasks().map(|task| match self.plan.find(plan.id(task)) {
            Some(old) => std::mem::take(&mut self.tasks[old.index()]),
            None => state_in_table(&self.team, &plan, task),
        });
        self.tasks = tasks.collect();
        self.plan = plan;
        self.recount();
    }

    fn change(&mut self, id: &str, change: impl FnOnce(&mut TaskState)) {
        let Some(task) = self.plan.find(id) else { return };
        let state = &mut self.tasks[task.index()];
        let before = (state.result.status, state.progress);
        change(state);
        let after = (state.result.status, state.progress);
        let is_open = |progress| matches!(progress, Progress::Open { .. });
        *self.counts.of(before.0, is_open(before.1)) -= 1;
        *self.counts.of(after.0, is_open(after.1)) += 1;
        let wave = self.plan.wave(task);
        let left = &mut self.unfinished[wave as usize - 1];
        match (before.1 == Progress::Done, after.1 == Progress::Done) {
            (false, true) => *left -= 1,
            (true, false) => {
                *left += 1;
                self.lowest = self.lowest.min(wave);
            }
            (false, false) | (true, true) => {}
        }
    }

    fn recount(&mut self) {
        self.counts = Counts::default();
        self.unfinished = vec![0; self.plan.waves() as usize];
        self.lowest = 1;
        for task in self.plan.tasks() {
            let state = &self.tasks[task.index()];
            let open = matches!(state.progress, Progress::Open { .. });
            *self.counts.of(state.result.status, open) += 1;
            if state.progress != Progress::Done {
                self.unfinished[self.plan.wave(task) as usize - 1] += 1;
            }
        }
    }
}

/// Puts a value in the place of a former one of the same name.
pub(super) fn set(values: &mut Vec<(String, String)>, name: &str, value: String) {
    values.retain(|(known, _)| known != name);
    values.push((name.to_owned(), value));
}

fn output<'a>(result: &'a TaskResult, name: &str) -> &'a str {
    result
        .outputs
        .iter()
        .find(|(column, _)| column == name)
        .map_or("", |(_, value)| value)
}

/// A row that says it is done counts as done, unverified; everything else is to do.
fn state_in_table(team: &Team, plan: &Plan, task: TaskIx) -> TaskState {
    let status = Status::parse(plan.cell(task, "status")).unwrap_or_default();
    if status == Status::Pending {
        return TaskState::default();
    }
    let outputs = team
        .output_columns()
        .map(|column| (column.name.clone(), plan.cell(task, &column.name).to_owned()))
        .filter(|(_, value)| !value.is_empty());
    TaskState {
        progress: Progress::Done,
        result: TaskResult {
            status,
            findings: plan.cell(task, "findings").to_owned(),
            outputs: outputs.collect(),
            error: plan.cell(task, "error").to_owned(),
            ..TaskResult::default()
        },
        ..TaskState::default()
    }
}
