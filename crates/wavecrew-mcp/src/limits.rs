//! What a call allows all workers together to use, in the words of the tools.

use serde_json::{Value, json};
use wavecrew_core::budget::Budget;

/// The limits of a call; refuses those that allow nothing.
pub(crate) fn budget(cost: Option<f64>, tokens: Option<u64>, seconds: Option<u64>) -> Result<Budget, String> {
    if cost.is_some_and(|cost| !cost.is_finite() || cost <= 0.0) {
        return Err("max_cost must be > 0".to_owned());
    }
    for (name, limit) in [("max_tokens", tokens), ("max_time_seconds", seconds)] {
        if limit == Some(0) {
            return Err(format!("{name} must be >= 1"));
        }
    }
    Ok(Budget {
        cost,
        tokens,
        seconds,
        ..Budget::default()
    })
}

/// The same limits as flags of the command line.
pub(crate) fn flags(budget: &Budget) -> Vec<String> {
    let cost = budget.cost.map(|cost| format!("--max-cost={cost}"));
    let tokens = budget.tokens.map(|tokens| format!("--max-tokens={tokens}"));
    let seconds = budget.seconds.map(|seconds| format!("--max-time={seconds}s"));
    [cost, tokens, seconds].into_iter().flatten().collect()
}

/// The arguments that stand for flags which make room: `--max-cost 2.00` is ` and max_cost 2.00`.
pub(crate) fn arguments(flags: &str) -> String {
    let words: Vec<&str> = flags.split_whitespace().collect();
    let argument = |pair: &[&str]| match *pair {
        ["--max-cost", cost] => format!(" and max_cost {cost}"),
        ["--max-tokens", tokens] => format!(" and max_tokens {tokens}"),
        ["--max-time", time] => format!(" and max_time_seconds {}", time.trim_end_matches('s')),
        _ => String::new(),
    };
    words.chunks(2).map(argument).collect()
}

/// How the tools describe them.
pub(crate) fn properties() -> [(&'static str, Value); 3] {
    let about = |what: &str, kind: &str, bound: &str, least: u32| {
        let description =
            format!("{what}; then nothing more starts, what runs may finish, and a higher limit goes on");
        json!({"type": kind, bound: least, "description": description})
    };
    [
        (
            "max_cost",
            about(
                "US dollars that all workers together may use",
                "number",
                "exclusiveMinimum",
                0,
            ),
        ),
        (
            "max_tokens",
            about(
                "tokens that all workers together may use",
                "integer",
                "minimum",
                1,
            ),
        ),
        (
            "max_time_seconds",
            about("time for the whole of it", "integer", "minimum", 1),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_the_same_in_all_words() {
        let limits = budget(Some(0.5), Some(7), Some(60)).unwrap();
        assert_eq!(
            flags(&limits),
            ["--max-cost=0.5", "--max-tokens=7", "--max-time=60s"]
        );
        assert_eq!(
            arguments("--max-cost 2.00 --max-time 61s"),
            " and max_cost 2.00 and max_time_seconds 61"
        );
        assert_eq!(arguments(""), "");
        for (cost, tokens, seconds) in [
            (Some(0.0), None, None),
            (Some(f64::NAN), None, None),
            (None, Some(0), None),
            (None, None, Some(0)),
        ] {
            assert!(budget(cost, tokens, seconds).is_err());
        }
    }
}
