//! What a browser can run into: huge files, old sessions, expired cookies, certificates that are none, readers that stall.

use crate::old_formats::with_session;
use crate::sessions::support::{Session, TABLE, finished, half_way, started};
use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::net::TcpStream;
use wavecrew_core::event::{Event, Status};
use wavecrew_core::time::Timestamp;
use wavecrew_session::SessionState;
use wavecrew_test_support::browser::Browser;
use wavecrew_test_support::sandbox::Sandbox;
use wavecrew_test_support::web_server::Server;

const ID: &str = "run-x-20260308";

#[test]
fn a_gigabyte_of_log_and_five_megabytes_of_findings_make_small_pages() {
    let sandbox = Sandbox::new();
    let mut session = Session::new(&sandbox, ID, "generic", TABLE);
    let findings = format!("# Found\n\n{}", "a finding \u{1b}[31m <b>\n".repeat(5 << 20 >> 4));
    session
        .record(&[
            Event::RunStarted {
                at: Timestamp(1_772_964_000_000),
                concurrency: 1,
            },
            started("A", 1, 0),
            finished("A", 3, Status::Completed, &findings),
        ])
        .state(SessionState::Stopped);
    let log = session.dir.log_file("A", 1);
    let mut file = OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .open(&log)
        .expect("a log");
    file.seek(SeekFrom::Start(1 << 30)).expect("a hole");
    file.write_all(b"\nbefore the last line\nthe very last line\n")
        .expect("the end");
    let server = Server::start(&sandbox, "");
    let page = server
        .get(&format!("/s/{ID}/t/A"))
        .expect(200)
        .expect_text("The log is long")
        .expect_text("the very last line")
        .expect_text("more bytes");
    assert!(page.body.len() < 400_000, "{} bytes", page.body.len());
    for tab in ["", "timeline", "decisions", "notes", "journal"] {
        let page = server.get(&format!("/s/{ID}?tab={tab}")).expect(200);
        assert!(page.body.len() < 200_000, "{tab}: {} bytes", page.body.len());
    }
    let report = server.get(&format!("/s/{ID}/report.html")).expect(200);
    assert!(report.body.len() < 1_000_000, "{} bytes", report.body.len());
}

#[test]
fn sessions_of_version_0_1_have_pages() {
    for (name, task) in [
        ("completed", "A"),
        ("failed", "A"),
        ("killed", "A"),
        ("packed", "T149"),
        ("lifecycle", "DRAFT-001"),
        ("planex", "EXEC-001"),
        ("testing", "TESTGEN-001"),
    ] {
        let sandbox = with_session(name);
        let id = sandbox.session_id();
        let server = Server::start(&sandbox, "");
        server.get("/").expect(200).expect_text(&id);
        for tab in ["", "timeline", "decisions", "notes", "journal"] {
            let page = server.get(&format!("/s/{id}?tab={tab}")).expect(200);
            assert!(!page.body.contains("Not everything could be read"), "{name}");
        }
        let plan = fs::read_to_string(sandbox.in_session("tasks.csv")).expect("the table");
        let task = plan.lines().find_map(|line| {
            let id = line.split(',').next()?.trim_matches('"');
            id.starts_with(task.split('-').next()?).then(|| id.to_owned())
        });
        let task = task.unwrap_or_else(|| panic!("{name} has such a task: {plan}"));
        server
            .get(&format!("/s/{id}/t/{task}"))
            .expect(200)
            .expect_text("Receipt");
        server
            .get(&format!("/s/{id}/report.html"))
            .expect(200)
            .expect_text(&id);
    }
}

#[test]
fn an_archived_session_is_shown_with_what_can_be_done() {
    let sandbox = Sandbox::new();
    let mut session = Session::new(&sandbox, ID, "generic", TABLE);
    session.record(&half_way()).state(SessionState::Stopped);
    let server = Server::start(&sandbox, "");
    server.get(&format!("/s/{ID}")).expect(200).expect_text("stopped");
    // An open page sees what another process does.
    session.state(SessionState::Archived);
    server
        .get(&format!("/s/{ID}"))
        .expect(200)
        .expect_text("This session is archived")
        .expect_text(&format!("wavecrew resume {ID}"));
}

#[test]
fn a_cookie_of_an_earlier_link_says_where_to_get_a_new_one() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "");
    let port = server.address.rsplit(':').next().expect("a port").to_owned();
    server.get("/").expect(200);
    let token = server.token.clone();
    server.running.kill();
    let again = Server::start(&sandbox, &format!("--port {port} --new-link"));
    assert_ne!(again.token, token);
    again
        .send("GET", "/", &[&format!("Cookie: wavecrew-{port}={token}")], "")
        .expect(401)
        .expect_text("it expired")
        .expect_text("What to do")
        .expect_text("open the link that `wavecrew web` printed");
}

#[test]
fn browsers_that_do_not_read_keep_nobody_waiting() {
    let sandbox = Sandbox::new();
    let mut session = Session::new(&sandbox, ID, "generic", TABLE);
    let _lock = session.lock();
    let events = half_way();
    session.record(&events[..3]);
    let server = Server::start(&sandbox, "");
    let silent: Vec<TcpStream> = (0..20)
        .map(|_| {
            let mut stream = TcpStream::connect(&server.address).expect("the server listens");
            let port = server.address.rsplit(':').next().unwrap_or_default();
            let request = format!(
                "GET /s/{ID}/stream HTTP/1.1\r\nHost: {}\r\nCookie: wavecrew-{port}={}\r\n\r\n",
                server.address, server.token
            );
            stream.write_all(request.as_bytes()).expect("the request is sent");
            stream
        })
        .collect();
    session.record(&events[3..]);
    server
        .get(&format!("/s/{ID}"))
        .expect(200)
        .expect_text("<td>1<small> of 4 completed");
    drop(silent);
    server.get("/alive").expect(200);
}

#[test]
fn with_a_certificate_the_connection_has_tls() {
    let sandbox = Sandbox::new();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()])
        .expect("a certificate");
    sandbox.write("cert.pem", made.cert.pem());
    sandbox.write("key.pem", made.signing_key.serialize_pem());
    for (words, says) in [
        ("--tls-cert cert.pem", "--tls-key"),
        ("--tls-cert none.pem --tls-key key.pem", "none.pem: no such file"),
        (
            "--tls-cert key.pem --tls-key key.pem",
            "key.pem: it has no such part",
        ),
        (
            "--tls-cert cert.pem --tls-key cert.pem",
            "cert.pem: it has no such part",
        ),
    ] {
        sandbox
            .wavecrew(&format!("web {words}"))
            .expect_error(2, &[says, "help"]);
    }
    let Some(browser) = Browser::start(&sandbox) else {
        return;
    };
    Session::new(&sandbox, ID, "generic", TABLE)
        .record(&half_way())
        .state(SessionState::Stopped);
    let words = "--listen 127.0.0.1 --tls-cert cert.pem --tls-key key.pem";
    let server = Server::start(&sandbox, words);
    let port = server.address.rsplit(':').next().expect("a port");
    browser.open(&format!("https://127.0.0.1:{port}/s/{ID}?token={}", server.token));
    browser.wait_for_text("1 of 4 completed");
    browser.wait_for_text("Live");
    browser.click("#do-archive");
    browser.wait_for_text("This session is archived");
    server.running.kill();
}
