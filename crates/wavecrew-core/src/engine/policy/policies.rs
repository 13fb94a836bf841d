//! Decisions of checkpoints and gates.

use super::{PolicyResult, PolicyStep, Revision};
use crate::engine::Engine;
use crate::event::{Policy, PolicyOutcome, TaskResult};
use crate::id::TaskIx;
use crate::team::{Checkpoint, CheckpointVerdict, Expansion, GateKind};
use crate::view::one_line;
use std::collections::BTreeSet;

impl Engine {
    /// The decision of the team's policies about a result; `None` when no policy applies.
    pub(super) fn policy_result(&self, task: TaskIx) -> Option<PolicyResult> {
        let (team, plan) = (&self.ledger.team, self.ledger.plan());
        let result = &self.ledger.task(task).result;
        if let Some(checkpoint) = team.checkpoint(plan.role(task)) {
            return Some(self.at_checkpoint(task, checkpoint, result));
        }
        if let Some(gate) = team.gates_after(plan.id(task)).next() {
            return Some(self.at_gate(task, gate, result));
        }
        if let Some(result) = self.round_result(task) {
            return Some(result);
        }
        let expands = |expansion: &Expansion| match expansion {
            Expansion::PerPlanTask { after, .. } => after == plan.id(task),
            // Plans that touch the same files are implemented one after the other.
            Expansion::PerIssue {
                chain,
                plan: solution,
                ..
            } => {
                let id = plan.id(task);
                solution.is_some() && id.strip_prefix(chain).is_none_or(|rest| !rest.starts_with('-'))
            }
        };
        team.expansion.iter().any(expands).then(|| {
            let by = Policy::Expansion {
                task: self.task_id(task),
            };
            policy_result(by, None, String::new(), PolicyStep::Expand)
        })
    }

    /// How often work was sent back by this policy.
    pub(super) fn rounds_of(&self, by: &Policy) -> u32 {
        let sent_back = self.ledger.decisions.iter();
        let sent_back = sent_back.filter(|known| known.by == *by && known.outcome == PolicyOutcome::Revise);
        u32::try_from(sent_back.count()).unwrap_or(u32::MAX)
    }

    fn at_checkpoint(&self, task: TaskIx, checkpoint: &Checkpoint, result: &TaskResult) -> PolicyResult {
        let id = self.ledger.plan().id(task);
        let by = Policy::Checkpoint { task: id.to_owned() };
        let score = number(result, "score");
        let verdict = score.map_or(CheckpointVerdict::Block, |score| checkpoint.verdict(score));
        let rounds = self.rounds_of(&by);
        let points = score.unwrap_or_default();
        let (why, step) = match verdict {
            CheckpointVerdict::Pass => (
                format!("passed with {points}"),
                PolicyStep::Decide(PolicyOutcome::Pass),
            ),
            CheckpointVerdict::Warn => (
                format!("passed with a warning, {points}"),
                PolicyStep::Decide(PolicyOutcome::Warn),
            ),
            CheckpointVerdict::Block => {
                let revision = self.revision(task, self.upstream_of(task, result));
                let otherwise = if rounds < checkpoint.unattended_revisions {
                    PolicyStep::Revise(revision.clone())
                } else {
                    PolicyStep::Stop
                };
                let why = format!("blocked with {points}, below {}", checkpoint.warn);
                let offer = Offer {
                    about: format!("{id} {why}{}.", after_rounds(rounds)),
                    revision,
                    revise: "have the work revised",
                    may_revise: rounds < checkpoint.max_revisions,
                };
                (why, offer.ask(result, otherwise))
            }
        };
        policy_result(by, score, why, step)
    }

    fn at_gate(&self, task: TaskIx, gate: &GateKind, result: &TaskResult) -> PolicyResult {
        let id = self.ledger.plan().id(task);
        let by = Policy::Gate {
            name: gate.name().to_owned(),
            task: id.to_owned(),
        };
        let rounds = self.rounds_of(&by);
        match gate {
            GateKind::Score { .. } => self.at_score_gate(task, gate, result, by, rounds),
            GateKind::Verdict {
                pass,
                warn,
                back_to,
                max_revisions,
                ..
            } => {
                let word = result.value("verdict").unwrap_or_default().to_owned();
                let revision = self.revision(task, self.upstream_with_role(task, back_to));
                let step = if pass.contains(&word) {
                    PolicyStep::Decide(PolicyOutcome::Pass)
                } else if warn.contains(&word) {
                    PolicyStep::Decide(PolicyOutcome::Warn)
                } else {
                    let may_revise = rounds < *max_revisions;
                    let otherwise = if may_revise {
                        PolicyStep::Revise(revision.clone())
                    } else {
                        PolicyStep::Stop
                    };
                    let offer = Offer {
                        about: format!("{id} says {word}{}.", after_rounds(rounds)),
                        revision,
                        revise: "have it fixed",
                        may_revise,
                    };
                    offer.ask(result, otherwise)
                };
                policy_result(by, None, format!("says {word}"), step)
            }
            GateKind::Rating { .. } => {
                let score = number(result, "score");
                let why = score.map_or("not rated".to_owned(), |score| format!("rated {score} of 100"));
                policy_result(by, score, why, PolicyStep::Decide(PolicyOutcome::Pass))
            }
            GateKind::Approval { question, .. } => {
                let documents = self.documents_of(task);
                let revision = Revision {
                    tasks: vec![task],
                    brief: documents.first().cloned(),
                };
                let step = PolicyStep::Ask {
                    question: about(&format!("{id} is done."), result, question),
                    documents,
                    revision: Some(revision),
                    yes: PolicyOutcome::Approved,
                    otherwise: Box::new(PolicyStep::Decide(PolicyOutcome::Approved)),
                };
                policy_result(by, None, "approval".to_owned(), step)
            }
        }
    }

    fn at_score_gate(
        &self,
        task: TaskIx,
        gate: &GateKind,
        result: &TaskResult,
        by: Policy,
        rounds: u32,
    ) -> PolicyResult {
        let GateKind::Score {
            pass,
            revise,
            back_to,
            max_revisions,
            approval_in,
            ..
        } = gate
        else {
            unreachable!("called for gates with a score");
        };
        let id = self.ledger.plan().id(task);
        let score = number(result, "score").unwrap_or_default();
        let revision = self.revision(task, self.upstream_with_role(task, back_to));
        let may_revise = rounds < *max_revisions;
        let approval = self
            .options
            .pipeline
            .as_ref()
            .is_some_and(|p| approval_in.contains(p));
        let after = after_rounds(rounds);
        let (why, step) = if score >= *pass && approval {
            let why = format!("scored {score} of 100");
            let question = "Approve, so that the next phase begins?";
            let step = PolicyStep::Ask {
                question: about(&format!("{id} {why}."), result, question),
                documents: revision.brief.iter().cloned().collect(),
                revision: Some(revision),
                yes: PolicyOutcome::Approved,
                otherwise: Box::new(PolicyStep::Decide(PolicyOutcome::Approved)),
            };
            (why, step)
        } else if score >= *pass {
            (
                format!("scored {score} of 100"),
                PolicyStep::Decide(PolicyOutcome::Pass),
            )
        } else if score >= *revise {
            let why = format!("scored {score} of 100, below {pass}");
            let offer = Offer {
                about: format!("{id} {why}{after}."),
                revision,
                revise: "have the work revised",
                may_revise,
            };
            (why, offer.ask(result, PolicyStep::Decide(PolicyOutcome::Warn)))
        } else {
            let why = format!("scored {score} of 100, below {revise}{after}");
            let step = if may_revise {
                PolicyStep::Revise(revision)
            } else {
                PolicyStep::Stop
            };
            (why, step)
        };
        policy_result(by, Some(score), why, step)
    }

    fn revision(&self, by: TaskIx, tasks: Vec<TaskIx>) -> Revision {
        Revision {
            tasks,
            brief: self.documents_of(by).into_iter().next(),
        }
    }

    /// The files that a task owes.
    fn documents_of(&self, task: TaskIx) -> Vec<String> {
        let plan = self.ledger.plan();
        let role = self.ledger.team.role(plan.role(task));
        role.into_iter()
            .flat_map(|role| role.owes_for(|column| plan.cell(task, column)))
            .map(|owed| self.path_for(task, &owed.path))
            .collect()
    }

    /// The path that a row's columns make of a template.
    pub(super) fn path_for(&self, task: TaskIx, template: &str) -> String {
        let plan = self.ledger.plan();
        crate::prompt::fill(template, |column| {
            let known = plan.header().iter().any(|name| name == column);
            known.then(|| plan.cell(task, column))
        })
    }

    /// Whose work a checkpoint sends back: the task that it names, else those it depends on.
    fn upstream_of(&self, task: TaskIx, result: &TaskResult) -> Vec<TaskIx> {
        let (plan, team) = (self.ledger.plan(), &self.ledger.team);
        let is_checkpoint = |task: TaskIx| team.checkpoint(plan.role(task)).is_some();
        let named = result.value("revise").and_then(|id| plan.find(id.trim()));
        let seen = plan.context(task).iter().chain(plan.deps(task));
        if let Some(named) =
            named.filter(|named| seen.clone().any(|known| known == named) && !is_checkpoint(*named))
        {
            return vec![named];
        }
        plan.deps(task)
            .iter()
            .copied()
            .filter(|&dep| !is_checkpoint(dep))
            .collect()
    }

    /// The tasks of a role that this one builds on, directly or not.
    pub(super) fn upstream_with_role(&self, task: TaskIx, role: &str) -> Vec<TaskIx> {
        let plan = self.ledger.plan();
        let mut seen = BTreeSet::new();
        let mut open = vec![task];
        while let Some(next) = open.pop() {
            for &dep in plan.deps(next) {
                if seen.insert(dep) {
                    open.push(dep);
                }
            }
        }
        seen.into_iter().filter(|&dep| plan.role(dep) == role).collect()
    }
}

/// The choices for work that is not good enough: continue with it, stop, or, while rounds are left, have it revised.
struct Offer {
    about: String,
    revision: Revision,
    revise: &'static str,
    may_revise: bool,
}

impl Offer {
    /// The facts come first; the question is the last line.
    fn ask(self, result: &TaskResult, otherwise: PolicyStep) -> PolicyStep {
        let documents = self.revision.brief.iter().cloned().collect();
        let revision = self.may_revise.then_some(self.revision);
        let or = match revision {
            Some(_) => format!(", {},", self.revise),
            None => String::new(),
        };
        PolicyStep::Ask {
            question: about(&self.about, result, &format!("Continue anyway{or} or stop here?")),
            documents,
            revision,
            yes: PolicyOutcome::Overridden,
            otherwise: Box::new(otherwise),
        }
    }
}

/// The facts, which are the worker's words, then the question.
fn about(what: &str, result: &TaskResult, question: &str) -> String {
    let findings = one_line(&result.findings);
    let reasons = result.value("reasons").map(one_line).unwrap_or_default();
    let mut lines = vec![what.to_owned()];
    lines.extend((!findings.is_empty()).then_some(findings));
    lines.extend((!reasons.is_empty()).then(|| format!("Reasons: {reasons}")));
    lines.push(question.to_owned());
    lines.join("\n")
}

fn policy_result(by: Policy, score: Option<f64>, why: String, step: PolicyStep) -> PolicyResult {
    PolicyResult {
        by,
        score,
        why,
        measured: Vec::new(),
        restore: None,
        step,
    }
}

fn number(result: &TaskResult, name: &str) -> Option<f64> {
    result.value(name)?.trim().parse().ok()
}

fn after_rounds(rounds: u32) -> String {
    match rounds {
        0 => String::new(),
        1 => " after one revision".to_owned(),
        more => format!(" after {more} revisions"),
    }
}
