//! The clocks and the budget of a worker: when it is asked to finish, shown as stalled, or ended.

use super::AttemptStage;
use crate::engine::Engine;
use crate::engine::action::Notice;
use crate::engine::input::WorkerId;
use crate::event::{StopReason, TokenUsage};
use crate::id::{ExecMode, TaskIx};
use crate::time::human;
use std::time::Duration;

/// Sent to an interactive worker whose time is up.
const FINISH: &str = "Your time for this task is nearly over. Finish what you are doing now, leave the work in a \
                      consistent state, and report your result.";

impl Engine {
    /// Checks the clocks of every worker.
    pub(in crate::engine) fn tick(&mut self) {
        let workers: Vec<WorkerId> = self.live.keys().copied().collect();
        for worker in workers {
            self.check_clocks(worker);
        }
        self.expire_worker_requests();
        self.expire_question();
    }

    /// How long a worker of the task may run before it is ended, or asked to finish.
    pub fn time_limit(&self, task: TaskIx) -> Duration {
        let limits = self.limits(task);
        match self.ledger.plan().mode(task) {
            ExecMode::Interactive => self.options.interactive.unwrap_or(limits.interactive),
            ExecMode::CsvWave => self.options.one_shot.unwrap_or(limits.one_shot),
        }
    }

    fn check_clocks(&mut self, worker: WorkerId) {
        let attempt = &self.live[&worker];
        let (task, now) = (attempt.task, self.now);
        let limits = self.limits(task);
        let interactive = self.ledger.plan().mode(task) == ExecMode::Interactive;
        let wall = self.time_limit(task);
        let silent = now.since(attempt.last_activity);
        let no_output = attempt.first_output_by.is_some_and(|by| now >= by);
        match &attempt.stage {
            AttemptStage::Reported { report, until } => {
                if now >= *until {
                    let report = report.clone();
                    self.accept(worker, report);
                }
            }
            AttemptStage::Starting | AttemptStage::Working => match attempt.finish_by {
                Some(until) if now >= until => {
                    let total = human(wall + limits.interactive_grace);
                    let error = format!("Timed out after {total}; it did not finish when asked");
                    self.expire(worker, StopReason::Timeout, error);
                }
                None if now.since(attempt.started) >= wall && interactive => {
                    let until = now.plus(limits.interactive_grace);
                    self.attempt_mut(worker).finish_by = Some(until);
                    self.send(worker, FINISH.to_owned());
                }
                None if now.since(attempt.started) >= wall => {
                    let error = format!("Timed out after {}", human(wall));
                    self.expire(worker, StopReason::Timeout, error);
                }
                Some(_) | None if no_output => {
                    let error = format!("No output within {} of starting", human(limits.first_event));
                    self.expire(worker, StopReason::Idle, error);
                }
                Some(_) | None => self.check_silence(worker, silent, limits.idle),
            },
            AttemptStage::CheckingBeforeStart { .. }
            | AttemptStage::Checking { .. }
            | AttemptStage::Expired { .. }
            | AttemptStage::Stopped
            | AttemptStage::Recorded => {}
        }
    }

    fn check_silence(&mut self, worker: WorkerId, silent: Duration, shown_after: Duration) {
        let attempt = (self.live.get_mut(&worker)).expect("callers looked it up");
        if let Some(limit) = self.options.end_idle
            && silent >= limit
        {
            let error = format!("Ended after {} without any output", human(silent));
            self.expire(worker, StopReason::Idle, error);
        } else if silent >= self.options.idle.unwrap_or(shown_after) && !attempt.stall_shown {
            attempt.stall_shown = true;
            let task = self.ledger.plan().id(attempt.task).to_owned();
            self.notify(Notice::Stalled { task, silent });
        }
    }

    /// Ends a worker whose usage so far passes the limit of its task, unless it has reported.
    pub(in crate::engine) fn usage_so_far(
        &mut self,
        worker: WorkerId,
        spent: TokenUsage,
        model: Option<&str>,
    ) {
        let Some(attempt) = self.live.get(&worker) else {
            return;
        };
        if !matches!(attempt.stage, AttemptStage::Working) {
            return;
        }
        if let Some(why) = self.task_would_reach(attempt.task, spent, model) {
            self.expire(
                worker,
                StopReason::Budget,
                format!("Ended during its turn: {why}"),
            );
        }
    }

    /// Ends a worker that has not reported; false if it has.
    pub(in crate::engine) fn cancel_worker(&mut self, worker: WorkerId, error: &str) -> bool {
        let works = matches!(
            self.live[&worker].stage,
            AttemptStage::Starting | AttemptStage::Working
        );
        if works {
            self.expire(worker, StopReason::Cancelled, error.to_owned());
        }
        works
    }

    /// Sends a message to a worker in the middle of its work; false if it does not work now.
    pub(in crate::engine) fn send_to_working(&mut self, worker: WorkerId, text: String) -> bool {
        let works = matches!(self.live[&worker].stage, AttemptStage::Working);
        if works {
            self.send(worker, text);
        }
        works
    }

    fn expire(&mut self, worker: WorkerId, stop: StopReason, error: String) {
        self.attempt_mut(worker).stage = AttemptStage::Expired { stop, error };
        self.close(worker);
    }
}
