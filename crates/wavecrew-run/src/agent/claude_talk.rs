//! claude with `--input-format stream-json`: one process that is given one message after the other. It prints what it
//! always prints; only what goes in differs.

use serde_json::{Value, json};
use wavecrew_core::engine::Permission;

use super::Cli;
use super::dialogue::{Dialogue, Heard};
use super::stream::{AgentEvent, Stream};

#[derive(Debug)]
pub(super) struct ClaudeTalk {
    stream: Stream,
    interrupts: u32,
    /// What it asked and was not told yet: the id of its request, and the arguments of the tool.
    asked: Vec<(String, Value)>,
}

impl ClaudeTalk {
    pub(super) fn new() -> Self {
        Self {
            stream: Stream::new(Cli::Claude),
            interrupts: 0,
            asked: Vec::new(),
        }
    }
}

impl Dialogue for ClaudeTalk {
    fn say(&mut self, message: &str) -> String {
        // What it remembers is of one turn.
        self.stream = Stream::new(Cli::Claude);
        let content = json!([{ "type": "text", "text": message }]);
        line(&json!({ "type": "user", "message": { "role": "user", "content": content } }))
    }

    fn hear(&mut self, said: &str) -> Heard {
        let events = self.stream.line(said);
        for event in &events {
            if let AgentEvent::Question { id, input, .. } = event {
                self.asked.push((id.clone(), input.clone()));
            }
        }
        Heard {
            events,
            ..Heard::default()
        }
    }

    fn answer(&mut self, question: &str, permission: Permission) -> String {
        let Some(at) = self.asked.iter().position(|(id, _)| id == question) else {
            return String::new();
        };
        let (id, input) = self.asked.swap_remove(at);
        let answer = match permission {
            Permission::Granted => json!({ "behavior": "allow", "updatedInput": input }),
            Permission::Denied => json!({ "behavior": "deny", "message": "This worker may not do that." }),
        };
        let response = json!({ "subtype": "success", "request_id": id, "response": answer });
        line(&json!({ "type": "control_response", "response": response }))
    }

    fn cut_short(&mut self) -> String {
        self.interrupts += 1;
        let id = format!("interrupt-{}", self.interrupts);
        line(&json!({ "type": "control_request", "request_id": id, "request": { "subtype": "interrupt" } }))
    }
}

fn line(message: &Value) -> String {
    format!("{message}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_go_in_and_results_end_turns() {
        let mut talk = ClaudeTalk::new();
        let said: Value = serde_json::from_str(&talk.say("do\nit")).unwrap();
        assert_eq!(said["message"]["content"][0]["text"], "do\nit");
        let heard = talk.hear(r#"{"type":"result","is_error":false,"result":"one"}"#);
        assert!(matches!(heard.events.last(), Some(AgentEvent::Final { text, .. }) if text == "one"));
        assert!(heard.reply.is_empty());
        assert!(talk.cut_short().contains(r#""subtype":"interrupt""#));
        assert!(
            talk.hear(r#"{"type":"control_response","response":{}}"#)
                .events
                .is_empty()
        );
    }

    #[test]
    fn what_it_asks_for_is_answered_once() {
        let mut talk = ClaudeTalk::new();
        let request = r#"{"type":"control_request","request_id":"q","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{}}}"#;
        for (permission, behavior) in [(Permission::Denied, "deny"), (Permission::Granted, "allow")] {
            assert!(matches!(
                talk.hear(request).events[..],
                [AgentEvent::Question { .. }]
            ));
            let reply: Value = serde_json::from_str(&talk.answer("q", permission)).unwrap();
            assert_eq!(reply["response"]["request_id"], "q");
            assert_eq!(reply["response"]["response"]["behavior"], behavior);
            assert_eq!(talk.answer("q", permission), "");
        }
    }
}
