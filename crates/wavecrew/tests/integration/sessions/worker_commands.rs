//! The commands that workers use: with their environment, against their team.

use crate::sessions::support::Session;
use std::fs::File;
use wavecrew_session::{Token, WisdomFile};
use wavecrew_test_support::sandbox::{Outcome, Sandbox};

const ROWS: &str = "id,title,description,role,layer,coverage_target,exec_mode,deps\n\
    STRATEGY-001,Plan,d,strategist,,,csv-wave,\nTESTGEN-001,Write,d,generator,L1,80,csv-wave,STRATEGY-001\n";

/// The worker of the first task in a session of a team.
struct Worker {
    sandbox: Sandbox,
    session: Session,
    token: Token,
}

impl Worker {
    fn new(team: &str) -> Self {
        let sandbox = Sandbox::new();
        let session = Session::new(&sandbox, "tst-x-20260308", team, ROWS);
        let opened = session.dir.attempts().open_attempt("STRATEGY-001", 1);
        let token = opened.expect("the attempt is open");
        Self {
            sandbox,
            session,
            token,
        }
    }

    fn run(&self, args: &[&str]) -> Outcome {
        self.run_with_token(args, self.token.as_str())
    }

    fn run_with_token(&self, args: &[&str], token: &str) -> Outcome {
        self.sandbox.spawn(&mut self.command(args, token)).wait()
    }

    fn command(&self, args: &[&str], token: &str) -> std::process::Command {
        let mut command = self.sandbox.command(args);
        command
            .env("WAVECREW_SESSION_DIR", self.session.dir.path())
            .env("WAVECREW_TASK", "STRATEGY-001")
            .env("WAVECREW_ATTEMPT", "1")
            .env("WAVECREW_ROLE", "strategist")
            .env("WAVECREW_TOKEN", token);
        command
    }
}

const GOOD: &str = r#"{"id":"STRATEGY-001","status":"completed","findings":"two layers"}"#;

#[test]
fn a_report_is_accepted_once() {
    let worker = Worker::new("testing");
    assert_eq!(worker.run(&["report", GOOD]).ok(), "accepted\n");
    let handed_in = worker
        .session
        .dir
        .attempts()
        .take_report("STRATEGY-001", 1)
        .unwrap();
    assert_eq!(handed_in.unwrap(), GOOD.as_bytes());
    worker
        .run(&["report", GOOD])
        .expect_error(1, &["refused: this attempt has already reported"]);
}

#[test]
fn a_report_comes_from_standard_input_too() {
    let worker = Worker::new("testing");
    worker.sandbox.write("report.json", GOOD);
    let mut command = worker.command(&["report", "-", "--json"], worker.token.as_str());
    command.stdin(File::open(worker.sandbox.path("report.json")).unwrap());
    let outcome = worker.sandbox.spawn(&mut command).wait();
    assert_eq!(outcome.json()["accepted"], true);
}

#[test]
fn a_bad_report_is_refused_with_the_reason_and_may_be_corrected() {
    let worker = Worker::new("testing");
    for (report, reason) in [
        ("done!", "not a JSON object"),
        (
            r#"{"id":"TESTGEN-001","status":"completed"}"#,
            "is for task `TESTGEN-001`",
        ),
        (r#"{"id":"STRATEGY-001","status":"great"}"#, "at /status"),
    ] {
        worker
            .run(&["report", report])
            .expect_error(1, &["refused: ", reason]);
    }
    let json = worker.run(&["report", "{}", "--json"]);
    assert_eq!(json.code, Some(1));
    assert!(
        json.stdout.starts_with("{\"accepted\":false,\"reason\":"),
        "{}",
        json.stdout
    );
    worker
        .run_with_token(&["report", GOOD], "guessed")
        .expect_error(1, &["the token is not that of this attempt"]);
    worker.run(&["report", GOOD]).ok();
}

#[test]
fn a_command_for_workers_refuses_people() {
    let sandbox = Sandbox::new();
    for args in [
        "report {}",
        "discover finding {}",
        "msg --type error",
        "wisdom issues x",
    ] {
        sandbox
            .wavecrew(args)
            .expect_error(2, &["this is for workers", "$WAVECREW_SESSION_DIR is not set"]);
    }
    Sandbox::new()
        .env("WAVECREW_SESSION_DIR", "/nowhere")
        .env("WAVECREW_ATTEMPT", "1")
        .wavecrew("wisdom issues x")
        .expect_error(2, &["does not lead to a session"]);
}

#[test]
fn a_discovery_records_its_worker_and_time() {
    let worker = Worker::new("generic");
    let finding = r#"{"subject":"config","description":"read twice","files":["a.rs"]}"#;
    assert_eq!(worker.run(&["discover", "finding", finding]).ok(), "noted\n");
    let board = worker.session.dir.board().read().unwrap();
    let entry = &board.entries[0];
    assert_eq!(
        (entry.worker.as_str(), entry.kind.as_str(), entry.attempt),
        ("STRATEGY-001", "finding", Some(1))
    );
    assert_eq!(entry.data["subject"], "config");
    assert!(entry.ts.ends_with('Z'), "{}", entry.ts);
    // A team for any table takes any type.
    worker.run(&["discover", "rumour", "{}"]).ok();
}

#[test]
fn an_invalid_discovery_is_refused_with_the_reason() {
    let worker = Worker::new("generic");
    worker
        .run(&["discover", "finding", "[1]"])
        .expect_error(2, &["not a JSON object"]);
    worker
        .run(&["discover", "finding", "{}"])
        .expect_error(2, &["needs `subject`", "subject, description, files[]"]);
    let odd = worker.run(&[
        "discover",
        "finding",
        r#"{"subject":"x","files":"a.rs","descripton":"y"}"#,
    ]);
    assert_eq!(odd.code, Some(0), "{}", odd.stderr);
    assert!(odd.stderr.contains("`files` is usually a list"), "{}", odd.stderr);
    assert!(odd.stderr.contains("no field `descripton`"), "{}", odd.stderr);
    let strict = Worker::new("testing");
    strict
        .run(&["discover", "rumour", "{}"])
        .expect_error(2, &["there is no type `rumour`", "`testing` has: "]);
}

#[test]
fn a_role_sends_only_its_own_messages() {
    let worker = Worker::new("testing");
    worker
        .run(&[
            "msg",
            "--type",
            "strategy_ready",
            "--summary",
            "3 layers",
            "--data",
            "{\"n\":3}",
        ])
        .ok();
    let (messages, _) = worker.session.dir.bus().read().unwrap();
    assert_eq!(messages[0].summary, "[strategist] 3 layers");
    assert_eq!(
        (messages[0].to.as_str(), &messages[0].data["n"]),
        ("coordinator", &3.into())
    );
    worker.run(&["msg", "--type", "tests_passed"]).expect_error(
        2,
        &[
            "the role `strategist` does not send `tests_passed`",
            "strategy_ready",
        ],
    );
    worker
        .run(&["msg", "--type", "error", "--to", "generator"])
        .expect_error(2, &["may not write to `generator`", "only to the coordinator"]);
    worker
        .run(&["msg", "--type", "error", "--data", "{"])
        .expect_error(2, &["--data is not JSON"]);
}

#[test]
fn shared_state_is_set_by_its_owner_all_or_nothing() {
    let worker = Worker::new("testing");
    worker
        .run(&[
            "msg",
            "--type",
            "state_update",
            "--data",
            r#"{"test_strategy":{"layers":2}}"#,
        ])
        .ok();
    worker
        .run(&[
            "msg",
            "--type",
            "state_update",
            "--data",
            r#"{"generated_tests":1,"test_strategy":9}"#,
        ])
        .expect_error(
            2,
            &["may not set `generated_tests`, which belongs to `generator`"],
        );
    worker
        .run(&["msg", "--type", "state_update"])
        .expect_error(2, &["needs the fields to set"]);
    let state = worker.session.dir.shared_state().read().unwrap();
    assert_eq!(state["test_strategy"]["layers"], 2);
}

#[test]
fn wisdom_is_recorded_with_its_author() {
    let worker = Worker::new("testing");
    worker.run(&["wisdom", "learnings", "- use", "fakes"]).ok();
    let text = worker.session.dir.wisdom().read(WisdomFile::Learnings).unwrap();
    assert_eq!(text, "# Learnings\n- [strategist] - use fakes\n");
    worker
        .run(&["wisdom", "learnigs", "x"])
        .expect_error(2, &["did you mean `learnings`?"]);
    worker
        .run(&["wisdom", "../x", "x"])
        .expect_error(2, &["learnings, decisions, conventions, issues"]);
}
