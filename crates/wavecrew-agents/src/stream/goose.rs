//! `goose run --output-format stream-json`: messages of two sides and a last line with the usage.

use serde_json::Value;

use super::failure::Failure;
use super::tools::Kit;
use super::usage::{Span, Usage};
use super::{AgentEvent, State, items, text};

const KIT: Kit = Kit {
    telling: &["command", "path", "query"],
    writers: &[("write", "path"), ("edit", "path")],
};

pub(super) fn read(value: &Value, state: &mut State) {
    match text(value, "type") {
        "message" => items(&value["message"], "content")
            .iter()
            .for_each(|part| content(part, state)),
        "complete" => {
            let count = |key: &str| value[key].as_u64().unwrap_or(0);
            state.push(AgentEvent::Usage(Usage {
                span: Span::Conversation,
                input: count("input_tokens"),
                cached: count("cache_read_input_tokens"),
                output: count("output_tokens"),
                cost: None,
            }));
            state.answered(None);
        }
        "error" => state.failed(Failure::new(None, text(value, "error"))),
        kind => state.unknown(kind),
    }
}

fn content(part: &Value, state: &mut State) {
    let id = text(part, "id");
    match text(part, "type") {
        "text" => state.says(text(part, "text")),
        "toolRequest" => {
            let call = &part["toolCall"]["value"];
            state.tool_start(&KIT, id, text(call, "name"), &call["arguments"]);
        }
        "toolResponse" => {
            let result = &part["toolResult"];
            state.tool_end(
                id,
                result["status"] == "success" && result["value"]["isError"] != true,
                None,
                &result["value"]["content"],
            );
        }
        "thinking" => {}
        kind => state.unknown(kind),
    }
}
