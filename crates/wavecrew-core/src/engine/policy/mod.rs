//! What happens between waves: loops, checkpoints and gates decide about results. The run continues, work is revised, a
//! person is asked, or the run stops. Each result is decided once, and the decision is on record.

mod policies;
mod rounds;
mod score;

pub use score::complete_report;

use super::action::{Action, QuestionKind};
use super::input::{Answer, GivenAnswer};
use super::ledger::TaskProgress;
use super::{AskMode, Engine, Mode};
use crate::event::{AnsweredBy, Event, Policy, PolicyDecision, PolicyOutcome, Rework, RunOutcome, Status};
use crate::id::TaskIx;
use crate::plan::Plan;
use crate::sheet::Patch;
use std::collections::BTreeSet;

/// What a policy makes of a result.
enum PolicyStep {
    /// The result stands.
    Decide(PolicyOutcome),
    /// These tasks run again, with a brief to read; tasks that depend on them follow.
    Revise(Revision),
    /// A person decides; without one, `otherwise` holds.
    Ask {
        question: String,
        documents: Vec<String>,
        revision: Option<Revision>,
        yes: PolicyOutcome,
        otherwise: Box<PolicyStep>,
    },
    Stop,
    /// Rows of the table are replaced by those that the result asks for.
    Expand,
}

#[derive(Clone, Debug)]
struct Revision {
    tasks: Vec<TaskIx>,
    brief: Option<String>,
}

/// What a policy decided, and why.
struct PolicyResult {
    by: Policy,
    score: Option<f64>,
    why: String,
    measured: Vec<(String, String)>,
    /// An earlier attempt that was better: its work is restored, and its measured values stand.
    restore: Option<(u32, Vec<(String, String)>)>,
    step: PolicyStep,
}

/// A decision that waits for a person.
pub(super) struct PendingDecision {
    decision: PolicyDecision,
    revision: Option<Revision>,
    yes: PolicyOutcome,
}

/// Whether the next wave may start.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Course {
    Free,
    /// A question has to be answered first, or the run is over.
    Held,
}

impl Engine {
    /// Applies the policies to every result that has no decision yet.
    pub(super) fn apply_policies(&mut self) -> Course {
        if !self.has_policies {
            return Course::Free;
        }
        self.recover_failed_revisions();
        let undecided: Vec<TaskIx> = self
            .ledger
            .plan()
            .tasks()
            .filter(|&task| self.is_undecided(task))
            .collect();
        for task in undecided {
            // An earlier decision may have sent this one back.
            if !self.is_undecided(task) {
                continue;
            }
            let Some(result) = self.policy_result(task) else {
                continue;
            };
            if self.apply_result(task, result) == Course::Held {
                return Course::Held;
            }
        }
        Course::Free
    }

    fn is_undecided(&self, task: TaskIx) -> bool {
        let state = self.ledger.task(task);
        state.progress == TaskProgress::Done
            && state.result.status == Status::Completed
            && state.decided_attempt < state.attempts
    }

    fn apply_result(&mut self, task: TaskIx, result: PolicyResult) -> Course {
        let PolicyResult {
            by,
            score,
            why,
            measured,
            restore,
            step,
        } = result;
        let mut outputs = Vec::new();
        if let Some((attempt, values)) = restore {
            outputs = values;
            self.out.push(Action::Restore { task, attempt });
        }
        let decision = PolicyDecision {
            task: self.ledger.plan().id(task).to_owned(),
            attempt: self.ledger.task(task).attempts,
            round: self.rounds_of(&by),
            by,
            outcome: PolicyOutcome::Pass,
            score,
            why,
            measured,
            outputs,
            decided_by: None,
        };
        self.take_step(decision, step)
    }

    fn take_step(&mut self, mut decision: PolicyDecision, step: PolicyStep) -> Course {
        match step {
            PolicyStep::Decide(outcome) => {
                self.record_decision(decision, outcome);
                Course::Free
            }
            PolicyStep::Revise(revision) => {
                self.revise(decision, &revision);
                Course::Free
            }
            PolicyStep::Ask { otherwise, .. } if self.options.ask_mode == AskMode::Defaults => {
                if matches!(*otherwise, PolicyStep::Decide(_)) {
                    decision.decided_by = Some(AnsweredBy::YesFlag);
                }
                self.take_step(decision, *otherwise)
            }
            PolicyStep::Ask {
                question,
                documents,
                revision,
                yes,
                otherwise: _,
            } => {
                self.ask_to_decide(question, documents, decision, revision, yes);
                Course::Held
            }
            PolicyStep::Stop => {
                self.stop_at(decision);
                Course::Held
            }
            PolicyStep::Expand => {
                let task = self.ledger.plan().find(&decision.task);
                self.mode = Mode::Expanding;
                self.out.extend(task.map(|task| Action::Expand { task }));
                Course::Held
            }
        }
    }

    fn record_decision(&mut self, mut decision: PolicyDecision, outcome: PolicyOutcome) {
        decision.outcome = outcome;
        let at = self.now;
        self.record(Event::PolicyDecided { at, decision });
    }

    /// Runs the tasks of a revision again, then the finished tasks that depend on them.
    fn revise(&mut self, mut decision: PolicyDecision, revision: &Revision) {
        let round = decision.round + 1;
        decision.outcome = PolicyOutcome::Revise;
        let (by, why) = (decision.task.clone(), decision.why.clone());
        let at = self.now;
        self.record(Event::PolicyDecided { at, decision });
        let first: BTreeSet<TaskIx> = revision.tasks.iter().copied().collect();
        let again = self.with_done_dependents(&revision.tasks);
        let plan = self.ledger.plan();
        let events: Vec<Event> = again
            .into_iter()
            .map(|task| Event::Reworked {
                task: plan.id(task).to_owned(),
                rework: Rework {
                    by: by.clone(),
                    round,
                    why: why.clone(),
                    brief: revision.brief.clone().filter(|_| first.contains(&task)),
                },
            })
            .collect();
        for event in events {
            self.record(event);
        }
    }

    /// These tasks and all finished tasks that depend on them, in plan order.
    fn with_done_dependents(&self, tasks: &[TaskIx]) -> BTreeSet<TaskIx> {
        let mut all: BTreeSet<TaskIx> = tasks.iter().copied().collect();
        let mut open: Vec<TaskIx> = tasks.to_vec();
        while let Some(task) = open.pop() {
            for &next in self.ledger.plan().dependents(task) {
                if self.ledger.task(next).progress == TaskProgress::Done && all.insert(next) {
                    open.push(next);
                }
            }
        }
        all
    }

    fn stop_at(&mut self, mut decision: PolicyDecision) {
        decision.outcome = PolicyOutcome::Stop;
        let (by, why) = (decision.task.clone(), decision.why.clone());
        let at = self.now;
        self.record(Event::PolicyDecided { at, decision });
        self.end_run(RunOutcome::Blocked { by, why });
    }

    fn ask_to_decide(
        &mut self,
        text: String,
        documents: Vec<String>,
        decision: PolicyDecision,
        revision: Option<Revision>,
        yes: PolicyOutcome,
    ) {
        let may_revise = revision.is_some();
        let kind = match yes {
            PolicyOutcome::Approved => QuestionKind::Approval { may_revise },
            _ => QuestionKind::PolicyDecision { may_revise },
        };
        self.pending_decision = Some(PendingDecision {
            decision,
            revision,
            yes,
        });
        self.ask_and_wait(text, documents, kind);
    }

    /// Handles the answer to a pending decision; returns it if there is none.
    pub(super) fn decision_answered(&mut self, question: u32, given: GivenAnswer) -> Option<GivenAnswer> {
        let Some(pending_decision) = self.pending_decision.take() else {
            return Some(given);
        };
        let PendingDecision {
            mut decision,
            revision,
            yes,
        } = pending_decision;
        decision.decided_by = Some(given.by);
        match (&given.answer, revision) {
            (Answer::Proceed | Answer::Allow, _) => {
                self.record_answer(question, &given, "go on");
                self.record_decision(decision, yes);
            }
            (Answer::Revise | Answer::Retry, Some(revision)) => {
                self.record_answer(question, &given, "revise");
                if let Some(remark) = &given.remark {
                    decision.why = format!("{}; remark: {remark}", decision.why);
                }
                self.revise(decision, &revision);
            }
            (Answer::Revise | Answer::Retry | Answer::Abort | Answer::Deny | Answer::Text(_), _) => {
                self.record_answer(question, &given, "abort");
                self.stop_at(decision);
            }
        }
        None
    }

    /// Applies the rows that a result asked for.
    pub(super) fn expanded(&mut self, id: &str, change: Result<Option<(Patch, Box<Plan>)>, String>) {
        if self.mode != Mode::Expanding {
            return;
        }
        self.mode = Mode::Running;
        let Some(task) = self.ledger.plan().find(id) else {
            return;
        };
        let decision = |engine: &Self, why: &str| PolicyDecision {
            task: id.to_owned(),
            attempt: engine.ledger.task(task).attempts,
            by: Policy::Expansion { task: id.to_owned() },
            outcome: PolicyOutcome::Pass,
            round: 0,
            score: None,
            why: why.to_owned(),
            measured: Vec::new(),
            outputs: Vec::new(),
            decided_by: None,
        };
        match change {
            Ok(change) => {
                let why = if change.is_some() {
                    "later tasks were adapted to the plan"
                } else {
                    "no task changed"
                };
                let decision = decision(self, why);
                if let Some((patch, plan)) = change {
                    self.table_edited(patch, *plan);
                }
                self.record_decision(decision, PolicyOutcome::Pass);
            }
            Err(why) => {
                let decision = decision(self, &why);
                self.record_decision(decision, PolicyOutcome::Failed);
            }
        }
    }
}
