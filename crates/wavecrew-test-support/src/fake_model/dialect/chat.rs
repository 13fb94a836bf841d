//! OpenAI Chat Completions.

use serde_json::{Value, json};

use super::{Answer, Event, REFUSAL, Reply, list, string, text_of, usage};
use crate::fake_model::script::{Conversation, Message, Step};

pub(super) fn conversation(body: &Value) -> Conversation {
    let messages = list(body, "messages")
        .iter()
        .filter_map(|message| match message["role"].as_str() {
            Some("user") => Some(Message::User(text_of(&message["content"]))),
            Some("tool") => Some(Message::ToolResult),
            Some("assistant") if list(message, "tool_calls").is_empty() => Some(Message::Answer),
            _ => None,
        });
    Conversation {
        model: string(&body["model"]),
        messages: messages.collect(),
        tools: list(body, "tools")
            .iter()
            .map(|tool| string(&tool["function"]["name"]))
            .collect(),
        open_tools: false,
        stream: body["stream"] == true,
    }
}

pub(super) fn answer(model: &str, number: u64, reply: &Reply) -> Answer {
    let (message, reason) = match reply {
        Reply::Refusal => (
            json!({ "role": "assistant", "content": null, "refusal": REFUSAL }),
            "content_filter",
        ),
        Reply::Step(Step::Final(text)) => (json!({ "role": "assistant", "content": text }), "stop"),
        Reply::Step(step) => {
            let (name, arguments) = step.as_call().expect("a step that is no answer is a call");
            // Arguments go out as they were scripted: a client must cope with a model's broken JSON.
            let arguments = match step {
                Step::Tool { arguments, .. } => arguments.clone(),
                Step::Custom { .. } | Step::Final(_) => arguments.to_string(),
            };
            let call = json!({ "index": 0, "id": format!("call_{number}"), "type": "function",
                "function": { "name": name, "arguments": arguments } });
            (
                json!({ "role": "assistant", "content": null, "tool_calls": [call] }),
                "tool_calls",
            )
        }
    };
    let usage = json!({
        "prompt_tokens": usage::INPUT, "completion_tokens": usage::OUTPUT,
        "total_tokens": usage::INPUT + usage::OUTPUT,
        "prompt_tokens_details": { "cached_tokens": usage::CACHED },
    });
    let with = |object: &str, choices: Value, usage: Value| {
        json!({ "id": format!("cc_{number}"), "object": object, "created": 1, "model": model,
            "choices": choices, "usage": usage })
    };
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        Event::plain(with("chat.completion.chunk", json!([choice]), Value::Null))
    };
    let events = vec![
        chunk(message.clone(), Value::Null),
        chunk(json!({}), reason.into()),
        Event::plain(with("chat.completion.chunk", json!([]), usage.clone())),
    ];
    let choice = json!({ "index": 0, "message": message, "finish_reason": reason });
    Answer {
        document: with("chat.completion", json!([choice]), usage),
        events,
        tail: "data: [DONE]\n\n",
    }
}
