//! Recorded conversations with agents over the Agent Client Protocol, held again: our side is played by the client,
//! theirs by `interactive/NAME.txt` (`-->` is what was said to the agent, `<--` what it said).
#![allow(clippy::disallowed_methods, reason = "tests read recordings from disk")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use wavecrew_agents::launch::{Conversation, McpServer, Request, Stdin};
use wavecrew_agents::stream::{AgentEvent, FailKind, TurnSummary, Usage, UsageMeter};
use wavecrew_agents::{InteractiveProtocol, by_name};
use wavecrew_core::engine::{Permission, Reply};
use wavecrew_core::team::Access;

/// Both sides of a conversation.
struct Held {
    protocol: Box<dyn InteractiveProtocol>,
    events: Vec<AgentEvent>,
    /// What we wrote.
    said: Vec<Value>,
}

impl Held {
    fn new(access: Access, conversation: Conversation<'_>, model: Option<&str>) -> Self {
        let server = McpServer {
            name: "wavecrew".into(),
            command: "/bin/wavecrew".into(),
            args: vec!["mcp".into()],
            env: vec![("WAVECREW_TOKEN".into(), "t".into())],
        };
        let launch = by_name("acp:agent --acp").unwrap().launch(&Request {
            prompt: "",
            mode: wavecrew_core::id::ExecMode::CsvWave,
            access,
            model,
            mcp: Some(&server),
            schema: None,
            conversation,
            project: Path::new("/project"),
            scratch: Path::new("/scratch"),
            folders: &[PathBuf::from("/session")],
            extra: &[],
        });
        let Stdin::Interactive(protocol) = launch.stdin else {
            panic!("it is spoken to")
        };
        Self {
            protocol,
            events: Vec::new(),
            said: Vec::new(),
        }
    }

    fn new_one() -> Self {
        Self::new(Access::Source, Conversation::New { id: "" }, None)
    }

    fn note(&mut self, written: &str) {
        let lines = written.lines().map(|line| serde_json::from_str(line).unwrap());
        self.said.extend(lines);
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
        self.hear_line(&message.to_string());
    }

    fn hear_line(&mut self, line: &str) {
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
        let found = self.said.iter().rfind(|said| said["method"] == method);
        found.unwrap_or_else(|| panic!("{method} was not said: {:#?}", self.said))
    }

    /// Greeted, and with an open session named `s`.
    fn opened(access: Access) -> Self {
        let mut held = Self::new(access, Conversation::New { id: "" }, None);
        held.start_turn("do it");
        held.answer("initialize", "result", &json!({ "protocolVersion": 1 }));
        held.answer("session/new", "result", &json!({ "sessionId": "s" }));
        held
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

/// Holds a recorded conversation once more.
fn held(name: &str, resume: Option<&str>) -> Held {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/interactive/{name}.txt"));
    let text = std::fs::read_to_string(path).unwrap();
    let conversation = resume.map_or(Conversation::New { id: "" }, |id| Conversation::Resume { id });
    let mut held = Held::new(Access::Source, conversation, None);
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
                    held.start_turn("first");
                }
                asked.insert(id, method);
            }
        } else if let (None, Some(id)) = (method, message["id"].as_u64()) {
            let method = &asked[&id];
            if let Some(ours) = held.said.iter().rfind(|said| said["method"] == *method) {
                message["id"] = ours["id"].clone();
                held.read(&message);
            }
        } else {
            held.read(&message);
        }
    }
    held
}

#[test]
fn recordings_end_as_they_ended() {
    // The recording, its session, the answer, the tokens of the answer, and the files that it told of.
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
        let held = held(name, None);
        let summary = held.summary();
        assert_eq!(summary.conversation.as_deref(), Some(session), "{name}");
        assert!(summary.version.is_some(), "{name}");
        assert_eq!(
            held.answered().as_deref(),
            Some(answer),
            "{name}: {:#?}",
            held.events
        );
        assert_eq!(summary.open_tools, 0, "{name}");
        let mut meter = UsageMeter::new(Usage::NONE);
        held.events.iter().for_each(|event| meter.on(event));
        assert_eq!(meter.spent().output, output, "{name}");
        let told = held.events.iter().filter_map(|event| match event {
            AgentEvent::FileChange { path } => Some(path.as_str()),
            _ => None,
        });
        assert_eq!(told.collect::<Vec<_>>(), files, "{name}");
        let servers = &held.last("session/new")["params"]["mcpServers"];
        assert_eq!(
            servers[0]["env"][0],
            json!({ "name": "WAVECREW_TOKEN", "value": "t" }),
            "{name}"
        );
    }
}

#[test]
fn failures_of_the_service_are_told_apart() {
    assert_eq!(held("gemini_err", None).failure().0, FailKind::BadRequest);
    // codex words it as an answer.
    let codex = held("codex_err", None);
    assert_eq!(codex.failure().0, FailKind::Overloaded, "{:#?}", codex.events);
    assert_eq!(codex.answered(), None);
}

#[test]
fn a_session_is_loaded_and_its_past_is_not_the_answer() {
    let id = "3acc27f9-6024-4d14-9185-9addd72831f6";
    let held = held("gemini_load", Some(id));
    assert_eq!(held.last("session/load")["params"]["sessionId"], id);
    assert_eq!(held.summary().conversation.as_deref(), Some(id));
    assert!(
        held.answered().unwrap().ends_with("after load"),
        "{:#?}",
        held.events
    );
}

#[test]
fn a_session_that_is_lost_is_begun_anew() {
    for capabilities in [
        json!({ "loadSession": true }),
        json!({ "sessionCapabilities": { "resume": {} } }),
        json!({}),
    ] {
        let mut held = Held::new(Access::Source, Conversation::Resume { id: "old" }, None);
        held.start_turn("go on");
        let greeting = json!({ "protocolVersion": 1, "agentCapabilities": capabilities });
        held.answer("initialize", "result", &greeting);
        if let Some(asked) = held.said.iter().find(|said| said["params"]["sessionId"] == "old") {
            let method = asked["method"].as_str().unwrap().to_owned();
            held.answer(
                &method,
                "error",
                &json!({ "code": -32603, "message": "no such session" }),
            );
        }
        held.answer("session/new", "result", &json!({ "sessionId": "new" }));
        assert_eq!(
            held.last("session/prompt")["params"]["prompt"][0]["text"],
            "go on"
        );
        assert_eq!(held.summary().conversation.as_deref(), Some("new"));
    }
}

#[test]
fn turns_follow_each_other_in_one_session() {
    let mut held = Held::opened(Access::Source);
    held.update(
        &json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": "one" } }),
    );
    held.answer("session/prompt", "result", &json!({ "stopReason": "end_turn" }));
    assert_eq!(held.answered().as_deref(), Some("one"));
    held.start_turn("again");
    held.update(
        &json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": "two" } }),
    );
    held.answer("session/prompt", "result", &json!({ "stopReason": "end_turn" }));
    assert_eq!(held.answered().as_deref(), Some("two"));
    let sessions = held.said.iter().filter(|said| said["method"] == "session/new");
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
        let mut held = Held::opened(Access::Source);
        held.answer("session/prompt", "result", &json!({ "stopReason": reason }));
        assert_eq!(held.failure().0, kind, "{reason}");
    }
    let mut held = Held::opened(Access::Source);
    held.answer(
        "session/prompt",
        "result",
        &json!({ "stopReason": "of_another_kind" }),
    );
    assert!(held.answered().is_some() && held.summary().unknown == 1);
}

#[test]
fn what_is_asked_is_answered_by_the_access_of_the_role() {
    let ask = json!({ "jsonrpc": "2.0", "id": "q", "method": "session/request_permission", "params": {
        "options": [{ "optionId": "yes", "kind": "allow_once" }, { "optionId": "no", "kind": "reject_once" }],
        "toolCall": { "toolCallId": "c", "kind": "edit", "title": "write", "locations": [{ "path": "a.rs" }] },
    } });
    for (access, option, denied) in [(Access::Source, "yes", 0), (Access::ReadOnly, "no", 1)] {
        let mut held = Held::opened(access);
        held.read(&ask);
        if denied > 0 {
            // It waits until somebody has decided.
            let Some(AgentEvent::Question { id, tool, .. }) = held.events.last().cloned() else {
                panic!("{:#?}", held.events)
            };
            assert_eq!(tool, "edit a.rs write");
            let written = held.protocol.answer(&id, &Reply::Permission(Permission::Denied));
            held.note(&written);
            held.update(&json!({ "sessionUpdate": "plan" }));
        }
        let answer = held.said.last().unwrap();
        assert_eq!(answer["id"], "q");
        assert_eq!(
            answer["result"]["outcome"],
            json!({ "outcome": "selected", "optionId": option })
        );
        assert_eq!(held.summary().denied.len(), denied);
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
        let mut held = Held::opened(Access::Source);
        held.read(
            &json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": { "path": "/etc/passwd" } }),
        );
        let answer = held.said.last().unwrap();
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&json!(7), &json!(-32601)),
            "{method}"
        );
    }
    let offered = &Held::opened(Access::Source).said[0]["params"]["clientCapabilities"];
    assert_eq!(
        *offered,
        json!({ "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false })
    );
}

#[test]
fn what_is_new_is_counted_and_borne() {
    let mut held = Held::opened(Access::Source);
    held.update(&json!({ "sessionUpdate": "of_another_kind" }));
    held.update(&json!(null));
    held.read(&json!({ "jsonrpc": "2.0", "method": "_own/notice", "params": {} }));
    held.read(&json!({ "jsonrpc": "2.0", "id": 999, "result": {} }));
    held.read(&json!({ "jsonrpc": "2.0" }));
    for line in ["a banner", "[1]", "", "{\"half\":"] {
        held.hear_line(line);
    }
    assert_eq!(held.summary().unknown, 8, "{:#?}", held.events);
    held.answer("session/prompt", "result", &json!({ "stopReason": "end_turn" }));
    assert!(held.answered().is_some());
}

#[test]
fn a_turn_is_cut_short() {
    let mut held = Held::opened(Access::Source);
    held.interrupt_turn();
    assert_eq!(
        *held.said.last().unwrap(),
        json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": "s" } })
    );
    // Before the session is open there is nothing to cancel, and nothing to say any more.
    let mut held = Held::new_one();
    held.start_turn("do it");
    held.interrupt_turn();
    held.answer("initialize", "result", &json!({ "protocolVersion": 1 }));
    held.answer("session/new", "result", &json!({ "sessionId": "s" }));
    assert_eq!(held.failure().1, "the turn was cut short");
    assert!(held.said.iter().all(|said| said["method"] != "session/prompt"));
}

#[test]
fn an_agent_that_cannot_be_used_says_why() {
    let mut held = Held::new_one();
    held.start_turn("do it");
    held.answer("initialize", "result", &json!({ "protocolVersion": 7 }));
    assert!(held.failure().1.contains("version 7"), "{:?}", held.failure());

    let mut held = Held::new_one();
    held.start_turn("do it");
    held.answer(
        "initialize",
        "error",
        &json!({ "code": -32601, "message": "what?" }),
    );
    assert!(
        held.failure().1.contains("does not speak"),
        "{:?}",
        held.failure()
    );

    let mut held = Held::new_one();
    held.start_turn("do it");
    let ways =
        json!([{ "id": "a", "name": "Key", "description": "set KEY" }, { "id": "b", "name": "Browser" }]);
    held.answer(
        "initialize",
        "result",
        &json!({ "protocolVersion": 1, "authMethods": ways }),
    );
    held.answer(
        "session/new",
        "error",
        &json!({ "code": -32000, "message": "Authentication required" }),
    );
    let (kind, message) = held.failure();
    assert_eq!(kind, FailKind::Auth);
    assert!(message.ends_with("(its ways: set KEY; Browser)"), "{message}");
}

#[test]
fn a_model_is_chosen_in_the_way_that_the_agent_offers() {
    let open = |session: &Value| {
        let mut held = Held::new(Access::Source, Conversation::New { id: "" }, Some("m-1"));
        held.start_turn("do it");
        held.answer("initialize", "result", &json!({ "protocolVersion": 1 }));
        held.answer("session/new", "result", session);
        held
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
