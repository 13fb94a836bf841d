//! Gemini. The model and whether to stream stand in the path.

use serde_json::{Value, json};

use super::{Answer, Event, Reply, list, string, usage};
use crate::fake_model::script::{Conversation, Message, Step};

pub(super) fn conversation(path: &str, body: &Value) -> Conversation {
    let mut messages = Vec::new();
    for content in list(body, "contents") {
        let parts = list(content, "parts");
        if content["role"] == "model" {
            if !parts.iter().any(|part| part.get("functionCall").is_some()) {
                messages.push(Message::Answer);
            }
            continue;
        }
        messages.extend(parts.iter().filter_map(|part| {
            if part.get("functionResponse").is_some() {
                Some(Message::ToolResult)
            } else {
                part["text"].as_str().map(|text| Message::User(text.to_owned()))
            }
        }));
    }
    let declared = list(body, "tools")
        .iter()
        .flat_map(|tool| list(tool, "functionDeclarations"));
    let call = path.rsplit('/').next().unwrap_or_default();
    Conversation {
        model: call.split(':').next().unwrap_or_default().to_owned(),
        messages,
        tools: declared.map(|function| string(&function["name"])).collect(),
        open_tools: false,
        stream: call.ends_with(":streamGenerateContent"),
    }
}

pub(super) fn answer(number: u64, reply: &Reply) -> Answer {
    let (parts, reason) = match reply {
        Reply::Refusal => (json!([]), "SAFETY"),
        Reply::Step(Step::Final(text)) => (json!([{ "text": text }]), "STOP"),
        Reply::Step(step) => {
            let (name, args) = step.as_call().expect("a step that is no answer is a call");
            let call = json!({ "id": format!("fc_{number}"), "name": name, "args": args });
            (json!([{ "functionCall": call }]), "STOP")
        }
    };
    let document = json!({
        "candidates": [{ "index": 0, "content": { "role": "model", "parts": parts }, "finishReason": reason }],
        "modelVersion": "fake-1",
        "usageMetadata": {
            "promptTokenCount": usage::INPUT, "cachedContentTokenCount": usage::CACHED,
            "candidatesTokenCount": usage::OUTPUT, "thoughtsTokenCount": usage::REASONING,
            "totalTokenCount": usage::INPUT + usage::OUTPUT + usage::REASONING,
        },
    });
    Answer {
        events: vec![Event::plain(document.clone())],
        document,
        tail: "",
    }
}
