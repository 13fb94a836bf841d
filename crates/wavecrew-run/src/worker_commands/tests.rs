use super::*;
use serde_json::json;
use std::fs;
use std::path::Path;
use wavecrew_session::{SessionDir, Token};

struct TestSession {
    root: tempfile::TempDir,
    session: SessionDir,
    token: Token,
}

impl TestSession {
    fn new(team: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        let session = SessionDir::create(root.path(), "tst-x-20260308", &[]).unwrap();
        let text = Team::builtin_text(team).unwrap();
        fs::write(session.team_file(), text).unwrap();
        let token = session.attempts().open_attempt("A-1", 1).unwrap();
        Self { root, session, token }
    }

    fn worker(&self, role: &str, token: &str) -> WorkerCommands {
        let folder = self.session.path().to_str().unwrap().to_owned();
        let who = Identity::from_variables(|name| match name {
            "WAVECREW_SESSION_DIR" => Some(folder.clone()),
            "WAVECREW_TASK" => Some("A-1".to_owned()),
            "WAVECREW_ATTEMPT" => Some("1".to_owned()),
            "WAVECREW_ROLE" => Some(role.to_owned()),
            "WAVECREW_TOKEN" => Some(token.to_owned()),
            _ => None,
        });
        WorkerCommands::open(who.unwrap()).unwrap()
    }

    fn its_worker(&self, role: &str) -> WorkerCommands {
        self.worker(role, self.token.as_str())
    }
}

#[test]
fn a_bad_report_can_be_corrected_and_a_good_one_counts_once() {
    let test = TestSession::new("testing");
    let worker = test.its_worker("executor");
    for (body, why) in [
        ("done", "not a JSON object"),
        (r#"{"id":"B-1","status":"completed"}"#, "is for task `B-1`"),
        (
            r#"{"job_id":"other","item_id":"A-1","result":{}}"#,
            "is for job `other`",
        ),
        (r#"{"id":"A-1","status":"maybe"}"#, "at /status"),
    ] {
        let error = worker.report(body).unwrap_err().to_string();
        assert!(error.contains(why), "{body}: {error}");
    }
    worker.report(r#"{"id":"A-1","status":"completed"}"#).unwrap();
    let error = worker.report(r#"{"id":"A-1","status":"failed"}"#).unwrap_err();
    assert_eq!(error.to_string(), "this attempt has already reported");
    let report = test.session.attempts().take_report("A-1", 1).unwrap();
    assert_eq!(report.unwrap(), br#"{"id":"A-1","status":"completed"}"#);
}

#[test]
fn another_workers_token_is_refused() {
    let test = TestSession::new("generic");
    let error = test
        .worker("", "0123456789abcdef0123456789abcdef")
        .report(r#"{"id":"A-1","status":"completed"}"#)
        .unwrap_err();
    assert_eq!(error.to_string(), "the token is not that of this attempt");
}

#[test]
fn without_a_session_the_error_names_the_variable() {
    let error = Identity::from_variables(|_| None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "this is for workers: $WAVECREW_SESSION_DIR is not set"
    );
    let gone = Identity::from_variables(|_| Some("/nowhere/at/all".to_owned())).unwrap_err();
    assert!(gone.to_string().contains("does not lead to a session"), "{gone}");
}

#[test]
fn the_board_accepts_the_teams_types_and_lists_each_key_once() {
    let test = TestSession::new("generic");
    let worker = test.its_worker("");
    let data = |text: &str| json!({"subject": "config", "description": text});
    let entry = |value: Value| value.as_object().unwrap().clone();
    assert_eq!(
        worker.discover("finding", entry(data("one"))).unwrap(),
        Vec::<String>::new()
    );
    let warnings = worker
        .discover("finding", entry(json!({"subject": "x", "files": "a", "mood": 1})))
        .unwrap();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    worker.discover("finding", entry(data("two"))).unwrap();
    worker.discover("own_type", entry(json!({"a": 1}))).unwrap();
    let error = worker
        .discover("finding", entry(json!({"description": "no key"})))
        .unwrap_err();
    assert_eq!(error.to_string(), "a discovery of type `finding` needs `subject`");
    let found = worker.discoveries(Some("finding")).unwrap();
    let texts: Vec<_> = found.iter().map(|entry| &entry.data["description"]).collect();
    assert_eq!(texts, [&Value::Null, &json!("two")]);
    assert_eq!(worker.discoveries(None).unwrap().len(), 3);

    let strict = TestSession::new("testing");
    let error = strict
        .its_worker("executor")
        .discover("nonsense", Map::new())
        .unwrap_err();
    assert_eq!(error.to_string(), "there is no type `nonsense` of discovery");
}

#[test]
fn roles_send_the_messages_of_their_team() {
    let test = TestSession::new("testing");
    let worker = test.its_worker("strategist");
    let role = worker.team.role("strategist").unwrap().clone();
    worker
        .message(&role.messages[0], "ready", Value::Null, None)
        .unwrap();
    let error = worker.message("gossip", "psst", Value::Null, None).unwrap_err();
    assert_eq!(error.to_string(), "the role `strategist` does not send `gossip`");
    let error = worker
        .message(&role.messages[0], "psst", Value::Null, Some("executor"))
        .unwrap_err();
    assert_eq!(error.to_string(), "`strategist` may not write to `executor`");
    let own = role.state[0].clone();
    worker
        .message(STATE_UPDATE, "", json!({ own.clone(): 1 }), None)
        .unwrap();
    let error = worker
        .message(
            STATE_UPDATE,
            "",
            json!({ own.clone(): 2, "defects_of_nobody": 1 }),
            None,
        )
        .unwrap_err();
    assert!(error.to_string().contains("defects_of_nobody"), "{error}");
    assert_eq!(test.session.shared_state().read().unwrap()[&own], 1);
}

#[test]
fn wisdom_is_written_to_the_four_files_only() {
    let test = TestSession::new("generic");
    let worker = test.its_worker("worker");
    worker.wisdom("learnings", "tests live beside the code").unwrap();
    let path = test
        .root
        .path()
        .join(".workflow/.csv-wave/tst-x-20260308/wisdom/learnings.md");
    let learnings = fs::read_to_string::<&Path>(&path).unwrap();
    assert!(
        learnings.contains("- [worker] tests live beside the code"),
        "{learnings}"
    );
    let error = worker.wisdom("learning", "x").unwrap_err();
    assert_eq!(error.help(), "did you mean `learnings`?");
    assert!(worker.wisdom("../../x", "x").is_err());
    assert!(worker.wisdom("issues", "  ").is_err());
}
