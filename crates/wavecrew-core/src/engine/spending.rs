//! Tokens, money and time: usage is recorded when a turn ends, and expected usage is reserved before a worker starts. The
//! arithmetic is in [`crate::budget`].

use super::Engine;
use super::action::Notice;
use super::attempt::failed;
use super::input::{TurnEnd, WorkerId};
use crate::budget::{Budget, BudgetUse, ReachedLimit};
use crate::event::{Event, StopReason, TokenUsage};
use crate::id::TaskIx;

impl Engine {
    /// Records the budget when it is new.
    pub(super) fn note_budget(&mut self) {
        let budget = self.options.budget;
        if budget != self.ledger.budget {
            self.record(Event::Budgeted { budget });
        }
    }

    /// Records what the turn used, with its price.
    pub(super) fn record_usage(&mut self, worker: WorkerId, end: &TurnEnd) {
        let Some(attempt) = self.live.get(&worker).filter(|_| !end.spent.is_nothing()) else {
            return;
        };
        let (ix, number, turn) = (attempt.task, attempt.number, attempt.turn);
        let agent = self.ledger.agent_of(ix, &self.options.agents);
        let model = end.model.as_deref();
        let spent = self.options.prices.with_cost(end.spent, model, agent);
        let name = model.unwrap_or(agent).to_owned();
        let task = self.task_id(ix);
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

    /// Why nothing more may start, and the flags that change it. Not cached, because time passes without inputs.
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
            workers_without_usage: self
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

    /// Why the task may not use more.
    pub(super) fn task_limit_reached(&self, task: TaskIx) -> Option<String> {
        self.options.budget.task_reached(&self.ledger.task(task).spent)
    }

    /// The same, including the usage of the current turn.
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

    /// Fails a task that has used up its budget.
    pub(super) fn give_up(&mut self, task: TaskIx, why: &str) {
        self.record(Event::Finished {
            at: self.now,
            task: self.task_id(task),
            attempt: self.ledger.task(task).attempts,
            stop: StopReason::Budget,
            result: failed(format!("Not tried again: {why}")),
        });
        self.write_interactive_result(task);
    }
}
