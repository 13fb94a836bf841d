//! Picks what runs: waves in order, the phases of each wave in order, within the concurrency limit.

use super::action::{Action, Notice, QuestionKind};
use super::input::{Answer, GivenAnswer, StopKind};
use super::ledger::TaskProgress;
use super::policy::Course;
use super::{AskMode, Engine, Mode};
use crate::budget::ReachedLimit;
use crate::event::{AnsweredBy, Event, RunOutcome, Status};
use crate::id::{ExecMode, TaskIx};
use crate::team::Position;
use std::collections::VecDeque;

/// Where the run is within the current wave.
#[derive(Default)]
pub(super) struct Schedule {
    phase: Option<WavePhase>,
    queue: VecDeque<TaskIx>,
    /// Tasks of this phase that wait for another attempt.
    waiting: Vec<TaskIx>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WavePhase {
    Before,
    Main,
    After,
}

impl WavePhase {
    fn next(self) -> Option<Self> {
        match self {
            Self::Before => Some(Self::Main),
            Self::Main => Some(Self::After),
            Self::After => None,
        }
    }
}

impl Schedule {
    pub(super) fn put_back(&mut self, task: TaskIx) {
        self.waiting.push(task);
    }
}

impl Engine {
    /// Advances as far as possible: fills slots, ends phases and waves, ends the run.
    pub(super) fn advance(&mut self) {
        loop {
            match self.mode {
                Mode::Idle | Mode::Over | Mode::AwaitingAnswer { .. } | Mode::Expanding | Mode::Paused => {
                    return;
                }
                Mode::Draining | Mode::Stopping(_) => {
                    if self.live.is_empty() && self.merging.is_empty() {
                        let cancelled = self.mode == Mode::Stopping(StopKind::Cancel);
                        self.end_run(if cancelled {
                            RunOutcome::Cancelled
                        } else {
                            RunOutcome::Interrupted
                        });
                    }
                    return;
                }
                Mode::Running => {}
            }
            // Work that an earlier run left unmerged is merged before anything builds on it.
            let between = self.schedule.phase.is_none() && self.live.is_empty();
            if !self.merging.is_empty() || (between && self.merge_worktrees()) {
                return;
            }
            if self.schedule.phase.is_none() && (!self.live.is_empty() || !self.start_wave()) {
                return;
            }
            self.fill_slots();
            if !self.schedule.queue.is_empty() || !self.schedule.waiting.is_empty() || !self.live.is_empty() {
                self.end_at_limit();
                return;
            }
            match self.schedule.phase.and_then(WavePhase::next) {
                Some(phase) => self.enter(phase),
                None if self.merge_worktrees() => return,
                None => self.end_wave(),
            }
        }
    }

    /// Starts the lowest wave that has work; false when there is none.
    fn start_wave(&mut self) -> bool {
        if self.apply_policies() == Course::Held {
            return false;
        }
        let Some(wave) = self.ledger.next_wave() else {
            let counts = self.ledger.counts();
            let good = counts.failed == 0 && counts.skipped == 0;
            self.end_run(if good {
                RunOutcome::Completed
            } else {
                RunOutcome::Failed
            });
            return false;
        };
        self.record(Event::WaveStarted { wave });
        let pending: Vec<TaskIx> = self.unfinished_of(wave).collect();
        for &task in &pending {
            self.skip_if_blocked(task);
        }
        if let Some(chain) = self.blocked_chain(&pending) {
            self.end_run(RunOutcome::Stalled { chain });
            return false;
        }
        self.enter(WavePhase::Before);
        true
    }

    fn unfinished_of(&self, wave: u32) -> impl Iterator<Item = TaskIx> + '_ {
        let tasks = self.ledger.plan().wave_tasks(wave).iter().copied();
        tasks.filter(|&task| self.ledger.task(task).progress != TaskProgress::Done)
    }

    fn skip_if_blocked(&mut self, task: TaskIx) {
        let plan = self.ledger.plan();
        let broken: Vec<&str> = plan
            .deps(task)
            .iter()
            .filter(|&&dep| matches!(self.ledger.status(dep), Status::Failed | Status::Skipped))
            .map(|&dep| plan.id(dep))
            .collect();
        if !broken.is_empty() {
            let error = format!("Dependency failed: {}", broken.join(", "));
            let task = plan.id(task).to_owned();
            self.record(Event::Skipped { task, error });
        }
    }

    /// What blocks the wave, when something is pending but nothing can run.
    fn blocked_chain(&self, pending: &[TaskIx]) -> Option<String> {
        let plan = self.ledger.plan();
        let open = |&task: &TaskIx| self.ledger.task(task).progress != TaskProgress::Done;
        let waits_for = |task: TaskIx| plan.deps(task).iter().copied().find(open);
        let mut pending = pending.iter().copied().filter(open).peekable();
        let mut task = *pending.peek()?;
        if pending.any(|task| waits_for(task).is_none()) {
            return None;
        }
        let mut chain = plan.id(task).to_owned();
        while let Some(dep) = waits_for(task) {
            chain.push_str(" waits for ");
            chain.push_str(plan.id(dep));
            task = dep;
        }
        Some(chain)
    }

    fn enter(&mut self, phase: WavePhase) {
        self.schedule.phase = Some(phase);
        let wave = self.ledger.wave;
        let tasks: Vec<TaskIx> = self
            .unfinished_of(wave)
            .filter(|&task| self.phase_of(task) == phase)
            .collect();
        if phase == WavePhase::Main && !tasks.is_empty() {
            let rows = tasks
                .iter()
                .map(|&task| (task, self.ledger.prev_context(task)))
                .collect();
            self.out.push(Action::WriteWave { wave, rows });
        }
        self.schedule.queue = tasks.into();
        self.schedule.waiting.clear();
    }

    fn phase_of(&self, task: TaskIx) -> WavePhase {
        let plan = self.ledger.plan();
        match plan.mode(task) {
            ExecMode::CsvWave => WavePhase::Main,
            ExecMode::Interactive => match self.ledger.team.role(plan.role(task)).map(|role| role.position) {
                Some(Position::Pre) => WavePhase::Before,
                Some(Position::Post) | None => WavePhase::After,
            },
        }
    }

    fn fill_slots(&mut self) {
        let now = self.now;
        let mut waiting = std::mem::take(&mut self.schedule.waiting);
        waiting.retain(|&task| match self.ledger.task(task).progress {
            TaskProgress::Waiting { until } if until > now => true,
            TaskProgress::Waiting { .. } | TaskProgress::Pending => {
                self.schedule.queue.push_back(task);
                false
            }
            TaskProgress::Open { .. } | TaskProgress::Done => false,
        });
        self.schedule.waiting = waiting;
        // Tasks whose rate limit does not allow a start stay in front, in their order.
        let mut held = VecDeque::new();
        while self.live.len() < self.options.concurrency {
            let Some(task) = self.schedule.queue.pop_front() else {
                break;
            };
            // A table edit may have changed its dependencies since the wave began.
            self.skip_if_blocked(task);
            match self.ledger.task(task).progress {
                TaskProgress::Waiting { until } if until > now => self.schedule.waiting.push(task),
                TaskProgress::Waiting { .. } | TaskProgress::Pending => {
                    if let Some(why) = self.task_limit_reached(task) {
                        self.give_up(task, &why);
                    } else if self.limit_reached().is_some() {
                        held.push_back(task);
                        break;
                    } else if self.pool_allows_start(task) {
                        self.start(task);
                    } else {
                        held.push_back(task);
                        if self.options.agents.by_role.is_empty() && self.ledger.team.agent_column().is_none()
                        {
                            // All draw on the same pool.
                            break;
                        }
                    }
                }
                TaskProgress::Open { .. } | TaskProgress::Done => {}
            }
        }
        // The queue may be long; few tasks are held back.
        while let Some(task) = held.pop_back() {
            self.schedule.queue.push_front(task);
        }
    }

    /// Ends the run when nothing runs and a limit lets nothing start.
    fn end_at_limit(&mut self) {
        if self.live.is_empty()
            && let Some(ReachedLimit { why, go_on }) = self.limit_reached()
        {
            self.end_run(RunOutcome::LimitReached { why, go_on });
        }
    }

    fn end_wave(&mut self) {
        let wave = self.ledger.wave;
        self.schedule.phase = None;
        let counts = self.ledger.wave_counts(wave);
        // The loop handles a revision that failed.
        let revision = |&task: &TaskIx| self.ledger.task(task).rework.is_some();
        let revised = self.ledger.plan().wave_tasks(wave).iter().any(revision);
        let all_failed = !revised && counts.failed > 0 && counts.failed + counts.skipped == counts.total();
        if all_failed && self.options.ask_mode == AskMode::Person {
            let text = format!("All tasks of wave {wave} failed. Try them again, or stop here?");
            return self.ask_and_wait(text, Vec::new(), QuestionKind::FailedWave);
        }
        if all_failed {
            self.notify(Notice::Note(format!(
                "All tasks of wave {wave} failed; tasks that depend on them are skipped."
            )));
        }
        self.merge();
    }

    fn merge(&mut self) {
        let wave = self.ledger.wave;
        let counts = self.ledger.wave_counts(wave);
        self.record(Event::WaveMerged { wave });
        self.out.push(Action::PublishWave { wave });
        let (completed, failed, skipped) = (counts.completed, counts.failed, counts.skipped);
        self.notify(Notice::WaveDone {
            wave,
            completed,
            failed,
            skipped,
        });
    }

    pub(super) fn record_answer(&mut self, question: u32, given: &GivenAnswer, answer: &str) {
        self.record(Event::Answered {
            question,
            answer: answer.to_owned(),
            by: Some(given.by),
            remark: given.remark.clone(),
        });
    }

    pub(super) fn answered(&mut self, question: u32, given: GivenAnswer) {
        let Some(given) = self.worker_answered(question, given) else {
            return;
        };
        if !matches!(self.mode, Mode::AwaitingAnswer { question: asked, .. } if asked == question) {
            return;
        }
        self.mode = Mode::Running;
        let Some(given) = self.decision_answered(question, given) else {
            return;
        };
        let again = matches!(given.answer, Answer::Retry | Answer::Revise);
        self.record_answer(question, &given, if again { "retry" } else { "abort" });
        if !again {
            return self.merge();
        }
        let plan = self.ledger.plan();
        let tasks = plan.wave_tasks(self.ledger.wave).iter();
        let failed = tasks.filter(|&&task| self.ledger.status(task) == Status::Failed);
        let failed: Vec<String> = failed.map(|&task| plan.id(task).to_owned()).collect();
        for task in failed {
            self.record(Event::Reset {
                task,
                why: "a person asked for another try".to_owned(),
            });
        }
    }

    /// Uses the default if nobody answers in time.
    pub(super) fn expire_question(&mut self) {
        if let Mode::AwaitingAnswer { question, since } = self.mode
            && self.now.since(since) >= self.ledger.team.limits.person
        {
            self.answered(question, GivenAnswer::by(AnsweredBy::Nobody, Answer::Abort));
        }
    }

    pub(super) fn drain(&mut self) {
        match self.mode {
            Mode::Running | Mode::Paused | Mode::AwaitingAnswer { .. } | Mode::Expanding => {
                self.mode = Mode::Draining;
            }
            Mode::Idle | Mode::Draining | Mode::Stopping(_) | Mode::Over => {}
        }
    }

    pub(super) fn stop(&mut self, kind: StopKind) {
        match self.mode {
            Mode::Idle | Mode::Over | Mode::Stopping(_) => {}
            Mode::Running | Mode::Paused | Mode::AwaitingAnswer { .. } | Mode::Expanding | Mode::Draining => {
                self.mode = Mode::Stopping(kind);
                self.end_all();
            }
        }
    }

    pub(super) fn end_run(&mut self, ending: RunOutcome) {
        self.mode = Mode::Over;
        self.record(Event::RunEnded {
            at: self.now,
            ending: ending.clone(),
        });
        self.out.push(Action::Finish(ending));
    }

    /// Looks for new work in this wave or an earlier one. An earlier wave goes first, once what runs now has ended.
    pub(super) fn reschedule(&mut self) {
        let wave = self.ledger.wave;
        let Some(phase) = self.schedule.phase else { return };
        self.schedule = Schedule::default();
        if self.ledger.next_wave().is_some_and(|lowest| lowest < wave) {
            return;
        }
        self.schedule.phase = Some(phase);
        let idle = |&task: &TaskIx| !matches!(self.ledger.task(task).progress, TaskProgress::Open { .. });
        let tasks = self
            .unfinished_of(wave)
            .filter(|&task| self.phase_of(task) == phase);
        self.schedule.queue = tasks.filter(idle).collect();
    }
}
