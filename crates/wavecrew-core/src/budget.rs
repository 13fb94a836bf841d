//! Budgets: limits, prices, and whether one more worker fits. Pure: usage comes in as arguments.

use crate::event::TokenUsage;
use crate::time::human;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// Limits that a person set.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Budget {
    /// For the whole session, in US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// For the whole session: input, cached or not, and output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// For all runs of the session, without the breaks between them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_cost: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_tokens: Option<u64>,
}

/// The expected usage of an attempt, until one has ended.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct ExpectedUsage {
    pub cost: f64,
    pub tokens: u64,
}

/// What a session used.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Totals {
    pub spent: TokenUsage,
    /// Tokens without a known price.
    pub unpriced: u64,
    /// Attempts with known usage.
    pub attempts: u32,
}

impl Totals {
    pub fn add(&mut self, spent: &TokenUsage) {
        self.spent += *spent;
        if spent.cost.is_none() {
            self.unpriced += spent.tokens();
        }
    }

    /// The expected usage of another attempt: the mean of those before it.
    fn expected(&self, default: ExpectedUsage) -> ExpectedUsage {
        match self.attempts {
            0 => default,
            attempts => ExpectedUsage {
                cost: self.spent.cost.unwrap_or(0.0) / f64::from(attempts),
                tokens: self.spent.tokens() / u64::from(attempts),
            },
        }
    }
}

/// A limit that leaves no room for another worker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReachedLimit {
    pub why: String,
    /// The flag that raises the limit.
    pub go_on: String,
}

/// What limits are compared with.
#[derive(Clone, Copy, Debug)]
pub struct BudgetUse {
    pub totals: Totals,
    pub time: Duration,
    /// Running workers whose usage is not known yet.
    pub workers_without_usage: usize,
    pub default: ExpectedUsage,
}

impl Budget {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// These limits, completed with those of `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            cost: self.cost.or(other.cost),
            tokens: self.tokens.or(other.tokens),
            seconds: self.seconds.or(other.seconds),
            task_cost: self.task_cost.or(other.task_cost),
            task_tokens: self.task_tokens.or(other.task_tokens),
        }
    }

    /// The limits that leave no room for one more worker.
    pub fn reached(&self, used: &BudgetUse) -> Vec<ReachedLimit> {
        let expected = used.totals.expected(used.default);
        let workers = used.workers_without_usage + 1;
        let mut all = Vec::new();
        if let Some(most) = self.cost {
            let spent = used.totals.spent.cost.unwrap_or(0.0);
            let workers = u32::try_from(workers).map_or(f64::MAX, f64::from);
            let need = spent + expected.cost * workers;
            // Tolerates rounding.
            if spent >= most || need > most * (1.0 + 1e-9) {
                let next = more(spent < most, || dollars(expected.cost));
                all.push(ReachedLimit {
                    why: format!("{} of {} is used{next}", dollars(spent), dollars(most)),
                    go_on: format!("--max-cost {:.2}", (2.0 * most).max(need).max(0.01)),
                });
            }
        }
        if let Some(most) = self.tokens {
            let spent = used.totals.spent.tokens();
            let need = spent.saturating_add(expected.tokens.saturating_mul(workers as u64));
            if spent >= most || need > most {
                let next = more(spent < most, || format!("{} tokens", grouped(expected.tokens)));
                all.push(ReachedLimit {
                    why: format!("{} of {} tokens are used{next}", grouped(spent), grouped(most)),
                    go_on: format!("--max-tokens {}", most.saturating_mul(2).max(need)),
                });
            }
        }
        if let Some(most) = self.seconds
            && used.time.as_secs() >= most
        {
            let limit = Duration::from_secs(most);
            all.push(ReachedLimit {
                why: format!("the time of {} is over", human(limit)),
                go_on: format!(
                    "--max-time {}s",
                    most.saturating_mul(2).max(used.time.as_secs() + 1)
                ),
            });
        }
        all
    }

    /// Why a task may not use more.
    pub fn task_reached(&self, spent: &TokenUsage) -> Option<String> {
        if let (Some(most), Some(cost)) = (self.task_cost, spent.cost)
            && cost >= most
        {
            return Some(format!(
                "it used {} of {} (--max-task-cost)",
                dollars(cost),
                dollars(most)
            ));
        }
        let most = self.task_tokens.filter(|most| spent.tokens() >= *most)?;
        Some(format!(
            "it used {} of {} tokens (--max-task-tokens)",
            grouped(spent.tokens()),
            grouped(most)
        ))
    }
}

fn more(room: bool, what: impl FnOnce() -> String) -> String {
    if room {
        format!(", and another worker needs about {}", what())
    } else {
        String::new()
    }
}

/// Dollars per million tokens.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    /// For cached input.
    pub cached: f64,
}

impl Price {
    fn of(&self, spent: &TokenUsage) -> f64 {
        let part = |tokens: u64, price: f64| {
            #[expect(clippy::cast_precision_loss, reason = "tokens of a session fit by far")]
            let tokens = tokens as f64;
            tokens * price / 1e6
        };
        part(spent.input.saturating_sub(spent.cached), self.input)
            + part(spent.cached, self.cached)
            + part(spent.output, self.output)
    }
}

/// Prices by prefix of the model's name; the longest prefix wins.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Prices(pub BTreeMap<String, Price>);

impl Prices {
    /// Adds the cost: as reported, else by the price of the model, else by that of the agent.
    #[must_use]
    pub fn with_cost(&self, spent: TokenUsage, model: Option<&str>, agent: &str) -> TokenUsage {
        // Agents that know no price report 0, which does not mean free.
        if spent.cost.is_some_and(|cost| cost > 0.0) || spent.tokens() == 0 {
            return spent;
        }
        let price = model
            .and_then(|model| self.find(model))
            .or_else(|| self.0.get(agent));
        TokenUsage {
            cost: price.map(|price| price.of(&spent)),
            ..spent
        }
    }

    fn find(&self, model: &str) -> Option<&Price> {
        // `openai/gpt-5` and `models/gemini-2.5-pro` are names of the same models.
        let bare = model.rsplit('/').next().unwrap_or(model);
        let fits = |name: &str| model.starts_with(name) || bare.starts_with(name);
        let fitting = self.0.iter().filter(|(name, _)| fits(name));
        fitting.max_by_key(|(name, _)| name.len()).map(|(_, price)| price)
    }
}

/// `$0.42`, and more digits for what is less than a cent.
pub fn dollars(amount: f64) -> String {
    if amount > 0.0 && amount < 0.01 {
        format!("${amount:.4}")
    } else {
        format!("${amount:.2}")
    }
}

/// `1,234,567`
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(input: u64, cached: u64, output: u64, cost: Option<f64>) -> TokenUsage {
        TokenUsage {
            input,
            cached,
            output,
            cost,
        }
    }

    fn used(cost: f64, tokens: u64, attempts: u32, workers_without_usage: usize) -> BudgetUse {
        let mut totals = Totals::default();
        totals.add(&spent(tokens, 0, 0, Some(cost)));
        totals.attempts = attempts;
        BudgetUse {
            totals,
            time: Duration::from_secs(100),
            workers_without_usage,
            default: ExpectedUsage {
                cost: 0.5,
                tokens: 1000,
            },
        }
    }

    fn reached(budget: Budget, used: &BudgetUse) -> String {
        let reached = budget.reached(used);
        let lines: Vec<String> = reached
            .iter()
            .map(|r| format!("{}: {}", r.why, r.go_on))
            .collect();
        lines.join("; ")
    }

    #[test]
    fn one_more_has_to_fit_beside_those_that_run() {
        let cost = |most| Budget {
            cost: Some(most),
            ..Budget::default()
        };
        assert_eq!(reached(cost(1.0), &used(0.0, 0, 0, 1)), "", "the default, twice");
        let full = "$0.00 of $1.00 is used, and another worker needs about $0.50: --max-cost 2.00";
        assert_eq!(reached(cost(1.0), &used(0.0, 0, 0, 2)), full);
        assert_eq!(reached(cost(1.0), &used(0.8, 10, 4, 0)), "", "0.2 each");
        assert_eq!(
            reached(cost(1.0), &used(0.9, 10, 4, 0)),
            "$0.90 of $1.00 is used, and another worker needs about $0.23: --max-cost 2.00"
        );
        assert_eq!(
            reached(cost(1.0), &used(1.2, 10, 4, 0)),
            "$1.20 of $1.00 is used: --max-cost 2.00"
        );
        let tokens = Budget {
            tokens: Some(1500),
            seconds: Some(100),
            ..Budget::default()
        };
        assert_eq!(
            reached(tokens, &used(0.0, 1200, 2, 0)),
            "1,200 of 1,500 tokens are used, and another worker needs about 600 tokens: --max-tokens 3000; \
             the time of 1m 40s is over: --max-time 200s"
        );
        assert_eq!(reached(Budget::default(), &used(1e9, 1 << 50, 2, 9)), "");
    }

    #[test]
    fn a_task_has_limits_of_its_own() {
        let budget = Budget {
            task_cost: Some(1.0),
            task_tokens: Some(100),
            ..Budget::default()
        };
        assert_eq!(budget.task_reached(&spent(50, 40, 40, Some(0.9))), None);
        let why = budget
            .task_reached(&spent(50, 0, 40, Some(1.0)))
            .expect("reached");
        assert_eq!(why, "it used $1.00 of $1.00 (--max-task-cost)");
        let why = budget.task_reached(&spent(50, 0, 50, None)).expect("reached");
        assert_eq!(why, "it used 100 of 100 tokens (--max-task-tokens)");
    }

    #[test]
    fn what_is_told_wins_over_the_table_and_the_longest_name_over_the_others() {
        let price = |input| Price {
            input,
            output: 10.0,
            cached: 0.1,
        };
        let names = [("gpt-5", 1.0), ("gpt-5-mini", 0.5), ("codex", 2.0)];
        let prices = Prices(names.map(|(name, input)| (name.to_owned(), price(input))).into());
        let cost = |known_cost, model: Option<&str>, agent| {
            let used = spent(2_000_000, 1_000_000, 100_000, known_cost);
            prices.with_cost(used, model, agent).cost
        };
        assert_eq!(cost(Some(0.3), Some("gpt-5"), "codex"), Some(0.3));
        assert_eq!(cost(None, Some("gpt-5-2026"), "x"), Some(1.0 + 0.1 + 1.0));
        assert_eq!(
            cost(Some(0.0), Some("openai/gpt-5-mini"), "x"),
            Some(0.5 + 0.1 + 1.0)
        );
        assert_eq!(cost(None, None, "codex"), Some(2.0 + 0.1 + 1.0));
        assert_eq!(cost(None, Some("other"), "x"), None);
        assert_eq!(cost(Some(0.0), None, "x"), None, "0 is not a price");
    }

    #[test]
    fn amounts_are_written_for_people() {
        assert_eq!(
            [0, 999, 1000, 1_234_567].map(grouped).join(" "),
            "0 999 1,000 1,234,567"
        );
        assert_eq!(
            [0.0, 0.0042, 0.5, 12.0].map(dollars).join(" "),
            "$0.00 $0.0042 $0.50 $12.00"
        );
    }
}
