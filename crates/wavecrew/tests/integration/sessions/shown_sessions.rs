//! `list`, `status`, `show`, `logs`: what people and programs see of a session.

use crate::sessions::support::{Session, TABLE, half_way, timeless};
use std::fs;
use wavecrew_session::SessionState;
use wavecrew_test_support::sandbox::Sandbox;

#[test]
fn an_empty_list_suggests_what_to_do() {
    let sandbox = Sandbox::new();
    assert_eq!(
        sandbox.wavecrew("list").ok(),
        "No sessions yet. `wavecrew run` starts one.\n"
    );
    sandbox
        .wavecrew("status")
        .expect_error(2, &["there is no session in this project yet", "wavecrew run"]);
}

#[test]
fn sessions_are_listed_newest_first_with_broken_ones_at_the_end() {
    let sandbox = Sandbox::new();
    Session::new(&sandbox, "run-old-20260301", "generic", TABLE)
        .started("2026-03-01T10:00:00Z")
        .state(SessionState::Completed);
    Session::new(&sandbox, "run-new-20260308", "generic", TABLE)
        .record(&half_way())
        .state(SessionState::Failed);
    let broken = Session::new(&sandbox, "run-broken-20260309", "generic", TABLE);
    fs::write(broken.dir.session_json(), "{ half").unwrap();
    let list =
        timeless(&sandbox.wavecrew("list").ok()).replace(&sandbox.project().display().to_string(), "PROJECT");
    insta::assert_snapshot!(list.replace("/private", ""));
    let json = sandbox.wavecrew("list --json").json();
    assert_eq!(json[0]["session"], "run-new-20260308");
    assert_eq!(json[0]["counts"]["completed"], 1);
    assert_eq!(json[2]["state"], "broken");
}

#[test]
fn a_running_session_shows_its_waves_and_who_runs_it() {
    let sandbox = Sandbox::new();
    let mut session = Session::new(&sandbox, "run-x-20260308", "generic", TABLE);
    session.record(&half_way());
    let _lock = session.lock();
    insta::assert_snapshot!(timeless(&sandbox.wavecrew("status").ok()));
    let json = sandbox.wavecrew("check run-x --json").json();
    assert_eq!(json["session"], "run-x-20260308");
    assert_eq!(json["team"], "generic");
    assert_eq!(json["state"], "running");
    assert_eq!((&json["waves"], &json["wave"]), (&3.into(), &2.into()));
    let counts = serde_json::json!({"pending": 0, "running": 1, "completed": 1, "failed": 1, "skipped": 1});
    assert_eq!(json["counts"], counts);
    assert_eq!(json["tasks"][2]["status"], "running");
    assert_eq!(json["tasks"][1]["stop_reason"], "crashed");
}

#[test]
fn a_session_without_a_run_has_interrupted_tasks() {
    let sandbox = Sandbox::new();
    Session::new(&sandbox, "run-x-20260308", "generic", TABLE).record(&half_way());
    let text = sandbox.wavecrew("status").ok();
    assert!(
        text.contains("[PEND] C  writer  Check it · interrupted\n"),
        "{text}"
    );
    let json = sandbox.wavecrew("status --json").json();
    assert_eq!(
        (&json["state"], &json["counts"]["running"]),
        (&"stopped".into(), &0.into())
    );
    assert_eq!(json["counts"]["pending"], 1);
}

#[test]
fn a_folder_without_a_journal_is_read_from_its_table() {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "run-x-20260308", "generic", TABLE);
    fs::remove_file(session.dir.journal_file()).unwrap();
    fs::write(
        session.dir.tasks_csv(),
        "id,description,status,error\nA,d,completed,\nB,d,failed,'=no\n",
    )
    .unwrap();
    let json = sandbox.wavecrew("status --json").json();
    assert_eq!(json["counts"]["completed"], 1);
    assert_eq!(json["tasks"][1]["error"], "=no");
}

#[test]
fn a_damaged_session_shows_what_can_be_read() {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "run-x-20260308", "generic", TABLE);
    fs::write(session.dir.session_json(), "{ half").unwrap();
    fs::write(session.dir.run_folder().join("team.toml"), "name = ").unwrap();
    let outcome = sandbox.wavecrew("status run-x-20260308");
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("session.json") && outcome.stderr.contains("team.toml:1"),
        "{}",
        outcome.stderr
    );
    assert!(
        outcome.stdout.contains("broken") && outcome.stdout.contains("[PEND] A"),
        "{}",
        outcome.stdout
    );
    fs::write(session.dir.run_folder().join("plan.csv"), "id\n").unwrap();
    fs::write(session.dir.tasks_csv(), "nothing\n").unwrap();
    sandbox.wavecrew("status run-x").expect_error(
        2,
        &[
            "cannot read the session",
            "tasks.csv:1: The file has a header and no tasks",
        ],
    );
}

#[test]
fn an_unknown_session_is_refused_with_suggestions() {
    let sandbox = Sandbox::new();
    Session::new(&sandbox, "run-parser-20260308", "generic", TABLE);
    Session::new(&sandbox, "run-parser-20260308-2", "generic", TABLE);
    for verb in ["status", "watch", "logs", "show", "archive", "cancel"] {
        sandbox
            .wavecrew(&format!("{verb} run-parsr-20260308"))
            .expect_error(
                2,
                &[
                    "there is no session `run-parsr-20260308`",
                    "did you mean `run-parser-20260308`?",
                ],
            );
    }
    for verb in ["archive", "cancel", "retry", "resume"] {
        sandbox
            .wavecrew(&format!("{verb} run-p"))
            .expect_error(2, &["`run-p` matches 2 sessions", "run-parser-20260308-2"]);
    }
    for verb in ["status", "show", "logs"] {
        let outcome = sandbox.wavecrew(&format!("{verb} run-p"));
        assert!(
            outcome
                .stderr
                .contains("note: `run-p` matches 2 sessions; using the latest, run-parser"),
            "{}",
            outcome.stderr
        );
        outcome.ok();
    }
    sandbox
        .wavecrew("status ../x")
        .expect_error(2, &["there is no session `../x`", "sessions: run-parser"]);
    let by_path = sandbox
        .wavecrew("status .workflow/.csv-wave/run-parser-20260308/")
        .ok();
    assert!(by_path.starts_with("run-parser-20260308 "), "{by_path}");
}

#[test]
fn the_report_is_shown_from_what_happened() {
    let sandbox = Sandbox::new();
    Session::new(&sandbox, "run-x-20260308", "generic", TABLE)
        .record(&half_way())
        .state(SessionState::Failed);
    insta::assert_snapshot!(sandbox.wavecrew("show run-x").ok());
    let json = sandbox.wavecrew("show run-x --json").json();
    assert!(
        json["report"]
            .as_str()
            .unwrap()
            .contains("[FAIL] **B: Write it**")
    );
}

#[test]
fn logs_are_listed_and_shown_without_what_a_terminal_obeys() {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "run-x-20260308", "generic", TABLE);
    assert!(
        sandbox
            .wavecrew("logs run-x")
            .ok()
            .contains("has printed anything")
    );
    fs::write(session.dir.log_file("A", 1), "first\n").unwrap();
    fs::write(
        session.dir.log_file("A", 2),
        b"\x1b]0;title\x07\x1b[31mred\x1b[0m\n\xff no end",
    )
    .unwrap();
    fs::write(session.dir.log_file("B", 1), vec![b'x'; 200_000]).unwrap();
    insta::assert_snapshot!(sandbox.wavecrew("logs run-x").ok());
    assert_eq!(sandbox.wavecrew("logs run-x A").ok(), "red\n\u{fffd} no end\n");
    assert_eq!(sandbox.wavecrew("logs run-x A --attempt 1").ok(), "first\n");
    assert_eq!(
        sandbox.wavecrew("logs run-x A --attempt 1 --json").json(),
        serde_json::json!({"version": 1, "task": "A", "attempt": 1, "kind": "text", "text": "first"})
    );
    assert_eq!(sandbox.wavecrew("logs run-x B").ok().trim_end().len(), 200_000);
    let raw = sandbox.command("logs run-x A --raw").output().unwrap();
    assert_eq!(raw.stdout, b"\x1b]0;title\x07\x1b[31mred\x1b[0m\n\xff no end");
    assert_eq!(sandbox.wavecrew("logs run-x --json").json()[1]["attempt"], 2);
    // Nobody runs it: following ends where the log does.
    assert_eq!(sandbox.wavecrew("logs run-x A --attempt 1 -f").ok(), "first\n");
    sandbox
        .wavecrew("logs run-x A --attempt 7")
        .expect_error(2, &["attempt 7", "attempts with a log: 1, 2"]);
    sandbox
        .wavecrew("logs run-x C")
        .expect_error(2, &["`C` printed nothing"]);
    sandbox
        .wavecrew("logs run-x ZZ")
        .expect_error(2, &["there is no task `ZZ`"]);
}

#[test]
fn commands_without_a_session_use_the_latest() {
    let sandbox = Sandbox::new().script("agent.sh", "#!/bin/sh\n");
    Session::new(&sandbox, "run-old-20260301", "generic", TABLE).started("2026-03-01T10:00:00Z");
    let session = Session::new(&sandbox, "run-new-20260308", "generic", TABLE);
    fs::write(session.dir.log_file("A", 1), "first\n").unwrap();
    assert_eq!(sandbox.wavecrew("logs --json").json()[0]["task"], "A");
    assert_eq!(sandbox.wavecrew("logs A").ok(), "first\n");
    sandbox
        .wavecrew("logs --full")
        .expect_error(2, &["no task is named", "wavecrew logs run-new-20260308 TASK"]);
    sandbox
        .wavecrew("export out")
        .expect_error(2, &["the session `run-new-20260308` has no deliverables yet"]);
    sandbox
        .wavecrew("retry")
        .expect_error(2, &["no task of this session failed"]);
    assert_eq!(sandbox.wavecrew("cancel").ok(), "run-new-20260308 is cancelled\n");
    assert_eq!(sandbox.wavecrew("archive").ok(), "run-new-20260308 is archived\n");
}

#[test]
fn json_has_a_version_and_errors_are_json_too() {
    let sandbox = Sandbox::new();
    Session::new(&sandbox, "run-x-20260308", "generic", TABLE);
    assert_eq!(sandbox.wavecrew("status --json").json()["version"], 1);
    assert_eq!(sandbox.wavecrew("list --json").json()[0]["version"], 1);
    for (args, message) in [
        ("status nosuch --json", "there is no session `nosuch`"),
        ("status --json --nosuch", "unexpected argument '--nosuch' found"),
    ] {
        let outcome = sandbox.wavecrew(args);
        assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(message), "{}", outcome.stderr);
        let document: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
        assert_eq!(document["version"], 1);
        assert_eq!(document["error"]["message"], message);
        assert_eq!(document["error"]["exit"], 2);
        assert!(document["error"]["help"].is_string(), "{document}");
    }
}
