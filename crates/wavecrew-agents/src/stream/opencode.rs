//! `opencode run --format json`: steps, each with its parts and usage. A tool call is told when it is over.

use std::time::Duration;

use serde_json::Value;

use super::failure::{FailKind, Failure};
use super::tools::Kit;
use super::usage::{Span, Usage};
use super::{AgentEvent, State, status, text};

const KIT: Kit = Kit {
    telling: &[
        "command",
        "filePath",
        "path",
        "pattern",
        "query",
        "url",
        "description",
    ],
    writers: &[("write", "filePath"), ("edit", "filePath")],
};

pub(super) fn read(value: &Value, state: &mut State) {
    let session = text(value, "sessionID");
    if !session.is_empty() && state.conversation.as_deref() != Some(session) {
        state.conversation = Some(session.to_owned());
        state.push(AgentEvent::Started {
            conversation: session.to_owned(),
            model: None,
            version: None,
        });
    }
    let part = &value["part"];
    match text(value, "type") {
        "step_start" | "reasoning" => {}
        "text" => state.says(text(part, "text")),
        "tool_use" => {
            let (id, done) = (text(part, "callID"), &part["state"]);
            state.tool_start(&KIT, id, text(part, "tool"), &done["input"]);
            let code = done["metadata"]["exit"].as_i64();
            let ok = done["status"] == "completed" && code.unwrap_or(0) == 0;
            let output = if done["error"].is_null() {
                &done["output"]
            } else {
                &done["error"]
            };
            state.tool_end(id, ok, code, output);
            if text(done, "error").contains("rule which prevents you") {
                state.denied(id, text(part, "tool"));
            }
        }
        "step_finish" => step_finish(part, state),
        "error" => state.failed(failure(&value["error"])),
        kind => state.unknown(kind),
    }
}

/// What its service or it itself failed with.
fn failure(error: &Value) -> Failure {
    let data = &error["data"];
    let message = data["message"].as_str().unwrap_or_else(|| text(error, "name"));
    let wait = data["responseHeaders"]["retry-after"]
        .as_str()
        .and_then(|s| s.parse().ok());
    let failure = Failure::new(status(&data["statusCode"]), message);
    failure.after(wait.map(Duration::from_secs))
}

/// What one request used.
fn step_usage(part: &Value) -> Usage {
    let tokens = &part["tokens"];
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    let cached = count(&tokens["cache"]["read"]);
    Usage {
        span: Span::Since,
        input: count(&tokens["input"]) + count(&tokens["cache"]["write"]) + cached,
        cached,
        output: count(&tokens["output"]) + count(&tokens["reasoning"]),
        // Models without a price cost 0 here, which is not the same as free.
        cost: part["cost"].as_f64().filter(|cost| *cost > 0.0),
    }
}

fn step_finish(part: &Value, state: &mut State) {
    state.push(AgentEvent::Usage(step_usage(part)));
    match text(part, "reason") {
        "tool-calls" => {}
        "stop" => state.answered(None),
        "content-filter" => state.failed(Failure::of_kind(
            FailKind::Declined,
            "the model declined to answer",
        )),
        "length" => state.failed(Failure::of_kind(
            FailKind::OwnLimit,
            "the answer reached the model's output limit",
        )),
        // Seen when the answer breaks off: the step ends, without a reason to go on or to stop.
        reason => state.failed(Failure::of_kind(
            FailKind::Cut,
            &format!("the step ended with reason `{reason}`"),
        )),
    }
}
