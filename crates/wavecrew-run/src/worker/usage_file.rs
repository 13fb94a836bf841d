//! `$WAVECREW_USAGE_FILE`: a program that is not a known agent can write the token usage and stop reason of its turn there.
//! Missing fields stay unknown; anything that is not such an object is ignored.

use serde::Deserialize;
use std::time::Duration;
use wavecrew_core::engine::TurnEnd;
use wavecrew_core::engine::TurnExit;
use wavecrew_core::event::{StopReason, TokenUsage};

#[derive(Deserialize, Default)]
#[serde(default)]
struct UsageFile {
    #[serde(flatten)]
    spent: Tokens,
    model: Option<String>,
    stop: Option<Stop>,
    retry_after: Option<f64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Tokens {
    input: u64,
    cached: u64,
    output: u64,
    cost: Option<f64>,
}

/// The limit that its model service reported.
#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Stop {
    RateLimited,
    Quota,
}

/// Adds the values of the file to the end of the turn.
pub(super) fn complete(end: &mut TurnEnd, text: &str) {
    let Ok(file) = serde_json::from_str::<UsageFile>(text) else {
        return;
    };
    let Tokens {
        input,
        cached,
        output,
        cost,
    } = file.spent;
    end.spent = TokenUsage {
        // Cached input is part of the input, however the program counts.
        input: input.max(cached),
        cached,
        output,
        cost: cost.filter(|cost| cost.is_finite() && *cost >= 0.0),
    };
    end.model = file.model;
    let wait = file.retry_after.map(Duration::try_from_secs_f64);
    end.retry_after = wait.and_then(Result::ok);
    // A report counts even if a limit was hit before.
    if end.reports.is_empty() {
        match file.stop {
            Some(Stop::RateLimited) => end.exit = TurnExit::Reason(StopReason::RateLimited),
            Some(Stop::Quota) => end.exit = TurnExit::Reason(StopReason::Quota),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(text: &str, reports: &[&str]) -> TurnEnd {
        let mut end = TurnEnd {
            exit: TurnExit::Code(1),
            reports: reports.iter().map(ToString::to_string).collect(),
            last_output: String::new(),
            spent: TokenUsage::default(),
            model: None,
            retry_after: None,
        };
        complete(&mut end, text);
        end
    }

    #[test]
    fn values_of_the_file_are_added() {
        let end = completed(
            r#"{"input":100,"cached":40,"output":7,"cost":0.25,"model":"m","stop":"rate_limited","retry_after":1.5}"#,
            &[],
        );
        assert_eq!(end.exit, TurnExit::Reason(StopReason::RateLimited));
        assert_eq!(end.retry_after, Some(Duration::from_millis(1500)));
        assert_eq!((end.spent.tokens(), end.spent.cost), (107, Some(0.25)));
        assert_eq!(end.model.as_deref(), Some("m"));
        assert_eq!(
            completed(r#"{"stop":"quota"}"#, &["{}"]).exit,
            TurnExit::Code(1),
            "it reported"
        );
    }

    #[test]
    fn an_invalid_file_is_ignored() {
        for text in ["", "no", "[1]", r#"{"input":-1}"#, r#"{"stop":"tired"}"#] {
            let end = completed(text, &[]);
            assert_eq!(
                (end.exit, end.spent),
                (TurnExit::Code(1), TokenUsage::default()),
                "{text}"
            );
        }
        let end = completed(r#"{"output":1,"cost":-3,"retry_after":-1,"more":[]}"#, &[]);
        assert_eq!(
            (end.spent.output, end.spent.cost, end.retry_after),
            (1, None, None)
        );
    }
}
