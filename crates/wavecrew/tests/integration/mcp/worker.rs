use crate::mcp::rpc::{Client, VERSION};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::fs;
use std::path::PathBuf;
use wavecrew_core::team::Team;
use wavecrew_session::{Attempts, SessionDir};

struct Place {
    root: tempfile::TempDir,
    session: SessionDir,
    attempts: RefCell<Attempts>,
}

impl Place {
    fn new(team: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        let session = SessionDir::create(root.path(), "run-x-20260308", &[]).unwrap();
        fs::write(
            session.run_folder().join("team.toml"),
            Team::builtin_text(team).unwrap(),
        )
        .unwrap();
        let attempts = RefCell::new(session.attempts());
        Self {
            root,
            session,
            attempts,
        }
    }

    /// A client of the worker of `task`, whose attempt is opened.
    fn worker(&self, task: &str, role: &str) -> Client {
        let token = self.attempts.borrow_mut().open_attempt(task, 1).unwrap();
        self.with_token(task, role, token.as_str())
    }

    fn with_token(&self, task: &str, role: &str, token: &str) -> Client {
        let folder: PathBuf = self.session.path().to_owned();
        Client::start(
            self.root.path(),
            &["--worker"],
            &[
                ("WAVECREW_SESSION_DIR", folder.to_str().unwrap()),
                ("WAVECREW_TASK", task),
                ("WAVECREW_ATTEMPT", "1"),
                ("WAVECREW_ROLE", role),
                ("WAVECREW_TOKEN", token),
            ],
        )
    }

    fn report(&self, task: &str) -> Value {
        let report = self.session.attempts().take_report(task, 1).unwrap().unwrap();
        serde_json::from_slice(&report).unwrap()
    }
}

#[test]
fn a_worker_has_its_own_tools_and_no_others() {
    let place = Place::new("generic");
    let mut worker = place.worker("A", "");
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
    assert_eq!(worker.hang_up(), 0);
}

#[test]
fn reports_in_all_their_shapes() {
    let place = Place::new("generic");
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
        let mut worker = place.worker(task, "");
        assert_eq!(
            worker.call("report_agent_job_result", report),
            json!({"accepted": true})
        );
    }
    assert_eq!(place.report("A"), ours);
}

#[test]
fn refused_reports_say_why_and_can_be_mended() {
    let place = Place::new("generic");
    let mut worker = place.worker("A", "");
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

    let mut stranger = place.with_token("A", "", "00000000000000000000000000000000");
    let foreign = stranger.call(
        "report_agent_job_result",
        json!({"id": "A", "status": "completed"}),
    );
    assert_eq!(foreign["reason"], "the token is not that of this attempt");
}

#[test]
fn board_messages_and_wisdom() {
    let place = Place::new("generic");
    let mut worker = place.worker("A", "worker");
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
    let (messages, _) = place.session.bus().read().unwrap();
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
    let text = fs::read_to_string(place.session.path().join("wisdom/learnings.md")).unwrap();
    assert!(text.contains("[worker] read the tests first"), "{text}");
    let wrong = worker.complaint("wisdom", json!({"file": "learnings"}));
    assert!(wrong.contains("missing field `text`"), "{wrong}");
}

#[test]
fn the_current_protocol_and_the_one_before_are_spoken() {
    let place = Place::new("generic");
    for version in [VERSION, "2025-06-18"] {
        let session = place.session.path().to_str().unwrap();
        let env = [
            ("WAVECREW_SESSION_DIR", session),
            ("WAVECREW_TASK", "A"),
            ("WAVECREW_ATTEMPT", "1"),
            ("WAVECREW_TOKEN", "x"),
        ];
        let mut client = Client::silent(place.root.path(), &["--worker"], &env);
        assert_eq!(client.introduce(version)["protocolVersion"], version);
        assert_eq!(client.tools().len(), 6);
    }
}

#[test]
fn garbage_does_not_end_the_conversation() {
    let place = Place::new("generic");
    let mut worker = place.worker("A", "");
    for garbage in ["not json", "{\"jsonrpc\":\"2.0\"}", "[1,2", "\u{0}\u{1}"] {
        worker.line(garbage);
    }
    assert_eq!(worker.tools().len(), 6);
}

#[test]
fn outside_of_a_run_it_says_so() {
    let root = tempfile::tempdir().unwrap();
    let client = Client::silent(root.path(), &["--worker"], &[]);
    assert_eq!(client.hang_up(), 2);
}
