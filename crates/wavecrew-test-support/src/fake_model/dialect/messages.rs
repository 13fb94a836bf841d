//! Anthropic Messages.

use serde_json::{Value, json};

use super::{Answer, Event, REFUSAL, Reply, list, string, usage};
use crate::fake_model::script::{Conversation, Message, Step};

pub(super) fn conversation(body: &Value) -> Conversation {
    let mut messages = Vec::new();
    for message in list(body, "messages") {
        let parts = list(message, "content");
        match (message["role"].as_str(), message["content"].as_str()) {
            (Some("user"), Some(text)) => messages.push(Message::User(text.to_owned())),
            (Some("user"), None) => {
                messages.extend(parts.iter().filter_map(|part| match part["type"].as_str() {
                    Some("tool_result") => Some(Message::ToolResult),
                    Some("text") => Some(Message::User(string(&part["text"]))),
                    _ => None,
                }));
            }
            (Some("assistant"), _) if !parts.iter().any(|part| part["type"] == "tool_use") => {
                messages.push(Message::Answer);
            }
            // Clients insert messages about the environment between the two sides.
            _ => {}
        }
    }
    Conversation {
        model: string(&body["model"]),
        messages,
        tools: list(body, "tools")
            .iter()
            .map(|tool| string(&tool["name"]))
            .collect(),
        open_tools: false,
        stream: body["stream"] == true,
    }
}

pub(super) fn answer(model: &str, number: u64, reply: &Reply) -> Answer {
    let (block, empty, delta, reason) = match reply {
        Reply::Refusal => text(REFUSAL, "refusal"),
        Reply::Step(Step::Final(answer)) => text(answer, "end_turn"),
        Reply::Step(step) => {
            let (name, input) = step.as_call().expect("a step that is no answer is a call");
            let block = |input: &Value| json!({ "type": "tool_use", "id": format!("toolu_{number:04}"), "name": name, "input": input });
            let delta = json!({ "type": "input_json_delta", "partial_json": input.to_string() });
            (block(&input), block(&json!({})), delta, "tool_use")
        }
    };
    let usage = json!({ "input_tokens": usage::INPUT - usage::CACHED, "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage::CACHED, "output_tokens": usage::OUTPUT });
    let mut started = json!({ "id": format!("msg_{number:04}"), "type": "message", "role": "assistant",
        "model": model, "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage.clone() });
    let mut document = started.clone();
    document["content"] = json!([block]);
    document["stop_reason"] = reason.into();
    started["usage"]["output_tokens"] = 1.into();
    let events = vec![
        Event::typed("message_start", json!({ "message": started })),
        Event::typed(
            "content_block_start",
            json!({ "index": 0, "content_block": empty }),
        ),
        Event::typed("content_block_delta", json!({ "index": 0, "delta": delta })),
        Event::typed("content_block_stop", json!({ "index": 0 })),
        Event::typed(
            "message_delta",
            json!({ "delta": { "stop_reason": reason, "stop_sequence": null }, "usage": usage }),
        ),
        Event::typed("message_stop", json!({})),
    ];
    Answer {
        document,
        events,
        tail: "",
    }
}

/// The whole block, the block a stream starts with, what is added to it, and why the message ends.
fn text(text: &str, reason: &'static str) -> (Value, Value, Value, &'static str) {
    let block = |text: &str| json!({ "type": "text", "text": text });
    (
        block(text),
        block(""),
        json!({ "type": "text_delta", "text": text }),
        reason,
    )
}
