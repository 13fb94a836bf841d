//! Generator-critic loops: rounds until the measured figures are good enough. A round that makes things worse is rolled
//! back.

use super::{PolicyResult, PolicyStep, Revision};
use crate::engine::Engine;
use crate::engine::ledger::TaskProgress;
use crate::event::{Event, Policy, PolicyDecision, PolicyOutcome, Status};
use crate::id::TaskIx;
use crate::team::{LoopKind, OnLimit};

/// Differences below this are rounding.
const SAME: f64 = 1e-9;

/// A generator-critic loop and the figures of one of its critics.
struct Round<'a> {
    key: Policy,
    generator: &'a str,
    per: Option<&'a str>,
    max_rounds: u32,
    on_limit: OnLimit,
    brief: Option<&'a str>,
    measured: Vec<(String, String)>,
    met: bool,
    /// The sum over all targets of the share reached, to compare rounds.
    merit: f64,
    /// Why another round would gain next to nothing, if the check knows.
    exhausted: Option<String>,
    figures: String,
}

impl Engine {
    /// The decision of the loop about its critic's figures.
    pub(super) fn round_result(&self, critic: TaskIx) -> Option<PolicyResult> {
        let round = self.measured_round(critic)?;
        let rounds = self.rounds_of(&round.key);
        let best = self.best_of(&round.key).filter(|best| {
            let before = best.score.unwrap_or_default();
            round.merit < before - SAME
        });
        let mut why = round.figures.clone();
        let restore = best.map(|best| {
            why = format!("{why}, worse than before and rolled back");
            (best.attempt, best.measured.clone())
        });
        let step = if round.met {
            PolicyStep::Decide(PolicyOutcome::Pass)
        } else if let Some(exhausted) = &round.exhausted {
            why = format!("{why}, {exhausted}: accepted with a warning");
            PolicyStep::Decide(PolicyOutcome::Accepted)
        } else if rounds < round.max_rounds {
            PolicyStep::Revise(Revision {
                tasks: self.generators_of(critic, &round),
                brief: round.brief.map(|brief| self.path_for(critic, brief)),
            })
        } else {
            let many = round.max_rounds;
            match round.on_limit {
                OnLimit::Accept => {
                    why = format!("{why}; limit of {many} rounds reached: accepted with a warning");
                    PolicyStep::Decide(PolicyOutcome::Accepted)
                }
                OnLimit::Fail => {
                    why = format!("{why} after {many} rounds");
                    PolicyStep::Decide(PolicyOutcome::Failed)
                }
            }
        };
        Some(PolicyResult {
            by: round.key,
            score: Some(round.merit),
            why,
            measured: round.measured,
            restore,
            step,
        })
    }

    /// Rolls back a revision that failed: the result before it stands, and the round counts.
    pub(super) fn recover_failed_revisions(&mut self) {
        let plan = self.ledger.plan();
        let broken = plan.tasks().find_map(|task| {
            let state = self.ledger.task(task);
            let failed = state.progress == TaskProgress::Done && state.result.status != Status::Completed;
            let rework = state.rework.as_ref().filter(|_| failed)?;
            let critic = plan.find(&rework.by)?;
            self.measured_round_of(critic)?;
            Some((
                critic,
                rework.round,
                format!("{} failed: {}", plan.id(task), state.result.error),
            ))
        });
        let Some((critic, round, why)) = broken else {
            return;
        };
        let by = plan.id(critic).to_owned();
        let again = plan.tasks().filter(|&task| {
            let state = self.ledger.task(task);
            let rework = state.rework.as_ref().filter(|_| state.can_roll_back());
            rework.is_some_and(|rework| rework.by == by && rework.round == round)
        });
        let again: Vec<String> = again.map(|task| plan.id(task).to_owned()).collect();
        for task in again {
            let why = why.clone();
            self.record(Event::RolledBack { task, why });
        }
        let Some(mut result) = self.round_result(critic) else {
            return;
        };
        result.why = format!("round {round} was rolled back ({why}), {}", result.why);
        let best = self
            .best_of(&result.by)
            .map(|best| (best.attempt, best.measured.clone()));
        result.restore = best;
        // A loop never asks a person.
        let _ = self.apply_result(critic, result);
    }

    fn best_of(&self, key: &Policy) -> Option<&PolicyDecision> {
        let rounds = self.ledger.decisions.iter().filter(|known| known.by == *key);
        rounds.max_by(|a, b| {
            a.score
                .unwrap_or_default()
                .total_cmp(&b.score.unwrap_or_default())
        })
    }

    fn generators_of(&self, critic: TaskIx, round: &Round<'_>) -> Vec<TaskIx> {
        let plan = self.ledger.plan();
        let mut tasks = self.upstream_with_role(critic, round.generator);
        if let Some(column) = round.per {
            tasks.retain(|&task| plan.cell(task, column) == plan.cell(critic, column));
        }
        tasks
    }

    fn measured_round(&self, critic: TaskIx) -> Option<Round<'_>> {
        let state = self.ledger.task(critic);
        (state.result.status == Status::Completed).then(|| self.measured_round_of(critic))?
    }

    fn measured_round_of(&self, critic: TaskIx) -> Option<Round<'_>> {
        let (team, plan) = (&self.ledger.team, self.ledger.plan());
        let result = &self.ledger.task(critic).result;
        team.loops.iter().find_map(|kind| {
            let LoopKind::GeneratorCritic {
                generator,
                critic: critic_role,
                per,
                min_pass_rate,
                pass_rate_column,
                coverage_column,
                target_column,
                max_rounds,
                on_limit,
                brief,
                ..
            } = kind
            else {
                return None;
            };
            if critic_role != plan.role(critic) {
                return None;
            }
            let number = |column: &str| result.value(column)?.trim().parse::<f64>().ok();
            // The delivered tests decide; the row shows the kept ones.
            let delivered = number(&format!("delivered_{pass_rate_column}"));
            let pass_rate = delivered.or_else(|| number(pass_rate_column)).unwrap_or_default();
            let coverage = coverage_column.as_deref().and_then(number);
            let target = target_column.as_deref();
            let target = target.and_then(|column| plan.cell(critic, column).trim().parse::<f64>().ok());
            // Without a tool that measures coverage, the pass rate alone decides.
            let wanted = coverage.zip(target.filter(|target| *target > 0.0));
            // Only a suite that kills too few mutants has this target.
            let weak = number("kill_rate").zip(number("kill_rate_target"));
            let share = |got: f64, wanted: f64| {
                if wanted > 0.0 {
                    (got / wanted).min(1.0)
                } else {
                    1.0
                }
            };
            let reached =
                |figures: Option<(f64, f64)>| figures.map_or(1.0, |(got, target)| share(got, target));
            let merit = share(pass_rate, *min_pass_rate) + reached(wanted) + reached(weak);
            let met = pass_rate >= *min_pass_rate
                && wanted.is_none_or(|(got, target)| got >= target)
                && weak.is_none();
            let mut figures = match (coverage, target) {
                (Some(got), Some(target)) => {
                    format!("pass rate {pass_rate}, coverage {got} % (target {target} %)")
                }
                (Some(got), None) => format!("pass rate {pass_rate}, coverage {got} %"),
                (None, _) => format!("pass rate {pass_rate}, coverage not measured"),
            };
            if let Some((got, target)) = weak {
                figures.push_str(&format!(", weak tests: kill rate {got} (target {target})"));
            }
            let value = |column: &String| Some((column.clone(), result.value(column)?.to_owned()));
            let columns = [Some(pass_rate_column), coverage_column.as_ref()];
            let line = per
                .as_deref()
                .map_or(plan.id(critic), |column| plan.cell(critic, column));
            Some(Round {
                key: Policy::Loop {
                    line: line.to_owned(),
                },
                generator,
                per: per.as_deref(),
                max_rounds: *max_rounds,
                on_limit: *on_limit,
                brief: brief.as_deref(),
                measured: columns.into_iter().flatten().filter_map(value).collect(),
                met,
                merit,
                exhausted: result.value("exhausted").map(str::to_owned),
                figures,
            })
        })
    }
}
