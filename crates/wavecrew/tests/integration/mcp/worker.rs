use crate::mcp::rpc::{Client, VERSION};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::fs;
use std::process::Command;
use wavecrew_core::team::Team;
use wavecrew_session::{Attempts, SessionDir};
use wavecrew_test_support::sandbox::Sandbox;

struct Session {
    sandbox: Sandbox,
    dir: SessionDir,
    attempts: RefCell<Attempts>,
}

impl Session {
    fn new(team: &str) -> Self {
        let sandbox = Sandbox::new();
        let dir = SessionDir::create(sandbox.project(), "run-x-20260308", &[]).unwrap();
        let team = Team::builtin_text(team).unwrap();
        fs::write(dir.run_folder().join("team.toml"), team).unwrap();
        let attempts = RefCell::new(dir.attempts());
        Self {
            sandbox,
            dir,
            attempts,
        }
    }

    /// A client of the worker of `task`, whose attempt is opened.
    fn worker(&self, task: &str, role: &str) -> Client {
        let token = self.attempts.borrow_mut().open_attempt(task, 1).unwrap();
        Client::start(self.command(task, token.as_str()).env("WAVECREW_ROLE", role))
    }

    /// The server of a worker.
    fn command(&self, task: &str, token: &str) -> Command {
        let mut command = self.sandbox.command("mcp --worker");
        command
            .env("WAVECREW_SESSION_DIR", self.dir.path())
            .env("WAVECREW_TASK", task)
            .env("WAVECREW_ATTEMPT", "1")
            .env("WAVECREW_TOKEN", token);
        command
    }

    fn report(&self, task: &str) -> Value {
        let report = self.dir.attempts().take_report(task, 1).unwrap().unwrap();
        serde_json::from_slice(&report).unwrap()
    }
}

#[test]
fn a_worker_has_its_own_tools_and_no_others() {
    let session = Session::new("generic");
    let mut worker = session.worker("A", "");
    let names = [
        "report_agent_job_result",
        "discover",
        "read_discoveries",
        "message",
        "ask",
        "wisdom",
    ];
    assert_eq!(worker.tools(), names);
    let answer = worker.request(
        "tools/call",
        json!({"name": "spawn_agents_on_csv", "arguments": {}}),
    );
    assert_eq!(
        answer["error"]["message"],
        "there is no tool `spawn_agents_on_csv`"
    );
    assert_eq!(worker.disconnect(), 0);
}

#[test]
fn reports_in_all_their_shapes() {
    let session = Session::new("generic");
    let ours = json!({"id": "A", "status": "completed", "findings": "done"});
    let shapes = [
        ("A", ours.clone()),
        ("B", json!({"result": {"id": "B", "status": "completed"}})),
        (
            "C",
            json!({"job_id": "run-x-20260308", "item_id": "C", "result": {"findings": "f"}, "stop": false}),
        ),
        (
            "D",
            json!({"job_id": "run-x-20260308", "item_id": "D", "result": "{\"status\":\"failed\"}"}),
        ),
    ];
    for (task, report) in shapes {
        let mut worker = session.worker(task, "");
        assert_eq!(
            worker.call("report_agent_job_result", report),
            json!({"accepted": true})
        );
    }
    assert_eq!(session.report("A"), ours);
}

#[test]
fn refused_reports_say_why_and_can_be_corrected() {
    let session = Session::new("generic");
    let mut worker = session.worker("A", "");
    for (report, why) in [
        (json!({"id": "B", "status": "completed"}), "is for task `B`"),
        (json!({"item_id": "B", "result": {}}), "is for task `B`"),
        (
            json!({"job_id": "other", "item_id": "A", "result": {}}),
            "is for job `other`",
        ),
        (json!({"id": "A", "status": "done"}), "at /status"),
        (json!({"findings": "f"}), "required property"),
        (json!({}), "an empty object"),
    ] {
        let answer = worker.call("report_agent_job_result", report.clone());
        assert_eq!(answer["accepted"], false, "{report}");
        let reason = answer["reason"].as_str().unwrap();
        assert!(reason.contains(why), "{report}: {reason}");
    }
    let good = json!({"id": "A", "status": "failed", "error": "no"});
    assert_eq!(
        worker.call("report_agent_job_result", good.clone())["accepted"],
        true
    );
    let again = worker.call("report_agent_job_result", good);
    assert_eq!(again["reason"], "this attempt has already reported");

    let mut stranger = Client::start(&mut session.command("A", "00000000000000000000000000000000"));
    let foreign = stranger.call(
        "report_agent_job_result",
        json!({"id": "A", "status": "completed"}),
    );
    assert_eq!(foreign["reason"], "the token is not that of this attempt");
}

#[test]
fn board_messages_and_wisdom() {
    let session = Session::new("generic");
    let mut worker = session.worker("A", "worker");
    for text in ["one", "two"] {
        let data = json!({"subject": "config", "description": text});
        let answer = worker.call("discover", json!({"type": "finding", "data": data}));
        assert_eq!(answer, json!({"accepted": true}));
    }
    let read = worker.call("read_discoveries", json!({"type": "finding"}));
    assert_eq!(read["discoveries"].as_array().unwrap().len(), 1);
    assert_eq!(read["discoveries"][0]["data"]["description"], "two");
    assert_eq!(read["discoveries"][0]["worker"], "A");

    let sent = worker.call(
        "message",
        json!({"type": "task_done", "summary": "all green", "data": {"n": 1}}),
    );
    assert_eq!(sent, json!({"accepted": true}));
    let (messages, _) = session.dir.bus().read().unwrap();
    assert_eq!(messages[0].summary, "[worker] all green");
    let aside = worker.call(
        "message",
        json!({"type": "task_done", "summary": "psst", "to": "tester"}),
    );
    assert_eq!(aside["reason"], "`worker` may not write to `tester`");

    worker.call(
        "wisdom",
        json!({"file": "learnings", "text": "read the tests first"}),
    );
    let text = fs::read_to_string(session.dir.path().join("wisdom/learnings.md")).unwrap();
    assert!(text.contains("[worker] read the tests first"), "{text}");
    let wrong = worker.tool_error("wisdom", json!({"file": "learnings"}));
    assert!(wrong.contains("missing field `text`"), "{wrong}");
}

#[test]
fn the_current_protocol_and_the_one_before_work() {
    let session = Session::new("generic");
    for version in [VERSION, "2025-06-18"] {
        let mut client = Client::connect(&mut session.command("A", "x"));
        assert_eq!(client.initialize(version)["protocolVersion"], version);
        assert_eq!(client.tools().len(), 6);
    }
}

#[test]
fn garbage_does_not_end_the_conversation() {
    let session = Session::new("generic");
    let mut worker = session.worker("A", "");
    for garbage in ["not json", "{\"jsonrpc\":\"2.0\"}", "[1,2", "\u{0}\u{1}"] {
        worker.line(garbage);
    }
    assert_eq!(worker.tools().len(), 6);
}

#[test]
fn outside_of_a_run_it_ends_with_an_error() {
    let sandbox = Sandbox::new();
    let client = Client::connect(&mut sandbox.command("mcp --worker"));
    assert_eq!(client.disconnect(), 2);
}
