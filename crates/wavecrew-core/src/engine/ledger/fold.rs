//! Applies events one by one, and keeps the counts right.

use super::task::state_of_row;
use super::{Counts, Ledger, TaskProgress, TaskState};
use crate::event::{Event, Refusal, StopReason, TokenUsage};
use crate::plan::{self, Plan};
use std::sync::Arc;

impl Ledger {
    /// Keeps the times of the attempt before the next one. The end of an interrupted one is not known: its event is
    /// recorded when the session is resumed.
    fn remember_attempt(&mut self, task: &str) {
        let state = self.plan.find(task).map(|task| self.task(task));
        let state = state.filter(|state| state.stop != Some(StopReason::Interrupted));
        let span = state.and_then(|state| state.started.zip(state.ended));
        self.earlier.extend(span);
    }

    /// The agent's name, once for all attempts in a row that it makes.
    fn shared_agent(&mut self, agent: &str) -> Arc<str> {
        if *agent != *self.agent {
            self.agent = Arc::from(agent);
        }
        Arc::clone(&self.agent)
    }

    /// Applies one event. Events of tasks that are no longer in the plan change nothing.
    pub fn apply(&mut self, event: &Event) {
        self.time.apply(event);
        self.paused = is_paused(event).unwrap_or(self.paused);
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
                let made_from = (*print, self.shared_agent(agent));
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
                state.progress = TaskProgress::Done;
                state.result.clone_from(result);
                state.stop = Some(*stop);
                state.ended = Some(*at);
                state.conversation = None;
            }),
            Event::AttemptFailed {
                at,
                task,
                stop,
                retry_at,
                ..
            } => self.change(task, |state| {
                state.progress = TaskProgress::Waiting { until: *retry_at };
                state.stop = Some(*stop);
                state.ended = Some(*at);
                state.conversation = None;
            }),
            Event::ConversationStarted {
                task, conversation, ..
            } => self.change(task, |state| state.converse(conversation)),
            Event::Usage {
                task, attempt, spent, ..
            } => self.used(task, *attempt, *spent),
            // The conversation is kept, to resume it when the service answers again.
            Event::Postponed { at, task, stop, .. } => self.change(task, |state| {
                state.progress = TaskProgress::Pending;
                state.postponed += 1;
                state.stop = Some(*stop);
                state.ended = Some(*at);
            }),
            Event::QuotaWait { pool, state, .. } => {
                self.pools.insert(pool.clone(), *state);
            }
            Event::Budgeted { budget } => self.budget = *budget,
            Event::EditedAfterReport { task, files, .. } => self.note_edits(task, files),
            Event::Refused { task, refusals, .. } => self.note_refusals(task, refusals),
            Event::WorktreeMade { task, worktree } => {
                self.open_worktrees.insert(task.clone());
                self.change(task, |state| state.open_new_worktree(worktree));
            }
            Event::WorktreeMerged { task, commit } => {
                self.open_worktrees.remove(task);
                self.change(task, |state| state.mark_merged(commit.as_ref()));
            }
            Event::MergeFailed { at, task, error } => {
                self.open_worktrees.remove(task);
                self.change(task, |state| state.mark_merge_failed(*at, error));
            }
            Event::Interrupted { at, task, .. } => self.change(task, |state| {
                state.progress = TaskProgress::Pending;
                state.stop = Some(StopReason::Interrupted);
                state.ended = Some(*at);
            }),
            Event::Skipped { task, error } => self.change(task, |state| state.skip(error)),
            Event::Reset { task, .. } => self.change(task, TaskState::reset),
            Event::PolicyDecided { decision, .. } => {
                self.change(&decision.task, |state| state.apply_decision(decision));
                self.decisions.push(decision.clone());
            }
            Event::Reworked { task, rework } => self.change(task, |state| state.rework(rework)),
            Event::RolledBack { task, .. } => self.change(task, TaskState::roll_back),
            Event::MarkedDone { task } => self.change(task, TaskState::mark_done),
            Event::TableEdited { patch } => {
                // A patch in the journal was sealed when it was recorded, so it seals again.
                if let Ok((plan, _)) = plan::seal(self.plan.sheet().apply(patch), &self.team) {
                    self.replace_plan(plan);
                }
            }
            Event::Asked { question, .. } => self.questions = self.questions.max(question + 1),
            Event::RunEnded { ending, .. } => self.ending = Some(ending.clone()),
            Event::Spawned { .. }
            | Event::SentBack { .. }
            | Event::TableEditRefused { .. }
            | Event::Acted { .. }
            | Event::Answered { .. } => {}
        }
    }

    fn note_edits(&mut self, task: &str, files: &[String]) {
        self.change(task, |state| state.edits_after_report = Some(files.into()));
    }

    fn note_refusals(&mut self, task: &str, refusals: &[Refusal]) {
        self.change(task, |state| state.refusals = Some(refusals.into()));
    }

    fn used(&mut self, task: &str, attempt: u32, spent: TokenUsage) {
        self.totals.add(&spent);
        let mut first = true;
        self.change(task, |state| first = state.meter(attempt, spent));
        self.totals.attempts += u32::from(first);
    }

    /// Replaces the plan. Tasks keep their state by id; new ones start in the state of their row.
    pub fn replace_plan(&mut self, plan: Plan) {
        let tasks = plan.tasks().map(|task| match self.plan.find(plan.id(task)) {
            Some(old) => std::mem::take(&mut self.tasks[old.index()]),
            None => state_of_row(&self.team, &plan, task),
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
        let is_open = |progress| matches!(progress, TaskProgress::Open { .. });
        *self.counts.of(before.0, is_open(before.1)) -= 1;
        *self.counts.of(after.0, is_open(after.1)) += 1;
        let wave = self.plan.wave(task);
        let left = &mut self.unfinished[wave as usize - 1];
        match (before.1 == TaskProgress::Done, after.1 == TaskProgress::Done) {
            (false, true) => *left -= 1,
            (true, false) => {
                *left += 1;
                self.lowest = self.lowest.min(wave);
            }
            (false, false) | (true, true) => {}
        }
    }

    pub(super) fn recount(&mut self) {
        self.counts = Counts::default();
        self.unfinished = vec![0; self.plan.waves() as usize];
        self.lowest = 1;
        for task in self.plan.tasks() {
            let state = &self.tasks[task.index()];
            let open = matches!(state.progress, TaskProgress::Open { .. });
            *self.counts.of(state.result.status, open) += 1;
            if state.progress != TaskProgress::Done {
                self.unfinished[self.plan.wave(task) as usize - 1] += 1;
            }
        }
    }
}

/// Whether the run is paused after this event; `None` if the event does not change that.
fn is_paused(event: &Event) -> Option<bool> {
    match event {
        Event::Acted { action, .. } if action == "pause" => Some(true),
        Event::Acted { action, .. } if action == "resume" => Some(false),
        // A pause that came too late had no effect.
        Event::RunStarted { .. } | Event::AttemptStarted { .. } => Some(false),
        _ => None,
    }
}
