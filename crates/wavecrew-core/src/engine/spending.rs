//! Tokens, money and time: what workers used is settled when their turns end, and what another one is going to use is
//! set aside before it starts. The arithmetic is in [`crate::budget`].

use super::Engine;
use super::action::{Action, Notice};
use super::attempt::failed;
use super::input::{TurnEnd, WorkerId};
use crate::budget::{Budget, BudgetUse, ReachedLimit};
use crate::event::{Event, StopReason, TokenUsage};
use crate::id::{ExecMode, TaskIx};

impl Engine {
    /// Puts the limits on record when they are new.
    pub(super) fn note_budget(&mut self) {
        let budget = self.options.budget;
        if budget != self.ledger.budget {
            self.record(Event::Budgeted { budget });
        }
    }

    /// What the turn used, with its price.
    pub(super) fn settle(&mut self, worker: WorkerId, end: &TurnEnd) {
        let Some(attempt) = self.live.get(&worker).filter(|_| !end.spent.is_nothing()) else {
            return;
        };
        let (ix, number, turn) = (attempt.task, attempt.number, attempt.turn);
        let agent = self.ledger.agent_of(ix, &self.options.agents);
        let model = end.model.as_deref();
        let spent = self.options.prices.with_cost(end.spent, model, agent);
        let name = model.unwrap_or(agent).to_owned();
        let task = self.ledger.plan().id(ix).to_owned();
        self.record(Event::Usage {
            task,
            attempt: number,
            turn,
            spent,
        });
        let Budget { cost, task_cost, .. } = self.options.budget;
        let matters = spent.cost.is_none() && (cost.is_some() || task_cost.is_some());
        if matters && self.unpriced.insert(name.clone()) {
            self.notify(Notice::Note(format!(
                "The price of `{name}` is not known: its tokens are counted, its cost is not. Set [prices.\"{name}\"] \
                 in wavecrew.toml."
            )));
        }
    }

    /// Why nothing more may start, and the flags that would change it. Time passes without any input but ticks, so
    /// this is asked each time.
    pub(super) fn limit_reached(&self) -> Option<ReachedLimit> {
        if let Some(why) = self.service_wait_exhausted() {
            return Some(ReachedLimit {
                why,
                go_on: String::new(),
            });
        }
        if self.options.budget.is_empty() {
            return None;
        }
        let reached = self.options.budget.reached(&BudgetUse {
            totals: self.ledger.totals,
            time: self.ledger.time_used(self.now),
            unsettled: self
                .live
                .values()
                .filter(|attempt| attempt.is_unrecorded())
                .count(),
            default: self.options.expected,
        });
        let all = |what: fn(&ReachedLimit) -> &str, between: &str| {
            let parts: Vec<&str> = reached.iter().map(what).collect();
            parts.join(between)
        };
        (!reached.is_empty()).then(|| ReachedLimit {
            why: all(|r| &r.why, "; "),
            go_on: all(|r| &r.go_on, " "),
        })
    }

    /// Why the task may use no more.
    pub(super) fn task_limit_reached(&self, task: TaskIx) -> Option<String> {
        self.options.budget.task_reached(&self.ledger.task(task).spent)
    }

    /// The same with what is used right now.
    pub(super) fn task_would_reach(
        &self,
        task: TaskIx,
        more: TokenUsage,
        model: Option<&str>,
    ) -> Option<String> {
        let agent = self.ledger.agent_of(task, &self.options.agents);
        let mut spent = self.ledger.task(task).spent;
        spent += self.options.prices.with_cost(more, model, agent);
        self.options.budget.task_reached(&spent)
    }

    /// Ends a task that has used what it may without another worker.
    pub(super) fn give_up(&mut self, task: TaskIx, why: &str) {
        let (id, attempt) = (
            self.ledger.plan().id(task).to_owned(),
            self.ledger.task(task).attempts,
        );
        self.record(Event::Finished {
            at: self.now,
            task: id,
            attempt,
            stop: StopReason::Budget,
            result: failed(format!("Not tried again: {why}")),
        });
        if self.ledger.plan().mode(task) == ExecMode::Interactive {
            self.out.push(Action::WriteInteractive { task });
        }
    }
}
