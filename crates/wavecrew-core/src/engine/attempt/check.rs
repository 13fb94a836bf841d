//! Work that the coordinator examines itself: before a worker is started, who may then not be needed, and after each of
//! its turns, as often as its loop allows.

use super::outcome::Retry;
use super::{AttemptStage, CloseState, failed};
use crate::engine::Engine;
use crate::engine::action::{Action, Assignment};
use crate::engine::input::{CheckFindings, CheckOutcome, WorkerId};
use crate::engine::ledger::set;
use crate::engine::report::WorkerReport;
use crate::event::{Event, Status, StopReason};
use crate::team::{LoopKind, OnLimit};

/// How often a worker may go on after its work was findings, and when it need not.
struct RepairLimits {
    iterations: u32,
    /// From this examination on, this share of passing tests is enough.
    enough: Option<(u32, f64)>,
    at_limit: OnLimit,
}

impl Engine {
    pub(super) fn check_before_start(&mut self, worker: WorkerId, assignment: Assignment) {
        let attempt = self.live.get_mut(&worker).expect("just put in");
        let (task, number) = (attempt.task, attempt.number);
        attempt.stage = AttemptStage::CheckingBeforeStart {
            assignment: Box::new(assignment),
        };
        self.out.push(Action::CheckBeforeStart {
            worker,
            task,
            attempt: number,
        });
    }

    /// What was found out before the worker is here: it is started if there is something to do.
    pub(super) fn checked_before_start(&mut self, worker: WorkerId, outcome: CheckOutcome) {
        let findings = match outcome {
            CheckOutcome::Measured(findings) => findings,
            CheckOutcome::Confirmed { verdict, measured } => CheckFindings {
                verdict,
                measured,
                ..CheckFindings::default()
            },
            CheckOutcome::Ask(reason)
            | CheckOutcome::SendBack(reason)
            | CheckOutcome::Contradicted(reason) => {
                return self.conclude(worker, StopReason::Ok, failed(reason), Retry::Never);
            }
        };
        if findings.shortfall.is_some() && !self.may_start_now(worker) {
            return self.postpone(worker);
        }
        let now = self.now;
        let attempt = self.live.get_mut(&worker).expect("callers looked it up");
        attempt.checks = 1;
        if let Some(short) = findings.shortfall {
            let stage = std::mem::replace(&mut attempt.stage, AttemptStage::Starting);
            let AttemptStage::CheckingBeforeStart { mut assignment } = stage else {
                return;
            };
            attempt.started = now;
            attempt.last_activity = now;
            assignment.found = Some(short);
            self.out.push(Action::Spawn(assignment));
            return;
        }
        let report = WorkerReport {
            status: Status::Completed,
            findings: findings.findings,
            whole_findings: None,
            outputs: findings.measured,
            error: String::new(),
            facts: findings.facts,
        };
        self.finish(worker, report, findings.verdict);
    }

    /// Whether what held for the task when its examination began still does.
    fn may_start_now(&mut self, worker: WorkerId) -> bool {
        // It takes no place from itself.
        let attempt = self.live.remove(&worker).expect("callers looked it up");
        let task = attempt.task;
        let wave = self.ledger.plan().wave(task);
        let first = self.ledger.next_wave().is_none_or(|lowest| lowest >= wave);
        let mut deps = self.ledger.plan().deps(task).iter();
        let stands = deps.all(|&dep| self.ledger.status(dep) == Status::Completed);
        let may = first && stands && self.limit_reached().is_none() && self.pool_allows_start(task);
        self.live.insert(worker, attempt);
        may
    }

    /// The task is to do when it may be started; what was found out is found out again then.
    fn postpone(&mut self, worker: WorkerId) {
        let attempt = self.live.remove(&worker).expect("callers looked it up");
        let task = self.ledger.plan().id(attempt.task).to_owned();
        self.record(Event::Postponed {
            at: self.now,
            task,
            attempt: attempt.number,
            stop: StopReason::Ok,
            error: "what it needs was not there any more when it had been findings".to_owned(),
        });
        self.schedule.put_back(attempt.task);
    }

    /// The work of a turn was examined: the worker goes on with what is short, or is done.
    pub(super) fn checked_after_turn(
        &mut self,
        worker: WorkerId,
        mut report: WorkerReport,
        findings: CheckFindings,
    ) {
        for (column, value) in findings.measured {
            set(&mut report.outputs, &column, value);
        }
        for (name, value) in findings.facts {
            set(&mut report.facts, &name, value);
        }
        if !findings.findings.is_empty() {
            report.put_first(&findings.findings);
        }
        let attempt = self.live.get_mut(&worker).expect("callers looked it up");
        attempt.checks += 1;
        let (task, runs) = (attempt.task, attempt.checks);
        let Some(short) = findings.shortfall else {
            return self.finish(worker, report, findings.verdict);
        };
        let patience = self.repair_limits(self.ledger.plan().role(task));
        // What was delivered decides; the row shows what was kept of it.
        let number = |wanted: &str| {
            let mut values = report.outputs.iter().chain(&report.facts);
            values.find_map(|(name, value)| (name == wanted).then(|| value.parse::<f64>().ok())?)
        };
        let pass_rate = number("delivered_pass_rate").or_else(|| number("pass_rate"));
        let good_enough = patience
            .enough
            .is_some_and(|(from, enough)| runs >= from && pass_rate.is_some_and(|rate| rate >= enough));
        // Where the first examination came before the worker, there was one more of them than turns.
        if !good_enough && self.send_shortfall(worker, &short, patience.iterations) {
            return;
        }
        match patience.at_limit {
            OnLimit::Fail if !good_enough => {
                let rounds = patience.iterations;
                self.contradict(
                    worker,
                    format!("Still short after {rounds} rounds of repair: {short}"),
                );
            }
            OnLimit::Fail | OnLimit::Accept => self.finish(worker, report, findings.verdict),
        }
    }

    /// Tells the worker what is short; false when it was told often enough.
    fn send_shortfall(&mut self, worker: WorkerId, short: &str, most: u32) -> bool {
        let task = self.live[&worker].task;
        let spent_all = self.task_limit_reached(task).is_some();
        let attempt = self.live.get_mut(&worker).expect("callers looked it up");
        if attempt.iterations >= most || attempt.close != CloseState::Open || spent_all {
            return false;
        }
        attempt.iterations += 1;
        let (number, turn) = (attempt.number, attempt.turn + 1);
        self.back_to_work(worker);
        let task = self.ledger.plan().id(task).to_owned();
        self.record(Event::SentBack {
            task,
            attempt: number,
            turn,
            reason: short.to_owned(),
        });
        self.send(
            worker,
            format!("Your work was findings. This is still short:\n\n{short}\n\nMend it and report again."),
        );
        true
    }

    fn repair_limits(&self, role: &str) -> RepairLimits {
        let found = self.ledger.team.loops.iter().find_map(|kind| match kind {
            LoopKind::GeneratorCritic { critic, inner, .. } if critic == role => {
                inner.as_ref().map(|inner| RepairLimits {
                    iterations: inner.max_iterations,
                    enough: Some((inner.relaxed_from, inner.enough_pass_rate)),
                    at_limit: OnLimit::Accept,
                })
            }
            LoopKind::FixVerify {
                fixer,
                max_rounds,
                on_limit,
                ..
            } if fixer == role => Some(RepairLimits {
                iterations: *max_rounds,
                enough: None,
                at_limit: *on_limit,
            }),
            LoopKind::GeneratorCritic { .. } | LoopKind::FixVerify { .. } => None,
        });
        found.unwrap_or(RepairLimits {
            iterations: self.ledger.team.limits_for(role).max_repairs,
            enough: None,
            at_limit: OnLimit::Fail,
        })
    }
}
