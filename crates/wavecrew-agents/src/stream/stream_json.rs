//! The `stream-json` of claude and of qwen, which is modelled on it: messages of two sides and a result per turn.

use serde_json::Value;
use wavecrew_core::time::Timestamp;

use super::failure::{FailKind, Failure};
use super::tools::ToolArguments;
use super::usage::{Usage, UsageScope};
use super::{AgentEvent, ParserState, items, millis, owned, status, text};

/// Where the two differ.
pub(crate) struct Dialect {
    pub tools: ToolArguments,
    /// The field of `init` with the version of the agent.
    pub version: &'static str,
    /// The field of `result` with an answer in the schema.
    pub structured: &'static str,
}

/// The arguments that say best what a call of a tool does.
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
        "result" => result(dialect, value, state),
        "control_request" if value["request"]["subtype"] == "can_use_tool" => {
            let request = &value["request"];
            state.push(AgentEvent::Question {
                id: text(value, "request_id").to_owned(),
                tool: text(request, "tool_name").to_owned(),
                input: request["input"].clone(),
            });
        }
        "rate_limit_event" => rate_limit(&value["rate_limit_info"], state),
        // Partial messages, which come again whole, and the answers to our own requests.
        "stream_event" | "control_response" | "control_cancel_request" => {}
        kind => state.unknown(kind),
    }
}

fn system(dialect: &Dialect, value: &Value, state: &mut ParserState) {
    match text(value, "subtype") {
        "init" => state.push(AgentEvent::Started {
            conversation: text(value, "session_id").to_owned(),
            model: owned(&value["model"]),
            version: owned(&value[dialect.version]),
        }),
        "api_retry" => {
            let failure = Failure::new(status(&value["error_status"]), text(value, "error"));
            state.retrying(failure.after(millis(&value["retry_delay_ms"])));
        }
        "retry" => {
            // qwen announces a wait only when it was told to slow down; other retries are at once.
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

/// How much of the account is used. Most of these only warn.
fn rate_limit(info: &Value, state: &mut ParserState) {
    if info["status"] == "rejected" {
        let at = info["resetsAt"].as_u64();
        state.resets_at = at.map(|seconds| Timestamp(seconds.saturating_mul(1000)));
    }
}

fn assistant(dialect: &Dialect, value: &Value, state: &mut ParserState) {
    // The service's error, worded as if the agent had said it; the result brings it again.
    if value["is_api_error_message"] == true {
        return;
    }
    so_far(&value["message"], state);
    for part in items(&value["message"], "content") {
        match text(part, "type") {
            "text" => state.says(text(part, "text")),
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

/// Every part of a message comes with the usage of the whole: what went in, and less than came out.
fn so_far(message: &Value, state: &mut ParserState) {
    let (id, usage) = (text(message, "id"), &message["usage"]);
    if !usage.is_object() || state.counted == id {
        return;
    }
    id.clone_into(&mut state.counted);
    let count = |key: &str| usage[key].as_u64().unwrap_or(0);
    let (cached, output) = (count("cache_read_input_tokens"), count("output_tokens"));
    // claude counts apart what came from the cache; qwen does not, and has the sum.
    let input = match usage["total_tokens"].as_u64() {
        Some(total) => total.saturating_sub(output),
        None => count("input_tokens") + count("cache_creation_input_tokens") + cached,
    };
    state.push(AgentEvent::UsedSoFar(Usage {
        scope: UsageScope::SinceLast,
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

fn result(dialect: &Dialect, value: &Value, state: &mut ParserState) {
    for denial in items(value, "permission_denials") {
        state.denied(text(denial, "tool_use_id"), text(denial, "tool_name"));
    }
    state.push(AgentEvent::Usage(usage(value)));
    let declined = value["stop_reason"] == "refusal";
    // `subtype` says "success" for failures of the service too; `is_error` tells the truth.
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
    let structured = value
        .get(dialect.structured)
        .filter(|value| !value.is_null())
        .cloned();
    state.answered(structured);
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

fn usage(value: &Value) -> Usage {
    // claude: per model and for the whole conversation, as its cost is. Its `usage` is of the turn alone.
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
        return Usage {
            scope: UsageScope::Conversation,
            input: sum("inputTokens") + sum("cacheCreationInputTokens") + cached,
            cached,
            output: sum("outputTokens"),
            cost: value["total_cost_usd"].as_f64(),
        };
    }
    let count = |key: &str| value["usage"][key].as_u64().unwrap_or(0);
    Usage {
        scope: UsageScope::Conversation,
        input: count("input_tokens"),
        cached: count("cache_read_input_tokens"),
        output: count("output_tokens"),
        cost: value["total_cost_usd"].as_f64(),
    }
}
