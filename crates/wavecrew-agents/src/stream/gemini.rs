//! `gemini -o stream-json`: messages arrive in pieces, a result with the run's usage ends it.

use serde_json::Value;

use super::failure::Failure;
use super::tools::Kit;
use super::usage::{Span, Usage};
use super::{AgentEvent, State, owned, text};

const KIT: Kit = Kit {
    telling: &[
        "command",
        "file_path",
        "dir_path",
        "pattern",
        "query",
        "prompt",
        "description",
    ],
    writers: &[("write_file", "file_path"), ("replace", "file_path")],
};

pub(super) fn read(value: &Value, state: &mut State) {
    match text(value, "type") {
        "init" => state.push(AgentEvent::Started {
            conversation: text(value, "session_id").to_owned(),
            model: owned(&value["model"]),
            version: None,
        }),
        "message" if value["role"] == "user" => {}
        "message" => {
            let piece = text(value, "content");
            if value["delta"] != true {
                state.text.clear();
            }
            state.text.push_str(piece);
            state.push(AgentEvent::Text(piece.to_owned()));
        }
        "tool_use" => {
            // What was said before a call is not the answer.
            state.text.clear();
            state.tool_start(
                &KIT,
                text(value, "tool_id"),
                text(value, "tool_name"),
                &value["parameters"],
            );
        }
        "tool_result" => {
            let output = match &value["error"]["message"] {
                Value::Null => &value["output"],
                message => message,
            };
            state.tool_end(text(value, "tool_id"), value["status"] == "success", None, output);
        }
        "error" => {
            let message = text(value, "message");
            state.trouble = Some(message.to_owned());
            state.retrying(Failure::new(None, message));
        }
        "result" => result(value, state),
        kind => state.unknown(kind),
    }
}

fn result(value: &Value, state: &mut State) {
    let count = |key: &str| value["stats"][key].as_u64().unwrap_or(0);
    state.push(AgentEvent::Usage(Usage {
        span: Span::Since,
        input: count("input_tokens"),
        cached: count("cached"),
        output: count("output_tokens"),
        cost: None,
    }));
    if value["status"] == "success" {
        return state.answered(None);
    }
    let message = owned(&value["error"]["message"]).or_else(|| state.trouble.take());
    state.failed(Failure::new(
        None,
        &message.unwrap_or_else(|| "no reason given".to_owned()),
    ));
}
