//! What pages show and do, without a browser.

use crate::sessions::support::{Session, TABLE, half_way};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::net::TcpListener;
use wavecrew_session::SessionState;
use wavecrew_test_support::sandbox::Sandbox;
use wavecrew_test_support::web_server::Server;

const ID: &str = "run-x-20260308";

fn stopped(sandbox: &Sandbox) -> Session {
    let mut session = Session::new(sandbox, ID, "generic", TABLE);
    session.record(&half_way()).state(SessionState::Stopped);
    session
}

#[test]
fn what_is_done_in_the_browser_is_in_the_journal() {
    let sandbox = Sandbox::new();
    let session = stopped(&sandbox);
    let server = Server::start(&sandbox, "");
    server
        .post(&format!("/s/{ID}/pause"), "")
        .expect(409)
        .expect_text("not running")
        .expect_text("What to do");
    server
        .post(&format!("/s/{ID}/t/B/edit"), "title=Write+it+well&deps=A")
        .expect(303);
    assert!(
        fs::read_to_string(session.dir.tasks_csv())
            .expect("the table")
            .contains("Write it well")
    );
    server
        .post(&format!("/s/{ID}/t/B/edit"), "deps=NOBODY")
        .expect(409)
        .expect_text("NOBODY");
    server.post(&format!("/s/{ID}/archive"), "").expect(303);
    server
        .get(&format!("/s/{ID}"))
        .expect(200)
        .expect_text("archived");
    let journal = fs::read_to_string(session.dir.journal_file()).expect("the journal");
    for action in ["edit row", "archive"] {
        let line = journal
            .lines()
            .find(|line| line.contains(&format!("\"action\":\"{action}\"")));
        assert!(
            line.is_some_and(|line| line.contains("\"via\":\"browser\"")),
            "{action}: {journal}"
        );
    }
}

#[test]
fn history_shows_the_state_at_an_earlier_event() {
    let sandbox = Sandbox::new();
    stopped(&sandbox);
    let server = Server::start(&sandbox, "");
    server
        .get(&format!("/s/{ID}"))
        .expect(200)
        .expect_text("<dd>1<small> of 4 completed");
    let past = server
        .get(&format!("/s/{ID}?at=3"))
        .expect(200)
        .expect_text("after event 3 of 10");
    past.expect_text("<dd>0<small> of 4 completed");
    server
        .get(&format!("/s/{ID}/fragments?at=3"))
        .expect(200)
        .expect_text("after event 3 of 10");
}

#[test]
fn a_damaged_session_shows_what_can_be_read() {
    let sandbox = Sandbox::new();
    let session = stopped(&sandbox);
    let journal = fs::read(session.dir.journal_file()).expect("the journal");
    let line = journal
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n')
        .nth(5)
        .expect("lines")
        .0;
    let mut damaged = journal.clone();
    damaged[line + 3] ^= 1;
    fs::write(session.dir.journal_file(), damaged).expect("damage");
    let server = Server::start(&sandbox, "");
    let page = server.get(&format!("/s/{ID}")).expect(200);
    let page = page
        .expect_text("Not everything could be read")
        .expect_text("read up to event 5");
    page.expect_text("<dd>1<small> of 4 completed");
    fs::write(session.dir.session_json(), "{").expect("damage");
    server.get("/").expect(200).expect_text("broken");
    server
        .get(&format!("/s/{ID}/t/NOBODY"))
        .expect(404)
        .expect_text("There is no such task");
    server.get("/s/nothing").expect(404).expect_text("What to do");
    server
        .get("/nowhere")
        .expect(404)
        .expect_text("There is no such page");
}

#[test]
fn a_journal_that_grows_is_read_on_with_its_torn_end() {
    let sandbox = Sandbox::new();
    let mut session = Session::new(&sandbox, ID, "generic", TABLE);
    let _lock = session.lock();
    let events = half_way();
    session.record(&events[..3]);
    let server = Server::start(&sandbox, "");
    server
        .get(&format!("/s/{ID}"))
        .expect(200)
        .expect_text("<dd>0<small> of 4 completed");
    session.record(&events[3..]);
    let mut journal = OpenOptions::new()
        .append(true)
        .open(session.dir.journal_file())
        .expect("the journal");
    journal.write_all(b"0000").expect("a torn line");
    server
        .get(&format!("/s/{ID}"))
        .expect(200)
        .expect_text("<dd>1<small> of 4 completed")
        .expect_text("running");
}

#[test]
fn a_large_plan_sends_little() {
    let sandbox = Sandbox::new();
    let rows: String = (0..10_000)
        .map(|n| format!("T-{n},Task number {n},d,r{},\n", n % 7))
        .collect::<Vec<_>>()
        .concat();
    let table = format!("id,title,description,role,deps\n{rows}");
    Session::new(&sandbox, ID, "generic", &table).state(SessionState::Stopped);
    let server = Server::start(&sandbox, "");
    let page = server
        .get(&format!("/s/{ID}"))
        .expect(200)
        .expect_text("All 10000 tasks of wave 1");
    assert!(page.body.len() < 200_000, "{} bytes", page.body.len());
    let found = server.get(&format!("/s/{ID}?q=number+77&role=r0")).expect(200);
    found.expect_text("Task number 77<").expect_text("of 10000 tasks");
}

#[test]
fn a_taken_port_and_a_missing_browser_say_what_to_do() {
    let sandbox = Sandbox::new().env("BROWSER", "/nowhere/browser");
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port();
    sandbox
        .wavecrew(&format!("web --port {port}"))
        .expect_error(2, &["in use by another program", "--port"]);
    sandbox
        .wavecrew("web nothing")
        .expect_error(2, &["there is no session `nothing`"]);
    let server = Server::start(&sandbox, "--open");
    server
        .get("/")
        .expect(200)
        .expect_text("There is no session in this project yet");
    let outcome = server.running.kill();
    assert!(
        outcome.stderr.contains("no browser could be opened"),
        "{}",
        outcome.stderr
    );
}
