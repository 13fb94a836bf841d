//! The outcome of an attempt: its result is recorded, or the task gets another attempt.

use super::{AttemptStage, CloseState, failed};
use crate::engine::Engine;
use crate::engine::action::Action;
use crate::engine::input::WorkerId;
use crate::engine::report::WorkerReport;
use crate::event::{Event, Status, StopReason, TaskResult, Verdict};
use std::time::Duration;

/// Extra attempts when the machine lacks processes, files or memory.
const SHORTAGE_ATTEMPTS: u32 = 5;

/// When a failed attempt gets another one.
#[derive(Clone, Copy)]
pub(super) enum Retry {
    Never,
    IfBroken,
    /// As above, but not before this time has passed, which the service asked for.
    After(Duration),
    Shortage,
    /// Always, once the rate limit allows it; the service may have named a time.
    WhenServed(Option<Duration>),
}

impl Retry {
    pub(super) fn after_stop(stop: StopReason, wait: Option<Duration>) -> Self {
        match stop {
            // The next attempt would fail in the same way.
            StopReason::Auth | StopReason::PermissionBlocked | StopReason::Budget | StopReason::Cancelled => {
                Self::Never
            }
            StopReason::RateLimited | StopReason::Quota => Self::WhenServed(wait),
            StopReason::Ok
            | StopReason::NoReport
            | StopReason::SchemaInvalid
            | StopReason::Timeout
            | StopReason::Idle
            | StopReason::Crashed
            | StopReason::Refused
            | StopReason::Interrupted => wait.map_or(Self::IfBroken, Self::After),
        }
    }

    fn wait(self) -> Option<Duration> {
        match self {
            Self::After(wait) => Some(wait),
            Self::WhenServed(wait) => wait,
            Self::Never | Self::IfBroken | Self::Shortage => None,
        }
    }
}

impl Engine {
    pub(super) fn finish(&mut self, worker: WorkerId, report: WorkerReport, verdict: Verdict) {
        let attempt = &self.live[&worker];
        if let Some(text) = report.whole_findings {
            let (task, attempt) = (attempt.task, attempt.number);
            self.out.push(Action::KeepFindings { task, attempt, text });
        }
        let mut result = TaskResult {
            verdict,
            doubt: attempt.doubt.clone(),
            ..report.result
        };
        if result.status != Status::Completed {
            result.doubt.clear();
        } else if !result.doubt.is_empty() && result.verdict == Verdict::Verified {
            result.verdict = Verdict::Unverified;
        }
        if result.status == Status::Failed && result.error.is_empty() {
            "The worker reported a failure without a reason".clone_into(&mut result.error);
        } else if result.status == Status::Completed {
            result.error.clear();
        }
        self.conclude(worker, StopReason::Ok, result, Retry::Never);
    }

    pub(super) fn contradict(&mut self, worker: WorkerId, reason: String) {
        let timed_out = self
            .live
            .get_mut(&worker)
            .and_then(|attempt| attempt.timed_out.take());
        if let Some(error) = timed_out {
            let retry = Retry::after_stop(StopReason::Timeout, None);
            return self.conclude(worker, StopReason::Timeout, failed(error), retry);
        }
        let result = TaskResult {
            verdict: Verdict::Contradicted,
            ..failed(reason)
        };
        self.conclude(worker, StopReason::Ok, result, Retry::Never);
    }

    /// Records the outcome and ends the worker, or schedules another attempt.
    pub(super) fn conclude(&mut self, worker: WorkerId, stop: StopReason, result: TaskResult, retry: Retry) {
        let attempt = self.attempt_mut(worker);
        attempt.stage = AttemptStage::Recorded;
        let (ix, number, gone) = (attempt.task, attempt.number, attempt.close == CloseState::Closed);
        let (at, task) = (self.now, self.task_id(ix));
        self.update_pool(worker, stop, retry.wait());
        let counted = number - self.ledger.task(ix).postponed;
        let mut result = result;
        let mut again = result.status == Status::Failed
            && match retry {
                Retry::Never => false,
                Retry::IfBroken | Retry::After(_) => counted < self.options.max_attempts,
                Retry::Shortage => counted < self.options.max_attempts.saturating_add(SHORTAGE_ATTEMPTS),
                Retry::WhenServed(_) => true,
            };
        if again && let Some(why) = self.task_limit_reached(ix) {
            again = false;
            result.error = format!("{}; no further attempt: {why}", result.error);
        }
        if again && let Retry::WhenServed(_) = retry {
            self.record(Event::Postponed {
                at,
                task,
                attempt: number,
                stop,
                error: result.error,
            });
            self.schedule.put_back(ix);
        } else if again {
            let wait = self.options.backoff * 2u32.saturating_pow(counted.min(8) - 1);
            let wait = retry.wait().map_or(wait, |asked_for| wait.max(asked_for));
            let (error, retry_at) = (result.error, at.plus(wait));
            self.record(Event::AttemptFailed {
                at,
                task,
                attempt: number,
                stop,
                error,
                retry_at,
            });
            self.schedule.put_back(ix);
        } else {
            self.record(Event::Finished {
                at,
                task,
                attempt: number,
                stop,
                result,
            });
            self.write_interactive_result(ix);
        }
        if gone {
            self.live.remove(&worker);
        } else {
            self.close(worker);
        }
    }
}
