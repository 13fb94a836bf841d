//! Who gets in, who may do what, and what text of workers can do: nothing.

use crate::sessions::support::{Session, TABLE, finished, half_way, started};
use std::fs;
use wavecrew_core::event::{Event, Status};
use wavecrew_session::{Discovery, SessionState, WisdomFile};
use wavecrew_test_support::sandbox::Sandbox;
use wavecrew_test_support::web_server::Server;

const ID: &str = "run-x-20260308";

fn session(sandbox: &Sandbox) -> Session {
    let mut session = Session::new(sandbox, ID, "generic", TABLE);
    session.record(&half_way()).state(SessionState::Stopped);
    session
}

#[test]
fn the_token_of_the_link_becomes_a_strict_cookie_and_nothing_else_gets_in() {
    let sandbox = Sandbox::new();
    session(&sandbox);
    let server = Server::start(&sandbox, "");
    let signed_in = server
        .send(
            "GET",
            &format!("/s/{ID}?token={}&tab=journal", server.token),
            &[],
            "",
        )
        .expect(303);
    let cookie = signed_in.header("set-cookie").expect("a cookie");
    assert!(
        cookie.contains(&server.token) && cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"),
        "{cookie}"
    );
    assert_eq!(
        signed_in.header("location"),
        Some("/s/run-x-20260308?tab=journal")
    );
    for (path, header, says) in [
        ("/", "X: 1", "needs the link with its token"),
        ("/?token=0000", "X: 1", "no longer valid"),
        (
            "/s/x",
            "Cookie: wavecrew-1=1",
            "open the link that `wavecrew web` printed",
        ),
        ("/alive", "X: 1", "needs the link"),
    ] {
        server
            .send("GET", path, &[header], "")
            .expect(401)
            .expect_text(says);
    }
    let page = server.get("/").expect(200).expect_text(ID);
    let policy = page.header("content-security-policy").expect("a policy");
    assert!(
        policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'"),
        "{policy}"
    );
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(page.header("cache-control"), Some("no-store"));
}

#[test]
fn requests_that_other_sites_cause_are_refused() {
    let sandbox = Sandbox::new();
    session(&sandbox);
    let server = Server::start(&sandbox, "");
    let rebound = server.send(
        "GET",
        &format!("/?token={}", server.token),
        &["Host: evil.example:80"],
        "",
    );
    rebound.expect(403).expect_text("Wrong host");
    let archive = format!("/s/{ID}/archive");
    for origin in ["http://evil.example", "null", ""] {
        server
            .post_from(&archive, origin, &server.token)
            .expect(403)
            .expect_text("another site");
    }
    let own = format!("http://{}", server.address);
    server
        .post_from(&archive, &own, &server.view_token)
        .expect(403)
        .expect_text("read-only");
    server.post_from(&archive, &own, "0").expect(401);
    server.get_read_only(&format!("/s/{ID}")).expect(200);
    let info = fs::read_to_string(sandbox.session().join("session.json")).expect("the session");
    assert!(info.contains("stopped"), "nothing was done: {info}");
}

/// Text that runs, breaks out or moves the cursor wherever it is not shown as text.
const HOSTILE: &str = "</textarea></script><script>alert(1)</script><img src=x onerror=alert(2)><svg onload=alert(3)>\" onfocus=\"alert(4) \u{1b}]0;x\u{7}\u{1b}[31m\u{202e}";

#[test]
fn nothing_that_workers_write_runs_in_a_page() {
    let sandbox = Sandbox::new();
    let cell = HOSTILE.replace('"', "\"\"");
    let table = format!(
        "id,title,description,role,deps\nA,\"{cell}\",\"{cell}\",\"<b>{}\",\n",
        "role"
    );
    let mut session = Session::new(&sandbox, ID, "generic", &table);
    let markdown = format!("# {HOSTILE}\n\n[x](javascript:alert(5)) <iframe src=//evil.example></iframe>\n");
    session
        .record(&[
            Event::RunStarted {
                at: wavecrew_core::time::Timestamp(0),
                concurrency: 1,
            },
            started("A", 1, 0),
            Event::SentBack {
                task: "A".into(),
                attempt: 1,
                turn: 2,
                reason: markdown.repeat(3),
            },
            finished("A", 3, Status::Completed, &markdown),
            Event::Asked {
                question: 0,
                text: HOSTILE.into(),
            },
        ])
        .state(SessionState::Failed);
    let dir = &session.dir;
    fs::write(dir.log_file("A", 1), HOSTILE).expect("a log");
    fs::write(dir.prompt_file("A", 1, 1), HOSTILE).expect("a prompt");
    dir.wisdom()
        .append(WisdomFile::Issues, HOSTILE, &markdown)
        .expect("wisdom");
    let mut found = Discovery {
        ts: HOSTILE.into(),
        worker: HOSTILE.into(),
        kind: HOSTILE.into(),
        data: HOSTILE.into(),
        attempt: None,
        extra: serde_json::Map::new(),
    };
    dir.board().append(&found).expect("a discovery");
    found.data = serde_json::json!({HOSTILE: HOSTILE});
    dir.board().append(&found).expect("a discovery");
    let server = Server::start(&sandbox, "");
    let mut pages = vec![("/".to_owned(), server.get("/").expect(200).body)];
    for tab in ["", "timeline", "decisions", "notes", "journal"] {
        let path = format!("/s/{ID}?tab={tab}");
        pages.push((path.clone(), server.get(&path).expect(200).body));
    }
    for path in [
        format!("/s/{ID}/t/A"),
        format!("/s/{ID}?q=%3Cscript%3E%22&state=%22%3E&role=%3Cimg"),
        format!("/s/{ID}/t/%3Cscript%3E"),
    ] {
        pages.push((path.clone(), server.get(&path).body));
    }
    pages.push((
        "report".to_owned(),
        server.get(&format!("/s/{ID}/report.html")).expect(200).body,
    ));
    for (path, page) in pages {
        for bad in [
            "<script>alert",
            "<img",
            "<svg onload",
            "<iframe",
            "\" onfocus=\"",
            "href=\"javascript:",
            "\u{1b}",
            "\u{7}",
        ] {
            assert!(!page.contains(bad), "{bad:?} in {path}: {page}");
        }
    }
    // The file allows its own script and nothing else.
    sandbox
        .wavecrew(&format!("show {ID} --html report.html"))
        .expect_exit(0);
    let report = sandbox.text("report.html");
    assert!(
        report.contains("default-src 'none'; style-src 'nonce-") && report.matches("<script").count() == 1,
        "{report}"
    );
}

#[test]
fn looking_needs_no_write_access() {
    let sandbox = Sandbox::new();
    let session = session(&sandbox);
    let before = sandbox.files();
    let server = Server::start(&sandbox, "");
    for path in [
        "/".to_owned(),
        format!("/s/{ID}"),
        format!("/s/{ID}/t/A"),
        format!("/s/{ID}/report.html"),
    ] {
        server.get(&path).expect(200);
    }
    assert_eq!(before, sandbox.files(), "{} is as it was", session.dir.id());
}
