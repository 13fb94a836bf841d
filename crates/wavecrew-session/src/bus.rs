//! The message bus: messages between the coordinator and its workers, as lines in `.msg/messages.jsonl`.
//!
//! Refuses messages between workers: they send messages only to the coordinator.

use crate::error::SessionError;
use crate::lines;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

pub const COORDINATOR: &str = "coordinator";

/// One line of `messages.jsonl`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Message {
    #[serde(default)]
    pub ts: String,
    /// The role of the sender.
    pub from: String,
    #[serde(default = "coordinator")]
    pub to: String,
    #[serde(rename = "type")]
    pub kind: String,
    /// Starts with the sender's tag, `[role]`, which is added if it is missing.
    #[serde(default)]
    pub summary: String,
    #[serde(default)]
    pub data: Value,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

fn coordinator() -> String {
    COORDINATOR.to_owned()
}

impl Message {
    /// A message to the coordinator.
    pub fn new(ts: &str, from: &str, kind: &str, summary: &str) -> Self {
        Self {
            ts: ts.to_owned(),
            from: from.to_owned(),
            to: coordinator(),
            kind: kind.to_owned(),
            summary: summary.to_owned(),
            data: Value::Null,
            extra: Map::new(),
        }
    }
}

#[derive(Clone, Debug)]
pub struct MessageBus {
    path: PathBuf,
}

impl MessageBus {
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn post(&self, mut message: Message) -> Result<(), SessionError> {
        if message.to.is_empty() {
            message.to = coordinator();
        }
        if message.from != COORDINATOR && message.to != COORDINATOR {
            return Err(SessionError::NotCoordinator {
                from: message.from,
                to: message.to,
            });
        }
        let tag = format!("[{}]", message.from);
        if !message.summary.starts_with(&tag) {
            message.summary = [tag.as_str(), message.summary.as_str()].join(" ");
        }
        lines::append_json(&self.path, &message)
    }

    /// All messages in order, and the number of lines that are not messages.
    pub fn read(&self) -> Result<(Vec<Message>, usize), SessionError> {
        let lines::Lines { entries, malformed } = lines::read(&self.path)?;
        Ok((entries, malformed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bus() -> (tempfile::TempDir, MessageBus) {
        let dir = tempfile::tempdir().unwrap();
        let bus = MessageBus::at(dir.path().join("messages.jsonl"));
        (dir, bus)
    }

    #[test]
    fn a_summary_gets_its_tag_once() {
        let (_dir, bus) = bus();
        for summary in ["found 3 bugs", "[tester] found 3 bugs", "again"] {
            bus.post(Message::new("t", "tester", "tests_done", summary))
                .unwrap();
        }
        let (messages, malformed) = bus.read().unwrap();
        let summaries: Vec<_> = messages.iter().map(|m| m.summary.as_str()).collect();
        assert_eq!(
            summaries,
            ["[tester] found 3 bugs", "[tester] found 3 bugs", "[tester] again"]
        );
        assert!(messages.iter().all(|m| m.to == COORDINATOR));
        assert_eq!(malformed, 0);
    }

    #[test]
    fn workers_talk_to_the_coordinator_only() {
        let (_dir, bus) = bus();
        let to = |to: &str| Message {
            to: to.into(),
            ..Message::new("t", "tester", "hello", "x")
        };
        let error = bus.post(to("writer")).unwrap_err();
        assert_eq!(error.to_string(), "`tester` may not write to `writer`");
        bus.post(to("")).unwrap();
        bus.post(Message {
            to: "tester".into(),
            ..Message::new("t", COORDINATOR, "go", "x")
        })
        .unwrap();
        assert_eq!(bus.read().unwrap().0.len(), 2);
    }
}
