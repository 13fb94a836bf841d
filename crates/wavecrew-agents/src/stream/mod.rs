//! Reads the machine-readable output of agent CLIs, line by line, into events that mean the same for every agent. Lines that
//! it does not know become [`AgentEvent::Unknown`].

mod failure;
mod outcome;
pub(crate) mod stream_json;
pub(crate) mod tools;
mod usage;

use std::time::Duration;

use serde_json::Value;
use wavecrew_core::event::TokenUsage;
use wavecrew_core::time::Timestamp;

pub use failure::{FailKind, Failure};
pub use outcome::{End, Expects, Outcome, TurnSummary, outcome};
pub(crate) use usage::token_counts;
pub use usage::{UsageMeter, UsageScope};

use super::cli::AgentCli;
use tools::OpenTools;

/// One event of an agent's output.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentEvent {
    /// A conversation started or was resumed. `conversation` is its id for the agent's resume option.
    Started {
        conversation: String,
        model: Option<String>,
        version: Option<String>,
    },
    /// A message of the agent, or a piece of one; not its final message yet.
    Text(String),
    ToolStart {
        id: String,
        name: String,
        summary: String,
    },
    ToolEnd {
        id: String,
        ok: bool,
        exit_code: Option<i64>,
        /// What it printed or returned, if the agent reports it.
        output: String,
    },
    /// A tool of the agent wrote this file. Files that commands write are not reported.
    FileChange {
        path: String,
    },
    Usage(UsageScope, TokenUsage),
    /// What a request of the running turn used. The turn's [`Usage`](Self::Usage) includes it.
    UsedSoFar(TokenUsage),
    /// The turn succeeded. `structured` is the answer as JSON, if it is a JSON object.
    Final {
        text: String,
        structured: Option<Value>,
    },
    /// A failure after which the agent tries again by itself.
    Retrying(Failure),
    /// The turn failed.
    Failed(Failure),
    /// The agent was not allowed to use a tool.
    PermissionDenied {
        tool: String,
    },
    /// The agent waits for an answer with this id.
    Question {
        id: String,
        tool: String,
        input: Value,
    },
    /// A line, or a part of one, of an unknown kind.
    Unknown {
        kind: String,
    },
}

/// The reader of one agent's output.
#[derive(Debug)]
pub struct StreamParser {
    cli: &'static dyn AgentCli,
    state: ParserState,
}

/// What a parser remembers between lines.
#[derive(Debug, Default)]
pub struct ParserState {
    events: Vec<AgentEvent>,
    pub(crate) conversation: Option<String>,
    /// The agent's latest message, which is its answer if the turn ends now.
    pub(crate) text: String,
    tools: OpenTools,
    /// The message whose usage was counted last.
    pub(crate) counted: String,
    denied: Vec<String>,
    pub(crate) trouble: Option<String>,
    /// When the account may be used again.
    pub(crate) resets_at: Option<Timestamp>,
}

impl StreamParser {
    pub fn new(cli: &'static dyn AgentCli) -> Self {
        Self {
            cli,
            state: ParserState::default(),
        }
    }

    /// The events of one line of standard output. A blank line has none.
    #[must_use]
    pub fn line(&mut self, line: &str) -> Vec<AgentEvent> {
        let line = line.trim();
        if line.is_empty() {
            return Vec::new();
        }
        match serde_json::from_str::<Value>(line) {
            Ok(value) if value.is_object() => self.cli.read(&value, &mut self.state),
            // Warnings and banners appear between the events.
            Ok(_) | Err(_) => self.state.unknown("text"),
        }
        self.state.take()
    }
}

impl ParserState {
    /// The events since the last call.
    pub(crate) fn take(&mut self) -> Vec<AgentEvent> {
        std::mem::take(&mut self.events)
    }

    pub(crate) fn push(&mut self, event: AgentEvent) {
        self.events.push(event);
    }

    pub(crate) fn unknown(&mut self, kind: &str) {
        self.push(AgentEvent::Unknown {
            kind: kind.to_owned(),
        });
    }

    pub(crate) fn started(&mut self, conversation: &str, model: Option<String>, version: Option<String>) {
        self.push(AgentEvent::Started {
            conversation: conversation.to_owned(),
            model,
            version,
        });
    }

    pub(crate) fn used(&mut self, scope: UsageScope, usage: TokenUsage) {
        self.push(AgentEvent::Usage(scope, usage));
    }

    /// A whole message; the latest one is the answer.
    pub(crate) fn add_message(&mut self, text: &str) {
        text.clone_into(&mut self.text);
        self.push(AgentEvent::Text(text.to_owned()));
    }

    pub(crate) fn tool_start(&mut self, tools: &tools::ToolArguments, id: &str, name: &str, input: &Value) {
        let summary = self.tools.open(tools, id, name, input);
        self.push(AgentEvent::ToolStart {
            id: id.to_owned(),
            name: name.to_owned(),
            summary,
        });
    }

    pub(crate) fn tool_end(&mut self, id: &str, ok: bool, exit_code: Option<i64>, output: &Value) {
        self.push(AgentEvent::ToolEnd {
            id: id.to_owned(),
            ok,
            exit_code,
            output: words(output),
        });
        if let Some(path) = self.tools.close(id).filter(|_| ok) {
            self.push(AgentEvent::FileChange { path });
        }
    }

    /// What was denied in one turn is reported again in the next.
    pub(crate) fn start_turn(&mut self) {
        self.denied.clear();
    }

    pub(crate) fn denied(&mut self, id: &str, tool: &str) {
        // Some agents report a denial when it happens, and list all of them at the end.
        if !self.denied.iter().any(|known| known == id) {
            self.denied.push(id.to_owned());
            self.push(AgentEvent::PermissionDenied {
                tool: tool.to_owned(),
            });
        }
    }

    pub(crate) fn answered(&mut self) {
        let text = std::mem::take(&mut self.text);
        let structured = json_object(&text);
        self.push(AgentEvent::Final { text, structured });
    }

    pub(crate) fn failed(&mut self, failure: Failure) {
        self.text.clear();
        self.push(AgentEvent::Failed(failure));
    }

    pub(crate) fn retrying(&mut self, failure: Failure) {
        self.push(AgentEvent::Retrying(failure));
    }
}

/// The text as a JSON object, if it is nothing else.
fn json_object(text: &str) -> Option<Value> {
    serde_json::from_str(text.trim()).ok().filter(Value::is_object)
}

pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// A text, or the texts of a list of parts.
fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

pub(crate) fn owned(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

pub(crate) fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

pub(crate) fn status(value: &Value) -> Option<u16> {
    value.as_u64().and_then(|status| u16::try_from(status).ok())
}

pub(crate) fn millis(value: &Value) -> Option<Duration> {
    value.as_u64().map(Duration::from_millis)
}
