//! Checks by a check program: before a worker starts, who may then not be needed, and after each of its turns, as often as
//! its loop allows.

use super::outcome::Retry;
use super::{AttemptStage, failed};
use crate::engine::Engine;
use crate::engine::action::{Action, Assignment};
use crate::engine::input::{CheckFindings, CheckOutcome, WorkerId};
use crate::engine::ledger::set;
use crate::engine::report::WorkerReport;
use crate::event::{Event, Status, StopReason, TaskResult};
use crate::team::{CheckKind, LoopKind, OnLimit};

/// How often a worker may repair its work, and what is good enough.
struct RepairLimits {
    iterations: u32,
    /// From this check on, this pass rate is enough.
    enough: Option<(u32, f64)>,
    at_limit: OnLimit,
}

impl Engine {
    pub(super) fn check_before_start(&mut self, worker: WorkerId, assignment: Assignment) {
        let attempt = self.attempt_mut(worker);
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

    /// Whether the worker's role delivers test files, which count one by one.
    pub(super) fn delivers_tests(&self, worker: WorkerId) -> bool {
        let role = self.ledger.plan().role(self.live[&worker].task);
        let check = self.ledger.team.role(role).and_then(|role| role.check);
        check == Some(CheckKind::GeneratedTests)
    }

    /// Checks what a worker delivered before its time limit ended it.
    pub(super) fn check_delivery(&mut self, worker: WorkerId, error: String) {
        let now = self.now;
        let attempt = self.live.get_mut(&worker).expect("callers looked it up");
        let task = attempt.task;
        attempt.stage = AttemptStage::Checking {
            report: WorkerReport {
                result: TaskResult {
                    status: Status::Completed,
                    findings: format!("{error}; the work delivered before that counts"),
                    ..TaskResult::default()
                },
                whole_findings: None,
            },
        };
        attempt.timed_out = Some(error);
        attempt.checking_since = now;
        self.out.push(Action::CheckClaim {
            worker,
            task,
            outputs: Vec::new(),
            // It has ended.
            asked: true,
        });
    }

    /// Starts the worker if the check found something to do; otherwise the task is done.
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
        let attempt = self.attempt_mut(worker);
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
        let result = TaskResult {
            status: Status::Completed,
            findings: findings.findings,
            outputs: findings.measured,
            facts: findings.facts,
            ..TaskResult::default()
        };
        let report = WorkerReport {
            result,
            whole_findings: None,
        };
        self.finish(worker, report, findings.verdict);
    }

    /// Whether the task may still start, as it could when its check began.
    fn may_start_now(&mut self, worker: WorkerId) -> bool {
        // It does not count against itself.
        let attempt = self.live.remove(&worker).expect("callers looked it up");
        let task = attempt.task;
        let wave = self.ledger.plan().wave(task);
        let first = self.ledger.next_wave().is_none_or(|lowest| lowest >= wave);
        let mut deps = self.ledger.plan().deps(task).iter();
        let deps_done = deps.all(|&dep| self.ledger.status(dep) == Status::Completed);
        let may = first && deps_done && self.limit_reached().is_none() && self.pool_allows_start(task);
        self.live.insert(worker, attempt);
        may
    }

    /// Puts the task back; the check runs again when the task may start.
    fn postpone(&mut self, worker: WorkerId) {
        let attempt = self.live.remove(&worker).expect("callers looked it up");
        let task = self.task_id(attempt.task);
        self.record(Event::Postponed {
            at: self.now,
            task,
            attempt: attempt.number,
            stop: StopReason::Ok,
            error: "it was not started: the run could start no worker when its check ended".to_owned(),
        });
        self.schedule.put_back(attempt.task);
    }

    /// The check of a turn's work has ended: the worker repairs what is short, or is done.
    pub(super) fn checked_after_turn(
        &mut self,
        worker: WorkerId,
        mut report: WorkerReport,
        findings: CheckFindings,
    ) {
        for (column, value) in findings.measured {
            set(&mut report.result.outputs, &column, value);
        }
        for (name, value) in findings.facts {
            set(&mut report.result.facts, &name, value);
        }
        if !findings.findings.is_empty() {
            report.put_first(&findings.findings);
        }
        let attempt = self.attempt_mut(worker);
        attempt.checks += 1;
        let (task, runs) = (attempt.task, attempt.checks);
        let Some(short) = findings.shortfall else {
            if !findings.doubt.is_empty() {
                if self.ask_about(worker, &findings.doubt) {
                    return;
                }
                self.doubted(worker, &findings.doubt);
            }
            return self.finish(worker, report, findings.verdict);
        };
        let limits = self.repair_limits(self.ledger.plan().role(task));
        // The delivered tests decide; the row shows the kept ones.
        let number = |name: &str| report.result.value(name)?.parse::<f64>().ok();
        let pass_rate = number("delivered_pass_rate").or_else(|| number("pass_rate"));
        let good_enough = limits
            .enough
            .is_some_and(|(from, enough)| runs >= from && pass_rate.is_some_and(|rate| rate >= enough));
        let message = format!(
            "wavecrew checked your work. These problems remain:\n\n{short}\n\nFix it and report again."
        );
        if !good_enough
            && self.send_back(
                worker,
                |attempt| &mut attempt.iterations,
                limits.iterations,
                &short,
                message,
            )
        {
            return;
        }
        match limits.at_limit {
            OnLimit::Fail if !good_enough => {
                let rounds = limits.iterations;
                self.contradict(worker, format!("Problems remain after {rounds} repairs: {short}"));
            }
            OnLimit::Fail | OnLimit::Accept => {
                if !findings.doubt.is_empty() {
                    self.doubted(worker, &findings.doubt);
                }
                self.finish(worker, report, findings.verdict);
            }
        }
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
