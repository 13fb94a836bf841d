//! What pages show of measurements and times: the evidence behind a receipt, and waits in the timeline.

use crate::sessions::support::{Session, TABLE, finished, half_way, started};
use std::fs;
use wavecrew_core::event::{AnsweredBy, Event, Status};
use wavecrew_core::pool::Pool;
use wavecrew_core::time::Timestamp;
use wavecrew_session::SessionState;
use wavecrew_test_support::sandbox::Sandbox;
use wavecrew_test_support::web_server::Server;

const ID: &str = "run-x-20260308";
const START: u64 = 1_772_964_000_000;

const RUN: &str = r#"{
    "task": "A", "coverage_achieved": "66.66", "target": 80.0,
    "accepted": {"tests": 1},
    "tests": [{"file": "test_a.py", "name": "test_one", "outcome": "passed", "seconds": 0.1}],
    "rejected": [{"file": "test_a.py", "name": "test_two", "why": "fails", "message": "E  assert 1 == <2>"}],
    "coverage": {"files": [{"path": "shop.py", "lines": {"covered": 2, "total": 3}, "missed": [3]}]},
    "mutation": {"killed": 1, "total": 2, "survivors": [{"file": "shop.py", "line": 2, "description": "`a < b` became `a <= b`"}]}
}"#;

#[test]
fn a_receipt_has_tests_uncovered_lines_surviving_mutants_and_documents() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "shop.py",
        "def least(a, b):\n    if a < b:\n        return a\n    return b\n",
    );
    let mut session = Session::new(&sandbox, ID, "generic", TABLE);
    session
        .record(&[
            started("A", 1, 0),
            finished("A", 3, Status::Completed, "**All** done"),
        ])
        .state(SessionState::Completed);
    let results = session.dir.path().join("results");
    fs::create_dir_all(&results).expect("a folder");
    fs::write(results.join("run-L1.json"), RUN).expect("a measurement");
    let server = Server::start(&sandbox, "");
    let page = server.get(&format!("/s/{ID}/t/A")).expect(200);
    for part in [
        "<strong>All</strong> done",
        "Tests: 1 kept, 1 dropped",
        "E  assert 1 == &lt;2&gt;",
        "Coverage: 66.66 % of the lines in scope, target 80.0 %",
        "<tr class=\"missed\"><th scope=\"row\">3</th><td><span class=\"visually-hidden\">not run: </span>        return a</td>",
        "Mutants: 1 of 2 killed",
        "-    if a &lt; b:</span>",
        "+    if a &lt;= b:</span>",
    ] {
        assert!(page.body.contains(part), "no {part:?} in {}", page.body);
    }
}

#[test]
fn the_timeline_tells_waits_for_services_from_waits_for_people() {
    let sandbox = Sandbox::new();
    let mut session = Session::new(&sandbox, ID, "generic", TABLE);
    let at = |second: u64| Timestamp(START + second * 1000);
    let mut events = half_way();
    let wait = Event::QuotaWait {
        at: at(20),
        pool: "claude".to_owned(),
        state: Pool {
            until: at(30),
            refused_at: at(20),
            ..Pool::default()
        },
    };
    let asked = Event::Asked {
        question: 0,
        text: "Go on?".to_owned(),
    };
    let answered = Event::Answered {
        question: 0,
        answer: "yes".to_owned(),
        by: Some(AnsweredBy::Browser),
        remark: None,
    };
    let last = events.split_off(8);
    events.extend([wait, asked]);
    events.extend(last);
    events.push(answered);
    session.record(&events);
    let page = format!("/s/{ID}?tab=timeline");
    let server = Server::start(&sandbox, "");
    server
        .get(&page)
        .expect(200)
        .expect_text("Waits for services: 1")
        .expect_text("Waits for people: 1")
        .expect_text("claude waits for its service")
        .expect_text("waits for a person: Go on?")
        .expect_text("on the critical path");
    // Task C still runs: two of three have shown how long one takes.
    let _lock = session.lock();
    server
        .get(&page)
        .expect(200)
        .expect_text("Dashed line: the estimated end");
}

#[test]
fn figures_are_a_table_for_screen_readers() {
    let sandbox = Sandbox::new();
    Session::new(&sandbox, ID, "generic", TABLE)
        .record(&half_way())
        .state(SessionState::Stopped);
    let server = Server::start(&sandbox, "");
    server
        .get(&format!("/s/{ID}"))
        .expect(200)
        .expect_text("<div class=\"meters\" aria-hidden=\"true\">")
        .expect_text("<th scope=\"row\">Progress</th><td>1<small> of 4 completed</small></td>");
}
