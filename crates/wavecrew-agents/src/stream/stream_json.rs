//! The `stream-json` of claude and of qwen, which resembles it: the messages of both sides, and a result per turn.

use serde_json::Value;
use wavecrew_core::event::TokenUsage;
use wavecrew_core::time::Timestamp;

use super::failure::{FailKind, Failure};
use super::tools::ToolArguments;
use super::usage::{UsageScope, token_counts};
use super::{AgentEvent, ParserState, items, millis, owned, status, text};

/// Where the two differ.
pub(crate) struct Dialect {
    pub tools: ToolArguments,
    /// The field of `init` with the version of the agent.
    pub version: &'static str,
}

/// The arguments that best describe a call of a tool.
pub(crate) const SUMMARY: [&str; 7] = [
    "command",
    "file_path",
    "notebook_path",
    "pattern",
    "url",
    "query",
    "description",
];

pub(crate) fn read(dialect: &Dialect, value: &Value, state: &mut ParserState) {
    match text(value, "type") {
        "system" => system(dialect, value, state),
        "assistant" => assistant(dialect, value, state),
        "user" => user(value, state),
        "result" => result(value, state),
        "control_request" if value["request"]["subtype"] == "can_use_tool" => {
            let request = &value["request"];
            state.push(AgentEvent::Question {
                id: text(value, "request_id").to_owned(),
                tool: text(request, "tool_name").to_owned(),
                input: request["input"].clone(),
            });
        }
        "rate_limit_event" => rate_limit(&value["rate_limit_info"], state),
        // Partial messages, which follow as a whole, and the answers to our own requests.
        "stream_event" | "control_response" | "control_cancel_request" => {}
        kind => state.unknown(kind),
    }
}

fn system(dialect: &Dialect, value: &Value, state: &mut ParserState) {
    match text(value, "subtype") {
        "init" => state.started(
            text(value, "session_id"),
            owned(&value["model"]),
            owned(&value[dialect.version]),
        ),
        "api_retry" => {
            let failure = Failure::new(status(&value["error_status"]), text(value, "error"));
            state.retrying(failure.after(millis(&value["retry_delay_ms"])));
        }
        "retry" => {
            // qwen announces a wait only after a rate limit; it repeats other requests at once.
            let wait = millis(&value["data"]["delayMs"]);
            let kind = if wait.is_some() {
                FailKind::RateLimited
            } else {
                FailKind::Other
            };
            state.retrying(Failure::of_kind(kind, text(&value["data"], "reason")).after(wait));
        }
        "permission_denied" => state.denied(text(value, "tool_use_id"), text(value, "tool_name")),
        "ui_invalidate" => {}
        kind => state.unknown(&format!("system/{kind}")),
    }
}

/// The state of the account's quota. Most of these events only warn.
fn rate_limit(info: &Value, state: &mut ParserState) {
    if info["status"] == "rejected" {
        let at = info["resetsAt"].as_u64();
        state.resets_at = at.map(|seconds| Timestamp(seconds.saturating_mul(1000)));
    }
}

fn assistant(dialect: &Dialect, value: &Value, state: &mut ParserState) {
    // An error of the service in the form of a message; the result contains it again.
    if value["is_api_error_message"] == true {
        return;
    }
    so_far(&value["message"], state);
    for part in items(&value["message"], "content") {
        match text(part, "type") {
            "text" => state.add_message(text(part, "text")),
            "tool_use" => {
                state.tool_start(
                    &dialect.tools,
                    text(part, "id"),
                    text(part, "name"),
                    &part["input"],
                );
            }
            "thinking" | "redacted_thinking" => {}
            kind => state.unknown(&format!("assistant/{kind}")),
        }
    }
}

/// Every part of a message comes with the usage of the whole message; its output is not complete yet.
fn so_far(message: &Value, state: &mut ParserState) {
    let (id, usage) = (text(message, "id"), &message["usage"]);
    if !usage.is_object() || state.counted == id {
        return;
    }
    id.clone_into(&mut state.counted);
    let count = |key: &str| usage[key].as_u64().unwrap_or(0);
    let (cached, output) = (count("cache_read_input_tokens"), count("output_tokens"));
    // claude counts cached input separately; qwen includes it, and has the sum.
    let input = match usage["total_tokens"].as_u64() {
        Some(total) => total.saturating_sub(output),
        None => count("input_tokens") + count("cache_creation_input_tokens") + cached,
    };
    state.push(AgentEvent::UsedSoFar(TokenUsage {
        input,
        cached,
        output,
        cost: None,
    }));
}

fn user(value: &Value, state: &mut ParserState) {
    for part in items(&value["message"], "content") {
        match text(part, "type") {
            "tool_result" => {
                let ok = part["is_error"] != true;
                let content = &part["content"];
                state.tool_end(text(part, "tool_use_id"), ok, exit_code(content, ok), content);
            }
            "text" => {}
            kind => state.unknown(&format!("user/{kind}")),
        }
    }
}

/// claude starts the result of a failed command with its exit code.
fn exit_code(content: &Value, ok: bool) -> Option<i64> {
    let rest = content.as_str().filter(|_| !ok)?.strip_prefix("Exit code ")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn result(value: &Value, state: &mut ParserState) {
    for denial in items(value, "permission_denials") {
        state.denied(text(denial, "tool_use_id"), text(denial, "tool_name"));
    }
    state.used(UsageScope::Conversation, usage(value));
    let declined = value["stop_reason"] == "refusal";
    // `subtype` is "success" even if the service failed; `is_error` is reliable.
    if value["is_error"] == true || declined {
        let message = message(value);
        let failure = if declined {
            Failure::of_kind(FailKind::Declined, message)
        } else {
            Failure::new(status(&value["api_error_status"]), message)
        };
        let failure = failure.until(state.resets_at.take());
        return state.failed(failure);
    }
    if let Some(answer) = value["result"].as_str() {
        answer.clone_into(&mut state.text);
    }
    state.answered();
}

fn message(value: &Value) -> &str {
    let candidates = [
        &value["result"],
        &value["error"]["message"],
        &value["errors"][0],
        &value["subtype"],
    ];
    candidates
        .into_iter()
        .find_map(Value::as_str)
        .unwrap_or("no reason given")
}

fn usage(value: &Value) -> TokenUsage {
    let cost = value["total_cost_usd"].as_f64();
    // claude: per model and for the whole conversation, like its cost. Its `usage` is for the turn only.
    if let Some(models) = value["modelUsage"]
        .as_object()
        .filter(|models| !models.is_empty())
    {
        let sum = |key: &str| {
            models
                .values()
                .filter_map(|model| model[key].as_u64())
                .sum::<u64>()
        };
        let cached = sum("cacheReadInputTokens");
        return TokenUsage {
            input: sum("inputTokens") + sum("cacheCreationInputTokens") + cached,
            cached,
            output: sum("outputTokens"),
            cost,
        };
    }
    let keys = ["input_tokens", "cache_read_input_tokens", "output_tokens"];
    TokenUsage {
        cost,
        ..token_counts(&value["usage"], keys)
    }
}
