//! What happens between waves: loops, checkpoints and gates look at results, and decide whether the run goes on, work
//! goes back, a person is asked, or the run stops. A result is judged once; what was decided is on record.

mod policies;
mod rounds;
mod score;

pub(super) use score::fit_to_judge;

use super::action::{Action, Question, QuestionKind};
use super::input::Answer;
use super::ledger::Progress;
use super::{AskMode, Engine, Mode};
use crate::event::{Ending, Event, Outcome, PolicyDecision, Rework, Status};
use crate::id::TaskIx;
use crate::plan::Plan;
use crate::sheet::Patch;
use std::collections::BTreeSet;

/// What a policy makes of a result.
enum Decision {
    /// It is settled.
    Settle(Outcome),
    /// These tasks do their work again, with this to read; what depends on them follows.
    Revise(Revision),
    /// A person decides; without one, the other decision holds.
    Ask {
        question: String,
        revision: Option<Revision>,
        yes: Outcome,
        otherwise: Box<Decision>,
    },
    Stop,
    /// Rows are replaced by those that the result asks for.
    Expand,
}

#[derive(Clone, Debug)]
struct Revision {
    tasks: Vec<TaskIx>,
    brief: Option<String>,
}

/// A decision and the words for it.
struct Judged {
    by: String,
    score: Option<f64>,
    why: String,
    measured: Vec<(String, String)>,
    /// A former attempt of the judged task that was better: its work is put back, and what was measured then stands.
    restore: Option<(u32, Vec<(String, String)>)>,
    decision: Decision,
}

/// A judgement that waits for a person.
pub(super) struct Undecided {
    judgement: PolicyDecision,
    revision: Option<Revision>,
    yes: Outcome,
}

/// Whether waves may go on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Course {
    Free,
    /// Something has to be answered first, or the run is over.
    Held,
}

impl Engine {
    /// Judges every result that was not judged yet.
    pub(super) fn judge(&mut self) -> Course {
        if !self.judges {
            return Course::Free;
        }
        self.recover_failed_revisions();
        let unjudged: Vec<TaskIx> = self
            .ledger
            .plan()
            .tasks()
            .filter(|&task| self.is_unjudged(task))
            .collect();
        for task in unjudged {
            // An earlier judgement may have sent this one back.
            if !self.is_unjudged(task) {
                continue;
            }
            let Some(judged) = self.opinion(task) else {
                continue;
            };
            if self.carry_out(task, judged) == Course::Held {
                return Course::Held;
            }
        }
        Course::Free
    }

    fn is_unjudged(&self, task: TaskIx) -> bool {
        let state = self.ledger.task(task);
        state.progress == Progress::Done
            && state.result.status == Status::Completed
            && state.judged < state.attempts
    }

    fn carry_out(&mut self, task: TaskIx, judged: Judged) -> Course {
        let Judged {
            by,
            score,
            why,
            measured,
            restore,
            decision,
        } = judged;
        let mut outputs = Vec::new();
        if let Some((attempt, values)) = restore {
            outputs = values;
            self.out.push(Action::Restore { task, attempt });
        }
        let judgement = PolicyDecision {
            task: self.ledger.plan().id(task).to_owned(),
            attempt: self.ledger.task(task).attempts,
            round: self.rounds_of(&by),
            by,
            outcome: Outcome::Pass,
            score,
            why,
            measured,
            outputs,
        };
        self.decide(judgement, decision)
    }

    fn decide(&mut self, judgement: PolicyDecision, decision: Decision) -> Course {
        match decision {
            Decision::Settle(outcome) => {
                self.settle_judgement(judgement, outcome);
                Course::Free
            }
            Decision::Revise(revision) => {
                self.revise(judgement, &revision);
                Course::Free
            }
            Decision::Ask { otherwise, .. } if self.options.asking == AskMode::Defaults => {
                self.decide(judgement, *otherwise)
            }
            Decision::Ask {
                question,
                revision,
                yes,
                otherwise: _,
            } => {
                self.ask_to_decide(&question, judgement, revision, yes);
                Course::Held
            }
            Decision::Stop => {
                self.stop_at(judgement);
                Course::Held
            }
            Decision::Expand => {
                let task = self.ledger.plan().find(&judgement.task);
                self.mode = Mode::Expanding;
                self.out.extend(task.map(|task| Action::Expand { task }));
                Course::Held
            }
        }
    }

    fn settle_judgement(&mut self, mut judgement: PolicyDecision, outcome: Outcome) {
        judgement.outcome = outcome;
        let at = self.now;
        self.record(Event::Judged { at, judgement });
    }

    /// Sends work back: the tasks that made it run again with the brief, what depends on them after it.
    fn revise(&mut self, mut judgement: PolicyDecision, revision: &Revision) {
        let round = judgement.round + 1;
        judgement.outcome = Outcome::Revise;
        let (by, why) = (judgement.task.clone(), judgement.why.clone());
        let at = self.now;
        self.record(Event::Judged { at, judgement });
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

    /// These tasks and whatever has run that depends on them, in plan order.
    fn with_done_dependents(&self, tasks: &[TaskIx]) -> BTreeSet<TaskIx> {
        let mut all: BTreeSet<TaskIx> = tasks.iter().copied().collect();
        let mut open: Vec<TaskIx> = tasks.to_vec();
        while let Some(task) = open.pop() {
            for &next in self.ledger.plan().dependents(task) {
                if self.ledger.task(next).progress == Progress::Done && all.insert(next) {
                    open.push(next);
                }
            }
        }
        all
    }

    fn stop_at(&mut self, mut judgement: PolicyDecision) {
        judgement.outcome = Outcome::Stop;
        let (by, why) = (judgement.task.clone(), judgement.why.clone());
        let at = self.now;
        self.record(Event::Judged { at, judgement });
        self.end_run(Ending::Blocked { by, why });
    }

    fn ask_to_decide(
        &mut self,
        text: &str,
        judgement: PolicyDecision,
        revision: Option<Revision>,
        yes: Outcome,
    ) {
        let question = self.ledger.questions;
        let text = text.to_owned();
        self.record(Event::Asked {
            question,
            text: text.clone(),
        });
        let about = match yes {
            Outcome::Approved => QuestionKind::Approval,
            _ => QuestionKind::PolicyDecision {
                may_revise: revision.is_some(),
            },
        };
        self.undecided = Some(Undecided {
            judgement,
            revision,
            yes,
        });
        self.mode = Mode::AskMode {
            question,
            since: self.now,
        };
        self.out.push(Action::Ask(Question {
            id: question,
            text,
            about,
            within: self.ledger.team.limits.person,
        }));
    }

    /// A person has decided, or did not in time.
    pub(super) fn judgement_answered(&mut self, question: u32, answer: &Answer) -> bool {
        let Some(undecided) = self.undecided.take() else {
            return false;
        };
        let Undecided {
            judgement,
            revision,
            yes,
        } = undecided;
        let said = match (answer, &revision) {
            (Answer::GoOn | Answer::Allow, _) => "go on",
            (Answer::Revise | Answer::Retry, Some(_)) => "revise",
            (Answer::Revise | Answer::Retry | Answer::Abort | Answer::Deny | Answer::Words(_), _) => "abort",
        };
        self.record(Event::Answered {
            question,
            answer: said.to_owned(),
        });
        match (said, revision) {
            ("go on", _) => self.settle_judgement(judgement, yes),
            ("revise", Some(revision)) => self.revise(judgement, &revision),
            _ => self.stop_at(judgement),
        }
        true
    }

    /// The rows that a result asked for are here.
    pub(super) fn expanded(&mut self, id: &str, change: Result<Option<(Patch, Box<Plan>)>, String>) {
        if self.mode != Mode::Expanding {
            return;
        }
        self.mode = Mode::Running;
        let Some(task) = self.ledger.plan().find(id) else {
            return;
        };
        let judgement = |engine: &Self, why: &str| PolicyDecision {
            task: id.to_owned(),
            attempt: engine.ledger.task(task).attempts,
            by: format!("expansion of {id}"),
            outcome: Outcome::Pass,
            round: 0,
            score: None,
            why: why.to_owned(),
            measured: Vec::new(),
            outputs: Vec::new(),
        };
        match change {
            Ok(change) => {
                let why = if change.is_some() {
                    "rows were replaced by those of the plan"
                } else {
                    "the rows stay as they are"
                };
                let judgement = judgement(self, why);
                if let Some((patch, plan)) = change {
                    self.edited(patch, *plan);
                }
                self.settle_judgement(judgement, Outcome::Pass);
            }
            Err(why) => {
                let judgement = judgement(self, &why);
                self.settle_judgement(judgement, Outcome::Failed);
            }
        }
    }
}
