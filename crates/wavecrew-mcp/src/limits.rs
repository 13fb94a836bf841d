//! Limits of a call for all workers together.

use schemars::{Schema, SchemaGenerator, json_schema};
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

/// The schema of the argument `max_cost`.
pub(crate) fn max_cost(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "number", "exclusiveMinimum": 0, "description": about("Limit in US dollars for all workers together")})
}

/// The schema of the argument `max_tokens`.
pub(crate) fn max_tokens(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "integer", "minimum": 1, "description": about("Limit in tokens for all workers together")})
}

/// The schema of the argument `max_time_seconds`.
pub(crate) fn max_time_seconds(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "integer", "minimum": 1, "description": about("Time limit of the whole run, in seconds")})
}

fn about(limit: &str) -> String {
    format!(
        "{limit}. At the limit no further worker starts, and running workers finish. A call with a higher limit continues."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_flags_and_budget_agree() {
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
