//! The settings about money and services: `[budget]`, `[prices]` and `[pools]`.

use super::Reader;
use crate::units::read_seconds;
use std::collections::BTreeMap;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use wavecrew_core::budget::{Budget, ExpectedUsage, Price, Prices};

/// Dollars per million tokens as the services listed them in May 2026: input, cached input, output. By the beginning
/// of the model's name, the longest that fits.
const LISTED: [(&str, f64, f64, f64); 13] = [
    ("claude-haiku-4-5", 1.0, 0.1, 5.0),
    ("claude-opus-4-", 5.0, 0.5, 25.0),
    ("claude-opus-4-1", 15.0, 1.5, 75.0),
    ("claude-sonnet-4", 3.0, 0.3, 15.0),
    ("gemini-2.5-flash", 0.3, 0.03, 2.5),
    ("gemini-2.5-pro", 1.25, 0.125, 10.0),
    ("gpt-5-codex", 1.25, 0.125, 10.0),
    ("gpt-5.1", 1.25, 0.125, 10.0),
    ("gpt-5.2", 1.75, 0.175, 14.0),
    ("gpt-5.3-codex", 1.75, 0.175, 14.0),
    ("gpt-5.4", 2.5, 0.25, 15.0),
    ("gpt-5.4-mini", 0.75, 0.075, 4.5),
    ("gpt-5.5", 5.0, 0.5, 30.0),
];

/// The file's settings for spending; missing ones are `None`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Spending {
    pub budget: Budget,
    pub expected: ExpectedUsage,
    /// The user's own prices, which override the built-in ones.
    prices: BTreeMap<String, Price>,
}

impl Spending {
    pub fn prices(&self) -> Prices {
        let listed = LISTED.map(|(name, input, cached, output)| {
            let price = Price {
                input,
                output,
                cached,
            };
            (name.to_owned(), price)
        });
        let mut prices = BTreeMap::from(listed);
        prices.extend(self.prices.clone());
        Prices(prices)
    }

    pub(super) fn fill_budget(&mut self, table: &DeTable<'_>, reader: &mut Reader<'_>) {
        const KEYS: [&str; 7] = [
            "max_cost",
            "max_tokens",
            "max_time",
            "max_task_cost",
            "max_task_tokens",
            "attempt_cost",
            "attempt_tokens",
        ];
        for (key, value) in table {
            match &**key.get_ref() {
                "max_cost" => self.budget.cost = reader.amount("max_cost", value),
                "max_tokens" => self.budget.tokens = reader.whole("max_tokens", value),
                "max_time" => self.budget.seconds = reader.time("max_time", value),
                "max_task_cost" => self.budget.task_cost = reader.amount("max_task_cost", value),
                "max_task_tokens" => self.budget.task_tokens = reader.whole("max_task_tokens", value),
                "attempt_cost" => {
                    self.expected.cost = reader.amount("attempt_cost", value).unwrap_or_default();
                }
                "attempt_tokens" => {
                    self.expected.tokens = reader.whole("attempt_tokens", value).unwrap_or_default();
                }
                unknown => reader.unknown(key, unknown, " in [budget]", &KEYS),
            }
        }
    }

    pub(super) fn fill_prices(&mut self, table: &DeTable<'_>, reader: &mut Reader<'_>) {
        const KEYS: [&str; 3] = ["input", "output", "cached"];
        for (model, value) in table {
            let name = model.get_ref().to_string();
            let DeValue::Table(fields) = value.get_ref() else {
                let help = format!("write \"{name}\" = {{ input = 1.25, output = 10.0, cached = 0.125 }}");
                reader.problem(
                    value.span(),
                    format!("the price of `{name}` must be a table"),
                    Some(help),
                );
                continue;
            };
            let mut found = [None, None, None];
            for (key, value) in fields {
                match KEYS.iter().position(|known| *known == key.get_ref()) {
                    Some(at) => found[at] = reader.amount(KEYS[at], value),
                    None => reader.unknown(key, key.get_ref(), " in a price", &KEYS),
                }
            }
            if let [Some(input), Some(output), cached] = found {
                let price = Price {
                    input,
                    output,
                    cached: cached.unwrap_or(input),
                };
                self.prices.insert(name, price);
            } else {
                let message = format!("the price of `{name}` needs `input` and `output`");
                let help = "in dollars per million tokens".to_owned();
                reader.problem(value.span(), message, Some(help));
            }
        }
    }
}

impl Reader<'_> {
    /// An amount of money from 0.
    fn amount(&mut self, name: &str, value: &Spanned<DeValue<'_>>) -> Option<f64> {
        let number = match value.get_ref() {
            DeValue::Integer(digits) => digits.as_str().parse().ok(),
            DeValue::Float(digits) => digits.as_str().parse().ok(),
            _ => None,
        };
        let fits = number.filter(|number: &f64| number.is_finite() && *number >= 0.0);
        if fits.is_none() {
            let message = format!("`{name}` must be a number of dollars");
            self.problem(value.span(), message, Some(format!("write {name} = 1.25")));
        }
        fits
    }

    /// A whole number from 1, however large.
    fn whole(&mut self, name: &str, value: &Spanned<DeValue<'_>>) -> Option<u64> {
        let number = match value.get_ref() {
            DeValue::Integer(digits) => u64::from_str_radix(digits.as_str(), digits.radix()).ok(),
            _ => None,
        };
        let fits = number.filter(|number| *number > 0);
        if fits.is_none() {
            self.problem(
                value.span(),
                format!("`{name}` must be a whole number from 1"),
                None,
            );
        }
        fits
    }

    /// `"8h"`, or seconds.
    fn time(&mut self, name: &str, value: &Spanned<DeValue<'_>>) -> Option<u64> {
        let seconds = match value.get_ref() {
            DeValue::String(text) => read_seconds(text),
            DeValue::Integer(digits) => read_seconds(digits.as_str()),
            _ => None,
        };
        if seconds.is_none() {
            let help = format!("write {name} = \"30m\" or {name} = \"8h\"");
            self.problem(
                value.span(),
                format!("`{name}` must be a length of time"),
                Some(help),
            );
        }
        seconds
    }

    /// Names of pools by agent; they become file names.
    pub(super) fn pools(&mut self, value: &Spanned<DeValue<'_>>) -> BTreeMap<String, String> {
        let pools = self.texts("pools", value);
        let plain = |name: &str| {
            name.chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        };
        for name in pools.values() {
            if !plain(name) || name.starts_with('.') || name.len() > 100 {
                let message = format!("`{name}` cannot be the name of a pool");
                let help = "use letters, digits, `-`, `_` and `.`".to_owned();
                self.problem(value.span(), message, Some(help));
            }
        }
        pools
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Config, FILE};

    #[test]
    fn prices_of_the_user_go_first_and_the_cache_costs_what_input_does() {
        let text =
            "[prices]\n\"gpt-5.2\" = { input = 2, output = 3.5 }\n[prices.mine]\ninput = 0\noutput = 0\n";
        let prices = Config::parse(FILE, text).expect("valid").spending.prices().0;
        assert_eq!(prices["gpt-5.2"].cached.to_bits(), 2f64.to_bits());
        assert!(prices.contains_key("mine") && prices.contains_key("claude-sonnet-4"));
    }

    #[test]
    fn what_cannot_be_meant_is_named() {
        let text = "[budget]\nmax_cost = -1\nmax_time = \"long\"\nmax_token = 5\n[pools]\ncodex = \"a/b\"\n\
                    [prices]\na = { input = 1 }\nb = 3\n";
        let problems = Config::parse(FILE, text).unwrap_err();
        let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "wavecrew.toml:2: `max_cost` must be a number of dollars",
                "wavecrew.toml:3: `max_time` must be a length of time",
                "wavecrew.toml:4: unknown setting `max_token` in [budget]",
                "wavecrew.toml:5: `a/b` cannot be the name of a pool",
                "wavecrew.toml:8: the price of `a` needs `input` and `output`",
                "wavecrew.toml:9: the price of `b` must be a table",
            ]
        );
    }
}
