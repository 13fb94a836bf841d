//! The commands that workers use: with their environment, against their team.

use crate::sessions::support::{Project, Said, Session, said};
use std::io::Write;
use std::process::Stdio;
use wavecrew_session::{Token, WisdomFile};

const ROWS: &str = "id,title,description,role,layer,coverage_target,exec_mode,deps\n\
    STRATEGY-001,Plan,d,strategist,,,csv-wave,\nTESTGEN-001,Write,d,generator,L1,80,csv-wave,STRATEGY-001\n";

struct Bench {
    project: Project,
    session: Session,
    token: Token,
}

impl Bench {
    fn new(team: &str) -> Self {
        let project = Project::new();
        let session = project.session("tst-x-20260308", team, ROWS);
        let opened = session.dir.attempts().open_attempt("STRATEGY-001", 1);
        let token = opened.expect("the attempt is open");
        Self {
            project,
            session,
            token,
        }
    }

    /// Runs a command as the worker on the first task.
    fn worker(&self, args: &[&str]) -> Said {
        said(self.worker_command(args).output().expect("the program starts"))
    }

    fn worker_command(&self, args: &[&str]) -> std::process::Command {
        let mut command = self.project.command(args);
        command
            .env("WAVECREW_SESSION_DIR", self.session.dir.path())
            .env("WAVECREW_TASK", "STRATEGY-001")
            .env("WAVECREW_ATTEMPT", "1")
            .env("WAVECREW_ROLE", "strategist")
            .env("WAVECREW_TOKEN", self.token.as_str());
        command
    }
}

const GOOD: &str = r#"{"id":"STRATEGY-001","status":"completed","findings":"two layers"}"#;

#[test]
fn a_report_is_accepted_once() {
    let bench = Bench::new("testing");
    assert_eq!(bench.worker(&["report", GOOD]).ok(), "accepted\n");
    let handed_in = bench
        .session
        .dir
        .attempts()
        .take_report("STRATEGY-001", 1)
        .unwrap();
    assert_eq!(handed_in.unwrap(), GOOD.as_bytes());
    bench
        .worker(&["report", GOOD])
        .refused(1, &["refused: this attempt has already reported"]);
}

#[test]
fn a_report_comes_from_standard_input_too() {
    let bench = Bench::new("testing");
    let mut command = bench.worker_command(&["report", "-", "--json"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(GOOD.as_bytes()).unwrap();
    assert_eq!(said(child.wait_with_output().unwrap()).json()["accepted"], true);
}

#[test]
fn a_bad_report_is_refused_with_the_reason_and_may_be_mended() {
    let bench = Bench::new("testing");
    for (report, reason) in [
        ("done!", "not a JSON object"),
        (
            r#"{"id":"TESTGEN-001","status":"completed"}"#,
            "is for task `TESTGEN-001`",
        ),
        (r#"{"id":"STRATEGY-001","status":"great"}"#, "at /status"),
    ] {
        bench
            .worker(&["report", report])
            .refused(1, &["refused: ", reason]);
    }
    let json = bench.worker(&["report", "{}", "--json"]);
    assert_eq!(json.code, Some(1));
    assert!(
        json.out.starts_with("{\"accepted\":false,\"reason\":"),
        "{}",
        json.out
    );
    let stranger = bench
        .worker_command(&["report", GOOD])
        .env("WAVECREW_TOKEN", "guessed")
        .output()
        .unwrap();
    said(stranger).refused(1, &["the token is not that of this attempt"]);
    bench.worker(&["report", GOOD]).ok();
}

#[test]
fn people_are_told_that_a_command_is_for_workers() {
    let project = Project::new();
    for args in [
        &["report", "{}"][..],
        &["discover", "finding", "{}"],
        &["msg", "--type", "error"],
        &["wisdom", "issues", "x"],
    ] {
        project
            .run(args)
            .refused(2, &["this is for workers", "$WAVECREW_SESSION_DIR is not set"]);
    }
    let gone = project
        .command(&["wisdom", "issues", "x"])
        .env("WAVECREW_SESSION_DIR", "/nowhere")
        .env("WAVECREW_ATTEMPT", "1")
        .output();
    said(gone.unwrap()).refused(2, &["does not lead to a session"]);
}

#[test]
fn a_discovery_says_who_found_it_and_when() {
    let bench = Bench::new("generic");
    let finding = r#"{"subject":"config","description":"read twice","files":["a.rs"]}"#;
    assert_eq!(bench.worker(&["discover", "finding", finding]).ok(), "noted\n");
    let board = bench.session.dir.board().read().unwrap();
    let entry = &board.entries[0];
    assert_eq!(
        (entry.worker.as_str(), entry.kind.as_str(), entry.attempt),
        ("STRATEGY-001", "finding", Some(1))
    );
    assert_eq!(entry.data["subject"], "config");
    assert!(entry.ts.ends_with('Z'), "{}", entry.ts);
    // A team for any table takes any type.
    bench.worker(&["discover", "rumour", "{}"]).ok();
}

#[test]
fn a_discovery_that_does_not_fit_is_explained() {
    let bench = Bench::new("generic");
    bench
        .worker(&["discover", "finding", "[1]"])
        .refused(2, &["not a JSON object"]);
    bench
        .worker(&["discover", "finding", "{}"])
        .refused(2, &["needs `subject`", "subject, description, files[]"]);
    let odd = bench.worker(&[
        "discover",
        "finding",
        r#"{"subject":"x","files":"a.rs","descripton":"y"}"#,
    ]);
    assert_eq!(odd.code, Some(0), "{}", odd.err);
    assert!(odd.err.contains("`files` is usually a list"), "{}", odd.err);
    assert!(odd.err.contains("no field `descripton`"), "{}", odd.err);
    let strict = Bench::new("testing");
    strict
        .worker(&["discover", "rumour", "{}"])
        .refused(2, &["there is no type `rumour`", "`testing` has: "]);
}

#[test]
fn messages_are_those_of_the_role() {
    let bench = Bench::new("testing");
    bench
        .worker(&[
            "msg",
            "--type",
            "strategy_ready",
            "--summary",
            "3 layers",
            "--data",
            "{\"n\":3}",
        ])
        .ok();
    let (messages, _) = bench.session.dir.bus().read().unwrap();
    assert_eq!(messages[0].summary, "[strategist] 3 layers");
    assert_eq!(
        (messages[0].to.as_str(), &messages[0].data["n"]),
        ("coordinator", &3.into())
    );
    bench.worker(&["msg", "--type", "tests_passed"]).refused(
        2,
        &[
            "the role `strategist` does not send `tests_passed`",
            "strategy_ready",
        ],
    );
    bench
        .worker(&["msg", "--type", "error", "--to", "generator"])
        .refused(2, &["may not write to `generator`", "coordinator only"]);
    bench
        .worker(&["msg", "--type", "error", "--data", "{"])
        .refused(2, &["--data is not JSON"]);
}

#[test]
fn shared_state_is_set_by_its_owner_all_or_nothing() {
    let bench = Bench::new("testing");
    bench
        .worker(&[
            "msg",
            "--type",
            "state_update",
            "--data",
            r#"{"test_strategy":{"layers":2}}"#,
        ])
        .ok();
    bench
        .worker(&[
            "msg",
            "--type",
            "state_update",
            "--data",
            r#"{"generated_tests":1,"test_strategy":9}"#,
        ])
        .refused(
            2,
            &["may not set `generated_tests`, which belongs to `generator`"],
        );
    bench
        .worker(&["msg", "--type", "state_update"])
        .refused(2, &["needs the fields to set"]);
    let state = bench.session.dir.shared_state().read().unwrap();
    assert_eq!(state["test_strategy"]["layers"], 2);
}

#[test]
fn wisdom_is_written_down_with_its_author() {
    let bench = Bench::new("testing");
    bench.worker(&["wisdom", "learnings", "- use", "fakes"]).ok();
    let text = bench.session.dir.wisdom().read(WisdomFile::Learnings).unwrap();
    assert_eq!(text, "# Learnings\n- [strategist] - use fakes\n");
    bench
        .worker(&["wisdom", "learnigs", "x"])
        .refused(2, &["did you mean `learnings`?"]);
    bench
        .worker(&["wisdom", "../x", "x"])
        .refused(2, &["learnings, decisions, conventions, issues"]);
}
