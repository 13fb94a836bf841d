//! Work that the coordinator examines itself: before a worker is started, who may then not be needed, and after each of
//! its turns, as often as its loop allows.

use super::outcome::Retry;
use super::{Ending, Stage, failed};
use crate::engine::Engine;
use crate::engine::action::{Action, Assignment};
use crate::engine::input::{CheckFindings, CheckOutcome, WorkerId};
use crate::engine::ledger::set;
use crate::engine::report::Report;
use crate::event::{Event, Status, StopReason};
use crate::team::{LoopKind, OnLimit};

/// How often a worker may go on after its work was examined, and when it need not.
struct Patience {
    iterations: u32,
    /// From this examination on, this share of passing tests is enough.
    enough: Option<(u32, f64)>,
    at_limit: OnLimit,
}

impl Engine {
    pub(super) fn examine_first(&mut self, worker: WorkerId, assignment: Assignment) {
        let attempt = self.live.get_mut(&worker).expect("just put in");
        let (task, number) = (attempt.task, attempt.number);
        attempt.stage = Stage::Examining {
            assignment: Box::new(assignment),
        };
        self.out.push(Action::Examine {
            worker,
            task,
            attempt: number,
        });
    }

    /// What was found out before the worker is here: it is started if there is something to do.
    pub(super) fn examined_first(&mut self, worker: WorkerId, verdict: CheckOutcome) {
        let examined = match verdict {
            CheckOutcome::CheckFindings(examined) => examined,
            CheckOutcome::Holds { checked, measured } => CheckFindings {
                checked,
                measured,
                ..CheckFindings::default()
            },
            CheckOutcome::Mend(reason) | CheckOutcome::Contradicted(reason) => {
                return self.conclude(worker, StopReason::Ok, failed(reason), Retry::Never);
            }
        };
        if examined.short.is_some() && !self.may_start_now(worker) {
            return self.postpone(worker);
        }
        let now = self.now;
        let attempt = self.live.get_mut(&worker).expect("callers looked it up");
        attempt.examined = 1;
        if let Some(short) = examined.short {
            let stage = std::mem::replace(&mut attempt.stage, Stage::Starting);
            let Stage::Examining { mut assignment } = stage else {
                return;
            };
            attempt.started = now;
            attempt.last_activity = now;
            assignment.found = Some(short);
            self.out.push(Action::Spawn(assignment));
            return;
        }
        let report = Report {
            status: Status::Completed,
            findings: examined.findings,
            whole_findings: None,
            outputs: examined.measured,
            error: String::new(),
            facts: examined.facts,
        };
        self.finish(worker, report, examined.checked);
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
        let may = first && stands && self.limit_reached().is_none() && self.gate_open(task);
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
            error: "what it needs was not there any more when it had been examined".to_owned(),
        });
        self.schedule.put_back(attempt.task);
    }

    /// The work of a turn was examined: the worker goes on with what is short, or is done.
    pub(super) fn examined_again(&mut self, worker: WorkerId, mut report: Report, examined: CheckFindings) {
        for (column, value) in examined.measured {
            set(&mut report.outputs, &column, value);
        }
        for (name, value) in examined.facts {
            set(&mut report.facts, &name, value);
        }
        if !examined.findings.is_empty() {
            report.put_first(&examined.findings);
        }
        let attempt = self.live.get_mut(&worker).expect("callers looked it up");
        attempt.examined += 1;
        let (task, runs) = (attempt.task, attempt.examined);
        let Some(short) = examined.short else {
            return self.finish(worker, report, examined.checked);
        };
        let patience = self.patience_with(self.ledger.plan().role(task));
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
        if !good_enough && self.go_on_with(worker, &short, patience.iterations) {
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
            OnLimit::Fail | OnLimit::Accept => self.finish(worker, report, examined.checked),
        }
    }

    /// Tells the worker what is short; false when it was told often enough.
    fn go_on_with(&mut self, worker: WorkerId, short: &str, most: u32) -> bool {
        let task = self.live[&worker].task;
        let spent_all = self.task_limit_reached(task).is_some();
        let attempt = self.live.get_mut(&worker).expect("callers looked it up");
        if attempt.iterations >= most || attempt.ending != Ending::No || spent_all {
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
        self.say(
            worker,
            format!("Your work was examined. This is still short:\n\n{short}\n\nMend it and report again."),
        );
        true
    }

    fn patience_with(&self, role: &str) -> Patience {
        let found = self.ledger.team.loops.iter().find_map(|kind| match kind {
            LoopKind::GeneratorCritic { critic, inner, .. } if critic == role => {
                inner.as_ref().map(|inner| Patience {
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
            } if fixer == role => Some(Patience {
                iterations: *max_rounds,
                enough: None,
                at_limit: *on_limit,
            }),
            LoopKind::GeneratorCritic { .. } | LoopKind::FixVerify { .. } => None,
        });
        found.unwrap_or(Patience {
            iterations: self.ledger.team.limits_for(role).max_repairs,
            enough: None,
            at_limit: OnLimit::Fail,
        })
    }
}
