//! Limits on money, tokens and time as people write them.

use crate::units::{read_cost, read_seconds, read_tokens};
use wavecrew_core::budget::Budget;

/// Flags that limit what a run may use.
#[derive(clap::Args, Debug, Clone, Default)]
#[command(next_help_heading = "Limits (`off` removes one)")]
#[expect(clippy::struct_field_names, reason = "they are the names of the flags")]
pub struct BudgetFlags {
    /// Start no task after spending this much, in US dollars, over all runs of the session
    #[arg(long, value_name = "USD", value_parser = cost)]
    pub max_cost: Option<Cap<f64>>,
    /// Start no task after using this many tokens (`500k`, `2M`)
    #[arg(long, value_name = "N", value_parser = tokens, hide_short_help = true)]
    pub max_tokens: Option<Cap<u64>>,
    /// Start no task after this time (`90s`, `30m`, `8h`), not counting breaks between runs
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub max_time: Option<Cap<u64>>,
    /// Give a task no further turn or attempt after it has spent this much
    #[arg(long, value_name = "USD", value_parser = cost, hide_short_help = true)]
    pub max_task_cost: Option<Cap<f64>>,
    /// Give a task no further turn or attempt after it has used this many tokens
    #[arg(long, value_name = "N", value_parser = tokens, hide_short_help = true)]
    pub max_task_tokens: Option<Cap<u64>>,
}

/// A limit, or `off`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Cap<T> {
    Off,
    At(T),
}

impl BudgetFlags {
    /// These limits, and `before` where a flag is missing.
    pub fn over(&self, before: Budget) -> Budget {
        fn one<T: Copy>(flag: Option<Cap<T>>, before: Option<T>) -> Option<T> {
            match flag {
                Some(Cap::At(limit)) => Some(limit),
                Some(Cap::Off) => None,
                None => before,
            }
        }
        Budget {
            cost: one(self.max_cost, before.cost),
            tokens: one(self.max_tokens, before.tokens),
            seconds: one(self.max_time, before.seconds),
            task_cost: one(self.max_task_cost, before.task_cost),
            task_tokens: one(self.max_task_tokens, before.task_tokens),
        }
    }
}

fn cap<T>(text: &str, read: impl Fn(&str) -> Option<T>, form: &str) -> Result<Cap<T>, String> {
    if text == "off" {
        return Ok(Cap::Off);
    }
    read(text)
        .map(Cap::At)
        .ok_or_else(|| format!("write {form}, or `off`"))
}

fn cost(text: &str) -> Result<Cap<f64>, String> {
    cap(text, read_cost, "an amount in dollars such as `5` or `0.50`")
}

fn tokens(text: &str) -> Result<Cap<u64>, String> {
    cap(text, read_tokens, "a number such as `200000`, `500k` or `2M`")
}

fn time(text: &str) -> Result<Cap<u64>, String> {
    cap(text, read_seconds, "a time such as `90s`, `30m` or `1h30m`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_as_people_write_them() {
        assert_eq!(cost("$0.50"), Ok(Cap::At(0.5)));
        assert_eq!(cost("off"), Ok(Cap::Off));
        assert_eq!(tokens("500k"), Ok(Cap::At(500_000)));
        assert_eq!(tokens("2M"), Ok(Cap::At(2_000_000)));
        for (text, seconds) in [("90", 90), ("90s", 90), ("1h30m", 5400), ("1d 2h", 93_600)] {
            assert_eq!(time(text), Ok(Cap::At(seconds)), "{text}");
        }
        for text in ["", "0", "-1", "5x", "1h30", "much", "k", "NaN"] {
            assert!(time(text).is_err(), "{text}");
            assert!(tokens(text).is_err() || text == "1h30", "{text}");
            assert!(cost(text).is_err(), "{text}");
        }
    }

    #[test]
    fn flags_win_over_what_was_before() {
        let before = Budget {
            cost: Some(1.0),
            tokens: Some(7),
            ..Budget::default()
        };
        let flags = BudgetFlags {
            max_cost: Some(Cap::At(2.0)),
            max_tokens: Some(Cap::Off),
            ..BudgetFlags::default()
        };
        let after = flags.over(before);
        assert_eq!((after.cost, after.tokens), (Some(2.0), None));
        assert_eq!(BudgetFlags::default().over(before), before);
    }
}
