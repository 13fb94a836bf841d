//! The four ways to ask a model: reading a request, writing a reply. Pure; no failure modes, no HTTP.

mod chat;
mod gemini;
mod messages;
mod responses;

use serde_json::{Value, json};

use crate::fake_model::mode::{Trouble, Words};
use crate::fake_model::script::{Conversation, Step};

/// A protocol, found by the end of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// OpenAI Responses, `POST /v1/responses`.
    Responses,
    /// OpenAI Chat Completions, `POST /v1/chat/completions`.
    Chat,
    /// Anthropic Messages, `POST /v1/messages`.
    Messages,
    /// Gemini, `POST /v1beta/models/MODEL:generateContent` and `:streamGenerateContent`.
    Gemini,
}

/// The model's response to one request.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    Step(Step),
    /// It declines.
    Refusal,
}

/// The words of a refusal.
pub(crate) const REFUSAL: &str = "I will not help with this.";

/// What every reply costs, so that tests can do sums.
pub mod usage {
    pub const INPUT: u64 = 1000;
    /// Part of the input.
    pub const CACHED: u64 = 200;
    pub const OUTPUT: u64 = 50;
    /// Part of the output, where the dialect counts it so.
    pub const REASONING: u64 = 10;
}

/// One server-sent event.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub name: Option<&'static str>,
    pub data: Value,
}

impl Event {
    fn plain(data: Value) -> Self {
        Self { name: None, data }
    }

    /// Named after the `type` in its data.
    fn typed(name: &'static str, mut data: Value) -> Self {
        data["type"] = name.into();
        Self {
            name: Some(name),
            data,
        }
    }
}

/// A whole answer: one document, or the events that amount to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub document: Value,
    pub events: Vec<Event>,
    /// What follows the last event of an unbroken stream.
    pub tail: &'static str,
}

impl Dialect {
    /// By the path behind the mode, such as `v1/messages`.
    pub fn of(path: &str) -> Option<Self> {
        if path.ends_with("/responses") {
            Some(Self::Responses)
        } else if path.ends_with("/chat/completions") {
            Some(Self::Chat)
        } else if path.ends_with("/messages") {
            Some(Self::Messages)
        } else if path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent") {
            Some(Self::Gemini)
        } else {
            None
        }
    }

    pub fn conversation(self, path: &str, body: &Value) -> Conversation {
        match self {
            Self::Responses => responses::conversation(body),
            Self::Chat => chat::conversation(body),
            Self::Messages => messages::conversation(body),
            Self::Gemini => gemini::conversation(path, body),
        }
    }

    /// `number` makes the ids of the reply differ from those of other replies.
    pub fn answer(self, model: &str, number: u64, reply: &Reply) -> Answer {
        match self {
            Self::Responses => responses::answer(model, number, reply),
            Self::Chat => chat::answer(model, number, reply),
            Self::Messages => messages::answer(model, number, reply),
            Self::Gemini => gemini::answer(number, reply),
        }
    }

    /// The body that goes with an HTTP status.
    pub fn error(self, trouble: Trouble) -> Value {
        let status = trouble.status;
        // Without the number in any case.
        let message = match trouble.words {
            Words::Bare => "the service fails as scripted",
            Words::Telling => self.telling(status),
        };
        match self {
            Self::Responses | Self::Chat => {
                let kind = match status {
                    401 | 403 => "authentication_error",
                    429 => "rate_limit_exceeded",
                    400..500 => "invalid_request_error",
                    _ => "server_error",
                };
                json!({ "error": { "message": message, "type": kind, "code": kind, "param": null } })
            }
            Self::Messages => {
                let kind = match status {
                    401 => "authentication_error",
                    403 => "permission_error",
                    429 => "rate_limit_error",
                    529 => "overloaded_error",
                    400..500 => "invalid_request_error",
                    _ => "api_error",
                };
                json!({ "type": "error", "error": { "type": kind, "message": message } })
            }
            Self::Gemini => {
                let name = match status {
                    401 => "UNAUTHENTICATED",
                    403 => "PERMISSION_DENIED",
                    429 => "RESOURCE_EXHAUSTED",
                    503 => "UNAVAILABLE",
                    400..500 => "INVALID_ARGUMENT",
                    _ => "INTERNAL",
                };
                json!({ "error": { "code": status, "message": message, "status": name } })
            }
        }
    }

    /// What is wrong, in words by which real services are recognised.
    fn telling(self, status: u16) -> &'static str {
        match (self, status) {
            (Self::Responses | Self::Chat, 401) => "Incorrect API key provided: k***y.",
            (Self::Messages, 401) => "invalid x-api-key",
            (Self::Gemini, 401) => "API key not valid.",
            (Self::Responses | Self::Chat, 429) => "Rate limit reached for fake-1. Please try again in 1s.",
            (Self::Messages, 429) => "This request would exceed the rate limit of your organization.",
            (Self::Gemini, 429) => "Resource has been exhausted.",
            (Self::Messages, 529) => "Overloaded",
            (_, 503) => "The model is overloaded.",
            (_, 400..500) => "Unsupported parameter: 'depth'.",
            (_, _) => "The server had an error.",
        }
    }

    /// Status and body of an account that is used up.
    pub fn quota(self) -> (u16, Value) {
        match self {
            Self::Responses | Self::Chat => {
                let text = "You exceeded your current quota, please check your plan and billing details.";
                let code = "insufficient_quota";
                (
                    429,
                    json!({ "error": { "message": text, "type": code, "code": code, "param": null } }),
                )
            }
            Self::Messages => {
                let text = "Your credit balance is too low to access the API.";
                (
                    400,
                    json!({ "type": "error", "error": { "type": "invalid_request_error", "message": text } }),
                )
            }
            Self::Gemini => {
                let text = "You exceeded your current quota, please check your plan and billing details.";
                (
                    429,
                    json!({ "error": { "code": 429, "message": text, "status": "RESOURCE_EXHAUSTED" } }),
                )
            }
        }
    }
}

/// A list in a request; absent and null are empty.
fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The text of a message's content: a string, or parts of which some have text.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect::<Vec<_>>()
            .join("\n"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}
