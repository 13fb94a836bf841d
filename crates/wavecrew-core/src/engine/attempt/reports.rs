//! Reports and claims of a worker: reports that arrive, turns that end, checks that end, and work that is sent back.

use super::outcome::Retry;
use super::{Attempt, AttemptStage, CloseState, failed};
use crate::claim;
use crate::engine::action::{Action, Notice};
use crate::engine::input::{CheckOutcome, TurnEnd, TurnExit, WorkerId};
use crate::engine::ledger::set;
use crate::engine::report::{ReportDoubt, WorkerReport, report_doubt};
use crate::engine::{Engine, policy};
use crate::event::{Event, Refusal, Status, StopReason, Verdict};
use crate::id::TaskIx;
use std::time::Duration;

/// How long a worker that has reported may take to end by itself.
const LINGER: Duration = Duration::from_secs(10);

impl Engine {
    pub(in crate::engine) fn reported(&mut self, worker: WorkerId, body: &str) {
        let now = self.now;
        let Some(attempt) = self.live.get_mut(&worker) else {
            return;
        };
        attempt.last_activity = now;
        let id = self.ledger.plan().id(attempt.task);
        match (self.reader.read(id, body), &attempt.stage) {
            (
                Ok(_),
                AttemptStage::Reported { .. } | AttemptStage::Checking { .. } | AttemptStage::Recorded,
            ) => {
                let (task, reason) = (id.to_owned(), "a report was accepted before".to_owned());
                self.notify(Notice::ReportIgnored { task, reason });
            }
            (Ok(report), AttemptStage::Expired { .. } | AttemptStage::Stopped) => self.accept(worker, report),
            (Ok(report), AttemptStage::Starting | AttemptStage::Working) => {
                attempt.stage = AttemptStage::Reported {
                    report,
                    until: now.plus(LINGER),
                };
            }
            (Ok(_), AttemptStage::CheckingBeforeStart { .. }) => {}
            (Err(reason), _) => self.out.push(Action::RefuseReport { worker, reason }),
        }
    }

    pub(in crate::engine) fn edited_after_report(&mut self, worker: WorkerId, files: Vec<String>) {
        let Some(attempt) = self.live.get(&worker) else {
            return;
        };
        let (task, attempt) = (self.task_id(attempt.task), attempt.number);
        self.record(Event::EditedAfterReport { task, attempt, files });
    }

    pub(in crate::engine) fn refused(&mut self, worker: WorkerId, refusals: Vec<Refusal>) {
        let Some(attempt) = self.live.get(&worker) else {
            return;
        };
        let (task, attempt) = (self.task_id(attempt.task), attempt.number);
        self.record(Event::Refused {
            task,
            attempt,
            refusals,
        });
    }

    pub(in crate::engine) fn turn_ended(&mut self, worker: WorkerId, end: &TurnEnd) {
        let now = self.now;
        self.record_usage(worker, end);
        let Some(attempt) = self.live.get_mut(&worker) else {
            return;
        };
        attempt.last_activity = now;
        attempt.denied |= end.exit == TurnExit::Reason(StopReason::PermissionBlocked);
        let denied = attempt.denied;
        let task = attempt.task;
        let being_ended = match &mut attempt.stage {
            AttemptStage::Reported { report, .. } => {
                let report = report.clone();
                return self.accept(worker, report);
            }
            AttemptStage::CheckingBeforeStart { .. }
            | AttemptStage::Checking { .. }
            | AttemptStage::Recorded => return,
            AttemptStage::Expired { stop, error } => {
                // It may have run out of time for another reason, such as a service that it could not reach.
                let by_clock = matches!(stop, StopReason::Timeout | StopReason::Idle);
                if let TurnExit::Reason(known) = end.exit
                    && by_clock
                {
                    *stop = known;
                    *error = with_last_output(std::mem::take(error), &end.last_output);
                }
                true
            }
            AttemptStage::Stopped => true,
            AttemptStage::Starting | AttemptStage::Working => false,
        };
        let mut refused = None;
        for body in &end.reports {
            match self.reader.read(self.ledger.plan().id(task), body) {
                Ok(report) => return self.accept(worker, report),
                Err(reason) => refused = refused.or(Some(reason)),
            }
        }
        if being_ended {
            return;
        }
        let (stop, error, retry) = match (refused, end.exit) {
            (
                Some(reason),
                exit @ (TurnExit::Code(_)
                | TurnExit::Signal(_)
                | TurnExit::Reason(StopReason::PermissionBlocked)),
            ) => {
                if !self.send_report_back(worker, &reason) {
                    let rounds = self.limits(task).max_repairs;
                    let error = match self.task_limit_reached(task) {
                        Some(why) => format!("The report was not valid: {reason}; not asked again: {why}"),
                        None => format!("The report was not valid after {rounds} corrections: {reason}"),
                    };
                    let stop = match exit {
                        TurnExit::Reason(stop) => stop,
                        // It probably lacked what it was denied.
                        TurnExit::Code(_) | TurnExit::Signal(_) if denied => StopReason::PermissionBlocked,
                        TurnExit::Code(_) | TurnExit::Signal(_) => StopReason::SchemaInvalid,
                    };
                    self.conclude(worker, stop, failed(error), Retry::Never);
                }
                return;
            }
            (_, TurnExit::Reason(stop)) => (
                stop,
                format!("The agent stopped ({})", stop.as_str()),
                Retry::after_stop(stop, end.retry_after),
            ),
            (None, TurnExit::Code(0)) => (
                StopReason::NoReport,
                "The worker ended without a report".to_owned(),
                Retry::Never,
            ),
            (None, TurnExit::Code(code)) => (
                StopReason::Crashed,
                format!("The worker exited with code {code}"),
                Retry::IfBroken,
            ),
            (None, TurnExit::Signal(signal)) => (
                StopReason::Crashed,
                format!("The worker was ended by signal {signal}"),
                Retry::IfBroken,
            ),
        };
        self.conclude(
            worker,
            stop,
            failed(with_last_output(error, &end.last_output)),
            retry,
        );
    }

    pub(in crate::engine) fn claim_checked(&mut self, worker: WorkerId, outcome: CheckOutcome) {
        let Some(attempt) = self.live.get_mut(&worker) else {
            return;
        };
        let mut report = match &mut attempt.stage {
            AttemptStage::Checking { report } => report.clone(),
            AttemptStage::CheckingBeforeStart { .. } => return self.checked_before_start(worker, outcome),
            AttemptStage::Starting
            | AttemptStage::Working
            | AttemptStage::Reported { .. }
            | AttemptStage::Expired { .. }
            | AttemptStage::Stopped
            | AttemptStage::Recorded => return,
        };
        match outcome {
            CheckOutcome::Confirmed { verdict, measured } => {
                for (column, value) in measured {
                    set(&mut report.result.outputs, &column, value);
                }
                self.finish(worker, report, verdict);
            }
            CheckOutcome::Measured(findings) => self.checked_after_turn(worker, report, findings),
            CheckOutcome::Ask(reason) => {
                if !self.ask_about(worker, &reason) {
                    self.doubted(worker, &reason);
                    self.finish(worker, report, Verdict::Unverified);
                }
            }
            CheckOutcome::SendBack(reason) => {
                // What is in doubt is in the list.
                attempt.asked = 1;
                self.send_back_or_contradict(worker, reason);
            }
            CheckOutcome::Contradicted(reason) => self.contradict(worker, reason),
        }
    }

    /// Takes a well-formed report: a success is checked, a failure is not.
    pub(super) fn accept(&mut self, worker: WorkerId, mut report: WorkerReport) {
        let now = self.now;
        let task = self.live[&worker].task;
        let team = &self.ledger.team;
        let owes = team
            .role(self.ledger.plan().role(task))
            .is_some_and(|role| !role.owes.is_empty() || role.check.is_some());
        let names_files = || {
            claim::reported_paths(team, &report.result.outputs)
                .next()
                .is_some()
        };
        let names_commits = || {
            claim::reported_commits(team, &report.result.outputs)
                .next()
                .is_some()
        };
        let checked = self.options.check_all || owes || names_files() || names_commits();
        let completed = report.result.status == Status::Completed;
        if completed
            && let Err(reason) = policy::complete_report(team, self.ledger.plan(), task, &mut report.result)
        {
            return self.send_back_or_contradict(worker, reason);
        }
        // What was in doubt about an earlier report may be settled.
        let cannot_ask = self.task_limit_reached(task).is_some();
        let doubt = completed.then(|| self.report_doubt(task, &report)).flatten();
        self.attempt_mut(worker).doubt.clear();
        if let Some(doubt) = doubt {
            if doubt.asks && self.ask_about(worker, &doubt.reason) {
                return;
            }
            self.doubted(worker, &doubt.reason);
        }
        let attempt = self.attempt_mut(worker);
        if completed && checked {
            let asked = attempt.asked > 0 || attempt.close != CloseState::Open || cannot_ask;
            let result = &report.result;
            let outputs = result.outputs.iter().chain(&result.facts).cloned().collect();
            attempt.stage = AttemptStage::Checking { report };
            attempt.checking_since = now;
            self.out.push(Action::CheckClaim {
                worker,
                task,
                outputs,
                asked,
            });
        } else {
            self.finish(worker, report, Verdict::Unverified);
        }
    }

    /// Why a report is doubtful by itself.
    fn report_doubt(&self, task: TaskIx, report: &WorkerReport) -> Option<ReportDoubt> {
        let plan = self.ledger.plan();
        let role = self.ledger.team.role(plan.role(task));
        let leaves_more = role.is_some_and(|role| !role.owes.is_empty() || role.check.is_some());
        report_doubt(&report.result, plan.cell(task, "description"), leaves_more)
    }

    /// Something about the claim stays in doubt.
    pub(in crate::engine) fn doubted(&mut self, worker: WorkerId, reason: &str) {
        let Some(attempt) = self.live.get_mut(&worker) else {
            return;
        };
        if !attempt.doubt.is_empty() {
            attempt.doubt.push_str("; ");
        }
        attempt.doubt.push_str(reason);
    }

    /// Asks the worker about something that is in doubt; false when it was asked before or cannot be asked.
    pub(super) fn ask_about(&mut self, worker: WorkerId, reason: &str) -> bool {
        let message = format!(
            "Your work cannot be verified as it is: {reason}\n\
             Correct this and report again. If it is correct, send the same report again: the task then \
             completes as unverified, with this reason."
        );
        self.send_back(worker, |attempt| &mut attempt.asked, 1, reason, message)
    }

    fn send_back_or_contradict(&mut self, worker: WorkerId, reason: String) {
        if !self.send_report_back(worker, &reason) {
            self.contradict(worker, reason);
        }
    }

    fn send_report_back(&mut self, worker: WorkerId, reason: &str) -> bool {
        let most = self.limits(self.live[&worker].task).max_repairs;
        let message = format!(
            "Your report was not accepted: {reason}\n\
             Correct this and report again. Everything else you did is kept."
        );
        self.send_back(worker, |attempt| &mut attempt.repairs, most, reason, message)
    }

    /// Sends work back in the same conversation; false when that happened `most` times already, by its own `count`.
    pub(super) fn send_back(
        &mut self,
        worker: WorkerId,
        count: impl Fn(&mut Attempt) -> &mut u32,
        most: u32,
        reason: &str,
        message: String,
    ) -> bool {
        let task = self.live[&worker].task;
        let spent_all = self.task_limit_reached(task).is_some();
        let attempt = self.attempt_mut(worker);
        if *count(attempt) >= most || attempt.close != CloseState::Open || spent_all {
            return false;
        }
        *count(attempt) += 1;
        let (number, turn) = (attempt.number, attempt.turn + 1);
        self.back_to_work(worker);
        self.record(Event::SentBack {
            task: self.task_id(task),
            attempt: number,
            turn,
            reason: reason.to_owned(),
        });
        self.send(worker, message);
        true
    }

    /// The worker works again. The time of its check is not counted as its own.
    fn back_to_work(&mut self, worker: WorkerId) {
        let now = self.now;
        let attempt = self.attempt_mut(worker);
        if let AttemptStage::Checking { .. } = attempt.stage {
            attempt.started = attempt.started.plus(now.since(attempt.checking_since));
        }
        attempt.last_activity = now;
        attempt.stage = AttemptStage::Working;
    }

    pub(super) fn send(&mut self, worker: WorkerId, text: String) {
        let attempt = self.attempt_mut(worker);
        attempt.turn += 1;
        let turn = attempt.turn;
        self.out.push(Action::Send { worker, turn, text });
    }
}

fn with_last_output(what: String, last_output: &str) -> String {
    if last_output.is_empty() {
        what
    } else {
        format!("{what}: {last_output}")
    }
}
