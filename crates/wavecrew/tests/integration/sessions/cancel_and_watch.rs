//! `watch`, `cancel`, `archive` beside a run, which the test plays by holding the lock.

use crate::sessions::support::{Session, TABLE, finished, half_way, timeless};
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use wavecrew_core::event::{Event, RunOutcome, Status};
use wavecrew_core::time::Timestamp;
use wavecrew_session::SessionState;
use wavecrew_test_support::sandbox::{Running, Sandbox, Words, wait_for};

/// Waits for the request that the program leaves for the run, and takes it as the run would.
fn take_request(session: &Session) -> String {
    let control = session.dir.run_folder().join("control");
    let request = wait_for("a request", || fs::read_to_string(&control).ok());
    fs::remove_file(&control).expect("the request is taken");
    request
}

fn start(sandbox: &Sandbox, words: impl Words) -> Running {
    sandbox.spawn(&mut sandbox.command(words))
}

/// Starts the program with its output on a pipe.
fn start_piped(sandbox: &Sandbox, words: &str) -> Child {
    let mut command = sandbox.command(words);
    command
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

#[test]
fn cancelling_a_run_waits_until_it_is_gone() {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "run-x-20260308", "generic", TABLE);
    let lock = session.lock();
    let cancel = start(&sandbox, &format!("cancel run-x --wait {}", u64::MAX));
    assert_eq!(take_request(&session), "cancel");
    drop(lock);
    assert_eq!(cancel.wait().ok(), "run-x-20260308 is cancelled\n");
}

#[test]
fn a_run_is_paused_and_resumed() {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "run-x-20260308", "generic", TABLE);
    let _lock = session.lock();
    for (args, request, state) in [
        ("cancel run-x --pause --json", "pause", "paused"),
        ("resume run-x --json", "resume", "running"),
        ("cancel run-x --resume --json", "resume", "running"),
    ] {
        let command = start(&sandbox, args);
        assert_eq!(take_request(&session), request);
        assert_eq!(command.wait().json()["state"], state);
    }
}

#[test]
fn a_run_that_does_not_stop_in_time_is_an_error() {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "run-x-20260308", "generic", TABLE);
    let _lock = session.lock();
    sandbox.wavecrew("cancel run-x --wait 0").expect_error(
        1,
        &[
            "is still running by `wavecrew run tasks.csv` (process 4711",
            "--wait",
        ],
    );
}

#[test]
fn a_session_without_a_run_is_cancelled_and_archived() {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "run-x-20260308", "generic", TABLE);
    sandbox
        .wavecrew("cancel run-x --pause")
        .expect_error(2, &["is not running", "wavecrew resume run-x-20260308"]);
    assert_eq!(
        sandbox.wavecrew("cancel run-x").ok(),
        "run-x-20260308 is cancelled\n"
    );
    assert_eq!(session.dir.read_info().unwrap().state, SessionState::Cancelled);
    assert_eq!(
        sandbox.wavecrew("archive run-x").ok(),
        "run-x-20260308 is archived\n"
    );
    assert_eq!(session.dir.read_info().unwrap().state, SessionState::Archived);
    assert_eq!(sandbox.wavecrew("status --json").json()["state"], "archived");
}

#[test]
fn an_ended_session_keeps_its_state() {
    let sandbox = Sandbox::new();
    for (state, word) in [
        (SessionState::Completed, "completed"),
        (SessionState::Failed, "failed"),
        (SessionState::Archived, "archived"),
    ] {
        let id = format!("run-{word}");
        let mut session = Session::new(&sandbox, &id, "generic", TABLE);
        session.state(state);
        assert_eq!(
            sandbox.wavecrew(&format!("cancel {id}")).ok(),
            format!("{id} has already ended: it is {word}\n")
        );
        assert_eq!(
            sandbox.wavecrew(&format!("cancel {id} --json")).json()["state"],
            word
        );
        assert_eq!(session.dir.read_info().unwrap().state, state);
    }
    // A run that ends by itself while it gets the signal.
    let mut session = Session::new(&sandbox, "run-x", "generic", TABLE);
    let lock = session.lock();
    let cancel = start(&sandbox, "cancel run-x");
    take_request(&session);
    session.state(SessionState::Completed);
    drop(lock);
    assert_eq!(cancel.wait().ok(), "run-x has already ended: it is completed\n");
}

#[test]
fn a_running_session_is_not_archived() {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "run-x-20260308", "generic", TABLE);
    let _lock = session.lock();
    sandbox.wavecrew("archive run-x").expect_error(
        2,
        &[
            "is running by `wavecrew run tasks.csv`",
            "wavecrew cancel run-x-20260308",
        ],
    );
    assert_eq!(session.dir.read_info().unwrap().state, SessionState::Running);
}

/// The rest of the run that `half_way` begins.
fn the_rest() -> Vec<Event> {
    vec![
        finished("C", 60, Status::Completed, "fine"),
        Event::WaveMerged { wave: 2 },
        Event::RunEnded {
            at: Timestamp(1_772_964_061_000),
            ending: RunOutcome::Failed,
        },
    ]
}

#[test]
fn watching_ends_with_the_run_and_with_its_exit_code() {
    let sandbox = Sandbox::new();
    let mut session = Session::new(&sandbox, "run-x-20260308", "generic", TABLE);
    session.record(&half_way());
    let lock = session.lock();
    let mut watch = start_piped(&sandbox, "watch --json");
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let mut line = || -> serde_json::Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    let first = line();
    assert_eq!(
        (&first["event"], &first["session"]),
        (&"session".into(), &"run-x-20260308".into())
    );
    session.record(&the_rest());
    drop(lock);
    let finished = line();
    assert_eq!(
        (&finished["event"], &finished["task"]),
        (&"finished".into(), &"C".into())
    );
    assert_eq!(line()["event"], "wave_merged");
    assert_eq!(line()["event"], "run_ended");
    let end = line();
    assert_eq!((&end["event"], &end["exit"]), (&"end".into(), &1.into()));
    assert_eq!(end["counts"]["completed"], 2);
    assert_eq!(end["ending"]["kind"], "failed");
    assert_eq!(watch.wait().unwrap().code(), Some(1));
}

#[test]
fn watching_without_a_terminal_is_calm() {
    let sandbox = Sandbox::new();
    let mut session = Session::new(&sandbox, "run-x-20260308", "generic", TABLE);
    session.record(&half_way());
    let lock = session.lock();
    let mut watch = start_piped(&sandbox, "watch -v");
    let mut out = BufReader::new(watch.stdout.take().unwrap());
    let mut text = String::new();
    // Everything after this line is printed as it happens.
    out.read_line(&mut text).unwrap();
    session.record(&[Event::SentBack {
        task: "C".to_owned(),
        attempt: 1,
        turn: 2,
        reason: "no \u{1b}[31mstatus".to_owned(),
    }]);
    session.record(&the_rest());
    drop(lock);
    std::io::Read::read_to_string(&mut out, &mut text).unwrap();
    assert_eq!(watch.wait().unwrap().code(), Some(1));
    insta::assert_snapshot!(timeless(&text));
}

#[test]
fn watching_an_ended_session_shows_its_report() {
    let sandbox = Sandbox::new();
    let mut session = Session::new(&sandbox, "run-x-20260308", "generic", TABLE);
    session
        .record(&half_way())
        .record(&the_rest())
        .state(SessionState::Failed);
    let outcome = sandbox.wavecrew("watch run-x");
    assert_eq!(outcome.code, Some(1));
    insta::assert_snapshot!(timeless(&outcome.stdout));
}
