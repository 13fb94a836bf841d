//! Recorded ACP conversations, held again: our side is the client, theirs is `interactive/NAME.txt` (`-->` is what the agent
//! received, `<--` what it wrote).

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use wavecrew_agents::launch::{Conversation, McpServer, Request, Stdin};
use wavecrew_agents::stream::{AgentEvent, FailKind, TurnSummary, UsageMeter};
use wavecrew_agents::{InteractiveProtocol, by_name};
use wavecrew_core::engine::{Permission, Reply};
use wavecrew_core::event::TokenUsage;
use wavecrew_core::team::Access;

/// The client, with both sides of its conversation.
struct Replayed {
    protocol: Box<dyn InteractiveProtocol>,
    events: Vec<AgentEvent>,
    /// What the client wrote.
    sent: Vec<Value>,
}

impl Replayed {
    fn new(access: Access, conversation: Conversation<'_>, model: Option<&str>) -> Self {
        let server = McpServer {
            name: "wavecrew".into(),
            command: "/bin/wavecrew".into(),
            args: vec!["mcp".into()],
            env: vec![("WAVECREW_TOKEN".into(), "t".into())],
        };
        let launch = by_name("acp:agent --acp").unwrap().launch(&Request {
            access,
            model,
            mcp: Some(&server),
            conversation,
            folders: &[PathBuf::from("/session")],
            ..Request::new("", Path::new("/project"), Path::new("/scratch"))
        });
        let Stdin::Interactive(protocol) = launch.stdin else {
            panic!("it is interactive")
        };
        Self {
            protocol,
            events: Vec::new(),
            sent: Vec::new(),
        }
    }

    fn new_one() -> Self {
        Self::new(Access::Source, Conversation::New { id: "" }, None)
    }

    fn note(&mut self, written: &str) {
        let lines = written.lines().map(|line| serde_json::from_str(line).unwrap());
        self.sent.extend(lines);
    }

    fn start_turn(&mut self, message: &str) {
        let written = self.protocol.start_turn(message);
        self.note(&written);
    }

    fn interrupt_turn(&mut self) {
        let written = self.protocol.interrupt_turn();
        self.note(&written);
    }

    fn read(&mut self, message: &Value) {
        self.read_line(&message.to_string());
    }

    fn read_line(&mut self, line: &str) {
        let received = self.protocol.read(line);
        self.events.extend(received.events);
        self.note(&received.reply);
    }

    /// Answers our latest request of this method.
    fn answer(&mut self, method: &str, outcome: &str, value: &Value) {
        let id = &self.last(method)["id"];
        let message = json!({ "jsonrpc": "2.0", "id": id, outcome: value });
        self.read(&message);
    }

    fn last(&self, method: &str) -> &Value {
        let found = self.sent.iter().rfind(|sent| sent["method"] == method);
        found.unwrap_or_else(|| panic!("{method} was not sent: {:#?}", self.sent))
    }

    /// With an open session named `s`.
    fn opened(access: Access) -> Self {
        let mut client = Self::new(access, Conversation::New { id: "" }, None);
        client.start_turn("do it");
        client.answer("initialize", "result", &json!({ "protocolVersion": 1 }));
        client.answer("session/new", "result", &json!({ "sessionId": "s" }));
        client
    }

    fn update(&mut self, update: &Value) {
        self.read(&json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "update": update } }));
    }

    fn summary(&self) -> TurnSummary {
        let mut summary = TurnSummary::default();
        self.events.iter().for_each(|event| summary.on(event));
        summary
    }

    fn failure(&self) -> (FailKind, &str) {
        let failed = self.events.iter().find_map(|event| match event {
            AgentEvent::Failed(failure) => Some((failure.kind, failure.message.as_str())),
            _ => None,
        });
        failed.unwrap_or_else(|| panic!("nothing failed: {:#?}", self.events))
    }

    fn answered(&self) -> Option<String> {
        self.summary().answer.map(|(text, _)| text)
    }
}

/// Replays a recorded conversation.
fn replay(name: &str, resume: Option<&str>) -> Replayed {
    let text = std::fs::read_to_string(crate::recordings(&format!("interactive/{name}.txt"))).unwrap();
    let conversation = resume.map_or(Conversation::New { id: "" }, |id| Conversation::Resume { id });
    let mut client = Replayed::new(Access::Source, conversation, None);
    let mut asked: HashMap<u64, String> = HashMap::new();
    for line in text.lines() {
        let Some((arrow, message)) = line.split_once(' ') else {
            continue;
        };
        let Ok(mut message) = serde_json::from_str::<Value>(message) else {
            continue;
        };
        let method = message["method"].as_str().map(str::to_owned);
        if arrow == "-->" {
            if let (Some(method), Some(id)) = (method, message["id"].as_u64()) {
                // The first message waits until the session is open.
                if method == "initialize" {
                    client.start_turn("first");
                }
                asked.insert(id, method);
            }
        } else if let (None, Some(id)) = (method, message["id"].as_u64()) {
            let method = &asked[&id];
            if let Some(ours) = client.sent.iter().rfind(|sent| sent["method"] == *method) {
                message["id"] = ours["id"].clone();
                client.read(&message);
            }
        } else {
            client.read(&message);
        }
    }
    client
}

#[test]
fn recordings_end_as_recorded() {
    // The recording, its session, the answer, the tokens of the answer, and the files that it changed.
    let cases: [(&str, &str, &str, u64, &[&str]); 4] = [
        (
            "gemini",
            "3acc27f9-6024-4d14-9185-9addd72831f6",
            "acp done",
            150,
            &["LABPROJECT.txt"],
        ),
        (
            "opencode",
            "ses_e1f8c58ebffeK55uIDeExMg48H",
            "acp done",
            50,
            &["LABPROJECT.txt"],
        ),
        (
            "codex",
            "01a1e073-4b35-7d62-88e5-cdd81ff04c08",
            "acp done",
            150,
            &[],
        ),
        (
            "claude",
            "96b44e3b-b314-4475-a748-eca715ee8262",
            "acp done",
            0,
            &[],
        ),
    ];
    for (name, session, answer, output, files) in cases {
        let client = replay(name, None);
        let summary = client.summary();
        assert_eq!(summary.conversation.as_deref(), Some(session), "{name}");
        assert!(summary.version.is_some(), "{name}");
        assert_eq!(
            client.answered().as_deref(),
            Some(answer),
            "{name}: {:#?}",
            client.events
        );
        assert_eq!(summary.open_tools, 0, "{name}");
        let mut meter = UsageMeter::new(TokenUsage::default());
        client.events.iter().for_each(|event| meter.on(event));
        assert_eq!(meter.spent().output, output, "{name}");
        let changed = client.events.iter().filter_map(|event| match event {
            AgentEvent::FileChange { path } => Some(path.as_str()),
            _ => None,
        });
        assert_eq!(changed.collect::<Vec<_>>(), files, "{name}");
        let servers = &client.last("session/new")["params"]["mcpServers"];
        assert_eq!(
            servers[0]["env"][0],
            json!({ "name": "WAVECREW_TOKEN", "value": "t" }),
            "{name}"
        );
    }
}

#[test]
fn failures_of_the_service_are_recognised() {
    assert_eq!(replay("gemini_err", None).failure().0, FailKind::BadRequest);
    // codex reports it as an answer.
    let codex = replay("codex_err", None);
    assert_eq!(codex.failure().0, FailKind::Overloaded, "{:#?}", codex.events);
    assert_eq!(codex.answered(), None);
}

#[test]
fn the_past_of_a_loaded_session_is_not_the_answer() {
    let id = "3acc27f9-6024-4d14-9185-9addd72831f6";
    let client = replay("gemini_load", Some(id));
    assert_eq!(client.last("session/load")["params"]["sessionId"], id);
    assert_eq!(client.summary().conversation.as_deref(), Some(id));
    assert!(
        client.answered().unwrap().ends_with("after load"),
        "{:#?}",
        client.events
    );
}

#[test]
fn a_lost_session_is_replaced_by_a_new_one() {
    for capabilities in [
        json!({ "loadSession": true }),
        json!({ "sessionCapabilities": { "resume": {} } }),
        json!({}),
    ] {
        let mut client = Replayed::new(Access::Source, Conversation::Resume { id: "old" }, None);
        client.start_turn("go on");
        let greeting = json!({ "protocolVersion": 1, "agentCapabilities": capabilities });
        client.answer("initialize", "result", &greeting);
        if let Some(asked) = client
            .sent
            .iter()
            .find(|sent| sent["params"]["sessionId"] == "old")
        {
            let method = asked["method"].as_str().unwrap().to_owned();
            client.answer(
                &method,
                "error",
                &json!({ "code": -32603, "message": "no such session" }),
            );
        }
        client.answer("session/new", "result", &json!({ "sessionId": "new" }));
        assert_eq!(
            client.last("session/prompt")["params"]["prompt"][0]["text"],
            "go on"
        );
        assert_eq!(client.summary().conversation.as_deref(), Some("new"));
    }
}

#[test]
fn turns_follow_each_other_in_one_session() {
    let mut client = Replayed::opened(Access::Source);
    client.update(
        &json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": "one" } }),
    );
    client.answer("session/prompt", "result", &json!({ "stopReason": "end_turn" }));
    assert_eq!(client.answered().as_deref(), Some("one"));
    client.start_turn("again");
    client.update(
        &json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": "two" } }),
    );
    client.answer("session/prompt", "result", &json!({ "stopReason": "end_turn" }));
    assert_eq!(client.answered().as_deref(), Some("two"));
    let sessions = client.sent.iter().filter(|sent| sent["method"] == "session/new");
    assert_eq!(sessions.count(), 1);
}

#[test]
fn stop_reasons_are_normalised() {
    for (reason, kind) in [
        ("max_tokens", FailKind::Quota),
        ("max_turn_requests", FailKind::Quota),
        ("refusal", FailKind::Declined),
        ("cancelled", FailKind::Other),
    ] {
        let mut client = Replayed::opened(Access::Source);
        client.answer("session/prompt", "result", &json!({ "stopReason": reason }));
        assert_eq!(client.failure().0, kind, "{reason}");
    }
    let mut client = Replayed::opened(Access::Source);
    client.answer(
        "session/prompt",
        "result",
        &json!({ "stopReason": "of_another_kind" }),
    );
    assert!(client.answered().is_some() && client.summary().unknown == 1);
}

#[test]
fn permissions_follow_the_access_of_the_role() {
    let ask = json!({ "jsonrpc": "2.0", "id": "q", "method": "session/request_permission", "params": {
        "options": [{ "optionId": "yes", "kind": "allow_once" }, { "optionId": "no", "kind": "reject_once" }],
        "toolCall": { "toolCallId": "c", "kind": "edit", "title": "write", "locations": [{ "path": "a.rs" }] },
    } });
    for (access, option, denied) in [(Access::Source, "yes", 0), (Access::ReadOnly, "no", 1)] {
        let mut client = Replayed::opened(access);
        client.read(&ask);
        if denied > 0 {
            // It waits for a decision.
            let Some(AgentEvent::Question { id, tool, .. }) = client.events.last().cloned() else {
                panic!("{:#?}", client.events)
            };
            assert_eq!(tool, "edit a.rs write");
            let written = client
                .protocol
                .answer(&id, &Reply::Permission(Permission::Denied));
            client.note(&written);
            client.update(&json!({ "sessionUpdate": "plan" }));
        }
        let answer = client.sent.last().unwrap();
        assert_eq!(answer["id"], "q");
        assert_eq!(
            answer["result"]["outcome"],
            json!({ "outcome": "selected", "optionId": option })
        );
        assert_eq!(client.summary().denied.len(), denied);
    }
}

#[test]
fn files_and_terminals_are_not_offered() {
    for method in [
        "fs/read_text_file",
        "fs/write_text_file",
        "terminal/create",
        "elicitation/create",
    ] {
        let mut client = Replayed::opened(Access::Source);
        client.read(
            &json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": { "path": "/etc/passwd" } }),
        );
        let answer = client.sent.last().unwrap();
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&json!(7), &json!(-32601)),
            "{method}"
        );
    }
    let offered = &Replayed::opened(Access::Source).sent[0]["params"]["clientCapabilities"];
    assert_eq!(
        *offered,
        json!({ "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false })
    );
}

#[test]
fn unknown_messages_are_counted() {
    let mut client = Replayed::opened(Access::Source);
    client.update(&json!({ "sessionUpdate": "of_another_kind" }));
    client.update(&json!(null));
    client.read(&json!({ "jsonrpc": "2.0", "method": "_own/notice", "params": {} }));
    client.read(&json!({ "jsonrpc": "2.0", "id": 999, "result": {} }));
    client.read(&json!({ "jsonrpc": "2.0" }));
    for line in ["a banner", "[1]", "", "{\"half\":"] {
        client.read_line(line);
    }
    assert_eq!(client.summary().unknown, 8, "{:#?}", client.events);
    client.answer("session/prompt", "result", &json!({ "stopReason": "end_turn" }));
    assert!(client.answered().is_some());
}

#[test]
fn a_turn_can_be_interrupted() {
    let mut client = Replayed::opened(Access::Source);
    client.interrupt_turn();
    assert_eq!(
        *client.sent.last().unwrap(),
        json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": "s" } })
    );
    // Before the session is open there is nothing to cancel, and the message is dropped.
    let mut client = Replayed::new_one();
    client.start_turn("do it");
    client.interrupt_turn();
    client.answer("initialize", "result", &json!({ "protocolVersion": 1 }));
    client.answer("session/new", "result", &json!({ "sessionId": "s" }));
    assert_eq!(client.failure().1, "the turn was interrupted before it started");
    assert!(client.sent.iter().all(|sent| sent["method"] != "session/prompt"));
}

#[test]
fn an_agent_that_cannot_be_used_fails_with_the_reason() {
    let mut client = Replayed::new_one();
    client.start_turn("do it");
    client.answer("initialize", "result", &json!({ "protocolVersion": 7 }));
    assert!(client.failure().1.contains("version 7"), "{:?}", client.failure());

    let mut client = Replayed::new_one();
    client.start_turn("do it");
    client.answer(
        "initialize",
        "error",
        &json!({ "code": -32601, "message": "what?" }),
    );
    assert!(
        client.failure().1.contains("does not speak"),
        "{:?}",
        client.failure()
    );

    let mut client = Replayed::new_one();
    client.start_turn("do it");
    let ways =
        json!([{ "id": "a", "name": "Key", "description": "set KEY" }, { "id": "b", "name": "Browser" }]);
    client.answer(
        "initialize",
        "result",
        &json!({ "protocolVersion": 1, "authMethods": ways }),
    );
    client.answer(
        "session/new",
        "error",
        &json!({ "code": -32000, "message": "Authentication required" }),
    );
    let (kind, message) = client.failure();
    assert_eq!(kind, FailKind::Auth);
    assert!(
        message.ends_with("(ways to log in: set KEY; Browser)"),
        "{message}"
    );
}

#[test]
fn the_model_is_set_in_the_way_that_the_agent_offers() {
    let open = |session: &Value| {
        let mut client = Replayed::new(Access::Source, Conversation::New { id: "" }, Some("m-1"));
        client.start_turn("do it");
        client.answer("initialize", "result", &json!({ "protocolVersion": 1 }));
        client.answer("session/new", "result", session);
        client
    };
    let mut by_option =
        open(&json!({ "sessionId": "s", "configOptions": [{ "id": "mod", "category": "model" }] }));
    let params = &by_option.last("session/set_config_option")["params"];
    assert_eq!(
        *params,
        json!({ "sessionId": "s", "configId": "mod", "value": "m-1" })
    );
    by_option.answer("session/set_config_option", "result", &json!({}));
    assert_eq!(by_option.last("session/prompt")["params"]["sessionId"], "s");

    let mut by_name = open(&json!({ "sessionId": "s" }));
    assert_eq!(by_name.last("session/set_model")["params"]["modelId"], "m-1");
    by_name.answer(
        "session/set_model",
        "error",
        &json!({ "code": -32602, "message": "unknown" }),
    );
    assert!(
        by_name.failure().1.contains("the model `m-1`"),
        "{:?}",
        by_name.failure()
    );
}
