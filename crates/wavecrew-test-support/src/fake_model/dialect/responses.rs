//! OpenAI Responses. A tool in a namespace is scripted as `NAMESPACE::NAME`.

use serde_json::{Value, json};

use super::{Answer, Event, REFUSAL, Reply, list, string, text_of, usage};
use crate::fake_model::script::{Conversation, Message, Step};

pub(super) fn conversation(body: &Value) -> Conversation {
    let mut messages = Vec::new();
    if let Some(text) = body["input"].as_str() {
        messages.push(Message::User(text.to_owned()));
    }
    for item in list(body, "input") {
        match (item["type"].as_str().unwrap_or("message"), item["role"].as_str()) {
            ("message", Some("user")) => messages.push(Message::User(text_of(&item["content"]))),
            ("message", Some("assistant")) => messages.push(Message::Answer),
            (kind, _) if kind.ends_with("_call_output") => messages.push(Message::ToolResult),
            _ => {}
        }
    }
    let mut tools = Vec::new();
    names(list(body, "tools"), "", &mut tools);
    Conversation {
        model: string(&body["model"]),
        // Clients of this dialect defer tools and leave them out of the list; with no list at all there are none.
        open_tools: !tools.is_empty(),
        tools,
        messages,
        stream: body["stream"] == true,
    }
}

fn names(tools: &[Value], namespace: &str, found: &mut Vec<String>) {
    for tool in tools {
        let name = tool["name"]
            .as_str()
            .or_else(|| tool["type"].as_str())
            .unwrap_or_default();
        match tool["tools"].as_array() {
            Some(inner) => names(inner, &format!("{name}::"), found),
            None => found.push(format!("{namespace}{name}")),
        }
    }
}

pub(super) fn answer(model: &str, number: u64, reply: &Reply) -> Answer {
    let item = match reply {
        Reply::Refusal => message(number, &json!({ "type": "refusal", "refusal": REFUSAL })),
        Reply::Step(Step::Final(text)) => message(
            number,
            &json!({ "type": "output_text", "text": text, "annotations": [] }),
        ),
        Reply::Step(Step::Tool { name, arguments }) => {
            let mut item = json!({
                "type": "function_call", "id": format!("fc_{number}"), "call_id": format!("call_{number}"),
                "name": name, "arguments": arguments, "status": "completed",
            });
            if let Some((namespace, name)) = name.rsplit_once("::") {
                item["namespace"] = namespace.into();
                item["name"] = name.into();
            }
            item
        }
        Reply::Step(Step::Custom { name, input }) => json!({
            "type": "custom_tool_call", "id": format!("ct_{number}"), "call_id": format!("call_{number}"),
            "name": name, "input": input, "status": "completed",
        }),
    };
    let started = json!({ "id": format!("resp_{number}"), "object": "response", "created_at": 1,
        "model": model, "status": "in_progress", "output": [] });
    let mut document = started.clone();
    document["status"] = "completed".into();
    document["output"] = json!([item.clone()]);
    document["usage"] = json!({
        "input_tokens": usage::INPUT, "input_tokens_details": { "cached_tokens": usage::CACHED },
        "output_tokens": usage::OUTPUT, "output_tokens_details": { "reasoning_tokens": usage::REASONING },
        "total_tokens": usage::INPUT + usage::OUTPUT,
    });
    let events = vec![
        Event::typed(
            "response.created",
            json!({ "sequence_number": 0, "response": started }),
        ),
        Event::typed(
            "response.output_item.added",
            json!({ "sequence_number": 1, "output_index": 0, "item": item.clone() }),
        ),
        Event::typed(
            "response.output_item.done",
            json!({ "sequence_number": 2, "output_index": 0, "item": item }),
        ),
        Event::typed(
            "response.completed",
            json!({ "sequence_number": 3, "response": document.clone() }),
        ),
    ];
    Answer {
        document,
        events,
        tail: "",
    }
}

fn message(number: u64, part: &Value) -> Value {
    json!({ "type": "message", "id": format!("msg_{number}"), "role": "assistant", "status": "completed",
        "content": [part] })
}
