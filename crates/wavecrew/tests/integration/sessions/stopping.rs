//! `watch`, `cancel`, `archive`: beside a run in another process, played by a test that holds the lock.

use crate::sessions::support::{Project, Session, TABLE, finished, half_way, said, timeless};
use std::fs;
use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};
use wavecrew_core::event::{Event, RunOutcome, Status};
use wavecrew_core::time::Timestamp;
use wavecrew_session::SessionState;

/// Waits until the program has left its word, as a run looks for it.
fn take_word(session: &Session) -> String {
    let control = session.dir.run_folder().join("control");
    let until = Instant::now() + Duration::from_mins(1);
    loop {
        if let Ok(word) = fs::read_to_string(&control) {
            fs::remove_file(&control).expect("the word is taken");
            return word;
        }
        assert!(Instant::now() < until, "no word came");
        std::thread::yield_now();
    }
}

#[test]
fn cancelling_a_run_waits_until_it_is_gone() {
    let project = Project::new();
    let session = project.session("run-x-20260308", "generic", TABLE);
    let lock = session.lock();
    let for_ever = u64::MAX.to_string();
    let cancel = project.start(&["cancel", "run-x", "--wait", &for_ever]);
    assert_eq!(take_word(&session), "cancel");
    drop(lock);
    let said = said(cancel.wait_with_output().unwrap());
    assert_eq!(said.ok(), "run-x-20260308 is cancelled\n");
}

#[test]
fn a_run_is_held_and_goes_on() {
    let project = Project::new();
    let session = project.session("run-x-20260308", "generic", TABLE);
    let _lock = session.lock();
    for (args, word, state) in [
        (&["cancel", "run-x", "--pause", "--json"][..], "pause", "paused"),
        (&["resume", "run-x", "--json"], "resume", "running"),
        (&["cancel", "run-x", "--resume", "--json"], "resume", "running"),
    ] {
        let told = project.start(args);
        assert_eq!(take_word(&session), word);
        assert_eq!(said(told.wait_with_output().unwrap()).json()["state"], state);
    }
}

#[test]
fn a_run_that_does_not_follow_is_said() {
    let project = Project::new();
    let session = project.session("run-x-20260308", "generic", TABLE);
    let _lock = session.lock();
    project.run(&["cancel", "run-x", "--wait", "0"]).refused(
        1,
        &[
            "is still running by `wavecrew run tasks.csv` (process 4711",
            "--wait",
        ],
    );
}

#[test]
fn a_session_that_nobody_runs_gets_its_state() {
    let project = Project::new();
    let session = project.session("run-x-20260308", "generic", TABLE);
    project
        .run(&["cancel", "run-x", "--pause"])
        .refused(2, &["is not running", "wavecrew resume run-x-20260308"]);
    assert_eq!(
        project.run(&["cancel", "run-x"]).ok(),
        "run-x-20260308 is cancelled\n"
    );
    assert_eq!(session.dir.read_info().unwrap().state, SessionState::Cancelled);
    assert_eq!(
        project.run(&["archive", "run-x"]).ok(),
        "run-x-20260308 is archived\n"
    );
    assert_eq!(session.dir.read_info().unwrap().state, SessionState::Archived);
    assert_eq!(project.run(&["status", "--json"]).json()["state"], "archived");
}

#[test]
fn what_is_over_stays_as_it_is() {
    let project = Project::new();
    for (state, word) in [
        (SessionState::Completed, "completed"),
        (SessionState::Failed, "failed"),
        (SessionState::Archived, "archived"),
    ] {
        let id = format!("run-{word}");
        let mut session = project.session(&id, "generic", TABLE);
        session.state(state);
        assert_eq!(
            project.run(&["cancel", &id]).ok(),
            format!("{id} has ended already: it is {word}\n")
        );
        assert_eq!(project.run(&["cancel", &id, "--json"]).json()["state"], word);
        assert_eq!(session.dir.read_info().unwrap().state, state);
    }
    // A run that ends by itself while it is told.
    let mut session = project.session("run-x", "generic", TABLE);
    let lock = session.lock();
    let cancel = project.start(&["cancel", "run-x"]);
    take_word(&session);
    session.state(SessionState::Completed);
    drop(lock);
    let said = said(cancel.wait_with_output().unwrap());
    assert_eq!(said.ok(), "run-x has ended already: it is completed\n");
}

#[test]
fn a_running_session_is_not_archived() {
    let project = Project::new();
    let session = project.session("run-x-20260308", "generic", TABLE);
    let _lock = session.lock();
    project.run(&["archive", "run-x"]).refused(
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
fn watching_a_run_ends_with_it_and_as_it() {
    let project = Project::new();
    let mut session = project.session("run-x-20260308", "generic", TABLE);
    session.record(&half_way());
    let lock = session.lock();
    let mut watch = project.start(&["watch", "--json"]);
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
    let project = Project::new();
    let mut session = project.session("run-x-20260308", "generic", TABLE);
    session.record(&half_way());
    let lock = session.lock();
    let mut watch = project.start(&["watch", "-v"]);
    let mut out = BufReader::new(watch.stdout.take().unwrap());
    let mut text = String::new();
    // Everything after this line is told as it happens.
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
fn watching_what_nobody_runs_shows_its_report() {
    let project = Project::new();
    let mut session = project.session("run-x-20260308", "generic", TABLE);
    session
        .record(&half_way())
        .record(&the_rest())
        .state(SessionState::Failed);
    let said = project.run(&["watch", "run-x"]);
    assert_eq!(said.code, Some(1));
    insta::assert_snapshot!(timeless(&said.out));
}
