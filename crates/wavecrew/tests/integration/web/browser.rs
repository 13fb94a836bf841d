//! In a real browser: a run from its start to its end, questions, cancel and retry, history, two tabs, a restarted server,
//! the report from disk, and accessibility.

use crate::old_formats::add_session;
use crate::sessions::support::{Session, TABLE, half_way};
use serde_json::Value;
use std::fs;
use std::path::Path;
use wavecrew_session::SessionState;
use wavecrew_test_support::browser::Browser;
use wavecrew_test_support::sandbox::{Sandbox, wait_until};
use wavecrew_test_support::web_server::Server;
use wavecrew_test_support::{depth, frameworks};

/// Works until a file of its name appears; fails the first time if its name requests it.
const AGENT: &str = r#"task=$WAVECREW_TASK
until [ -e "go-$task" ]; do sleep 0.05; done
if [ -e "fail-$task" ]; then exit 1; fi
wavecrew report "{\"id\":\"$task\",\"status\":\"completed\",\"findings\":\"$task is done\"}""#;

#[test]
fn a_run_is_watched_cancelled_retried_and_answered() {
    let sandbox = Sandbox::new().tasks("id,deps\na,\nb,\nc,a");
    let Some(browser) = Browser::start(&sandbox) else {
        return;
    };
    sandbox.write("agent.sh", AGENT);
    sandbox.write_table();
    let run = sandbox.start_run(&[
        "run",
        "tasks.csv",
        "--agent",
        "command:sh agent.sh",
        "--ask-in-folder",
    ]);
    wait_until("the session", || {
        sandbox.project().join(".workflow").exists() && !sandbox.sessions().is_empty()
    });
    // It comes last and makes the folder a session.
    wait_until("the session", || sandbox.in_session("session.json").exists());
    let id = sandbox.session_id();
    let server = Server::start(&sandbox, "");
    browser.open(&server.link(&format!("/s/{id}")));
    browser.wait_for_text("2 of 3 busy");
    // The second tab follows too.
    let first = browser.tab();
    browser.new_tab();
    browser.open(&format!("http://{}/s/{id}/t/b", server.address));
    browser.click("#do-t-b-cancel");
    browser.wait_for_text("Cancelled by a person");
    sandbox.write("go-b", "");
    browser.click("#do-t-b-retry");
    browser.wait_for_text("b is done");
    browser.switch(&first);
    // Task `a` fails, `c` is skipped; then `a` runs again.
    sandbox.write("fail-a", "");
    sandbox.write("go-c", "");
    sandbox.write("go-a", "");
    browser.wait_for_text("1 failed");
    run.wait().expect_exit(1);
    browser.wait_for_text("Retry what failed");
    fs::remove_file(sandbox.path("fail-a")).expect("the reason to fail");
    browser.click("#do-retry");
    browser.wait_for_text("3 of 3 completed");
    sandbox.expect_read(
        "journal.ndjson",
        r#""action":"cancel task","task":"b","via":"browser""#,
    );
    sandbox.expect_read("journal.ndjson", r#""action":"retry","via":"browser""#);
    // The history, by the slider.
    browser.run("const s = document.getElementById('history'); s.value = 4; s.dispatchEvent(new Event('input', {bubbles: true}))");
    browser.wait_for_text("after event 4 of");
    browser.wait_for_text("0 of 3 completed");
}

#[test]
fn a_command_with_web_asks_in_the_browser() {
    let sandbox = Sandbox::new().tasks("id\na");
    let Some(browser) = Browser::start(&sandbox) else {
        return;
    };
    sandbox.write("agent.sh", AGENT);
    sandbox.write("go-a", "");
    sandbox.write("fail-a", "");
    sandbox.write_table();
    let run = sandbox.start_run(&["run", "tasks.csv", "--agent", "command:sh agent.sh", "--web"]);
    let link = wavecrew_test_support::sandbox::wait_for("the link", || {
        let output = run.stderr();
        Some(
            output
                .lines()
                .find_map(|line| line.strip_prefix("Browser "))?
                .to_owned(),
        )
    });
    browser.open(&link);
    // The page goes to the session by itself; the only task has failed.
    browser.wait_for_text("The run asks");
    fs::remove_file(sandbox.path("fail-a")).expect("the reason to fail");
    browser.click("button[value=retry]");
    browser.wait_for_text("The run has ended.");
    browser.wait_for_text("1 of 1 completed");
    browser.click("button[name=choice]");
    run.wait().expect_exit(0);
    sandbox.expect_read("journal.ndjson", r#""by":"browser""#);
}

#[test]
fn a_page_finds_a_restarted_server_and_a_report_opens_from_disk() {
    let sandbox = Sandbox::new();
    let Some(browser) = Browser::start(&sandbox) else {
        return;
    };
    let mut session = Session::new(&sandbox, "run-x-20260308", "generic", TABLE);
    session.record(&half_way()[..3]).state(SessionState::Stopped);
    let server = Server::start(&sandbox, "");
    browser.open(&server.link("/s/run-x-20260308"));
    browser.wait_for_text("Live");
    let port = server.address.rsplit(':').next().expect("a port").to_owned();
    server.running.kill();
    browser.wait_for_text("Connection lost");
    session.record(&half_way()[3..]);
    let _again = Server::start(&sandbox, &format!("--port {port}"));
    browser.wait_for_text("1 of 4 completed");
    browser.wait_for_text("Live");
    sandbox.wavecrew("show run-x --html report.html").expect_exit(0);
    browser.open(&format!("file://{}", sandbox.path("report.html").display()));
    browser.wait_for_text("1 of 4 completed");
    assert_eq!(
        browser.run("return document.querySelectorAll('#edges path').length"),
        3,
        "the script draws the edges"
    );
}

#[test]
fn keys_zoom_the_plan_and_move_between_cards_and_a_question_makes_a_notification() {
    let sandbox = Sandbox::new();
    let Some(browser) = Browser::start(&sandbox) else {
        return;
    };
    let mut session = Session::new(&sandbox, ASKING, "generic", TABLE);
    let _lock = session.lock();
    session.record(&half_way());
    let server = Server::start(&sandbox, "");
    browser.open(&server.link(&format!("/s/{ASKING}")));
    browser.wait_for_text("Live");
    browser.run(KEYS);
    let pressed = |key: &str| browser.run(&format!("return press('{key}')"));
    assert_eq!(pressed("+"), "120 %");
    assert_eq!(pressed("-"), "100 %");
    assert_eq!(pressed("0"), "100 %");
    browser.run("document.querySelector('[data-task]').focus()");
    for (key, task) in [
        ("ArrowRight", "B"),
        ("ArrowDown", "C"),
        ("ArrowUp", "B"),
        ("ArrowLeft", "A"),
    ] {
        pressed(key);
        assert_eq!(
            browser.run("return document.activeElement.dataset.task"),
            task,
            "{key}"
        );
    }
    pressed("/");
    assert_eq!(browser.run("return document.activeElement.id"), "search");

    let button = "return getComputedStyle(document.querySelector('[data-notify]')).display";
    assert_ne!(browser.run(button), "none");
    browser.click("[data-notify]");
    wait_until("the button is gone", || browser.run(button) == "none");
    fs::write(session.dir.question_file(), QUESTION).expect("a question");
    browser.wait_for_text("Is it good?");
    assert_eq!(browser.run("return notified.join()"), "Is it good?");
}

/// Presses keys where the focus is, and notes notifications instead of showing them: the page is in the background.
const KEYS: &str = "
    window.press = (key) => {
        document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
        return document.querySelector('[data-zoom=\"0\"]').textContent;
    };
    window.notified = [];
    window.Notification = class {
        static permission = 'granted';
        static requestPermission() { return Promise.resolve('granted'); }
        constructor(title, options) { notified.push(options.body); }
    };
    document.querySelector('[data-notify]').hidden = false;
    Object.defineProperty(document, 'hidden', {get: () => true});";

/// In parts, because the browser looks at one page after the other.
const PARTS: usize = 3;

#[test]
fn pages_are_accessible_in_both_themes_and_at_three_widths() {
    look_at_part(0);
}

#[test]
fn pages_are_accessible_in_both_themes_and_at_three_widths_second_part() {
    look_at_part(1);
}

#[test]
fn pages_are_accessible_in_both_themes_and_at_three_widths_third_part() {
    look_at_part(2);
}

fn look_at_part(part: usize) {
    let sandbox = Sandbox::new();
    let (Some(browser), Some(installed)) = (Browser::start(&sandbox), frameworks::installed()) else {
        return;
    };
    let axe = fs::read_to_string(installed.join("node_modules/axe-core/axe.min.js"))
        .expect("axe-core is installed");
    Session::new(&sandbox, "run-x-20260308", "generic", TABLE)
        .record(&half_way())
        .state(SessionState::Stopped);
    sandbox.wavecrew("show --html report.html").expect_exit(0);
    let server = Server::start(&sandbox, "");
    browser.open(&server.link("/"));
    let run = format!("http://{}/s/run-x-20260308", server.address);
    let mut pages: Vec<String> = [
        "",
        "?tab=timeline",
        "?tab=decisions",
        "?tab=notes",
        "?tab=journal",
        "?at=4",
        "?state=failed",
        "/t/B",
        "/t/A",
    ]
    .iter()
    .map(|rest| format!("{run}{rest}"))
    .collect();
    // Evidence of other teams, and a run that asks.
    let of = |rest: String| format!("http://{}/{rest}", server.address);
    pages.extend([
        of(format!("s/{}?tab=decisions", add_session(&sandbox, "lifecycle"))),
        of(format!("s/{}/t/TESTRUN-001", add_session(&sandbox, "testing"))),
        of(format!("s/{ASKING}")),
        of(String::new()),
        of("nowhere".to_owned()),
    ]);
    let asking = Session::new(&sandbox, ASKING, "generic", TABLE);
    let _lock = asking.lock();
    fs::write(asking.dir.question_file(), QUESTION).expect("a question");
    pages.push(format!("file://{}", sandbox.path("report.html").display()));
    let mut problems = Vec::new();
    let screens = Path::new(env!("CARGO_TARGET_TMPDIR")).join("screens");
    fs::create_dir_all(&screens).expect("a folder for screenshots");
    for (at, page) in pages.iter().enumerate().skip(part).step_by(PARTS) {
        browser.open(page);
        browser.run(&axe);
        browser.run("for (const folded of document.querySelectorAll('details')) folded.open = true");
        let looks = [1300, 820, 390]
            .into_iter()
            .flat_map(|width| [("light", width), ("dark", width)]);
        for (look, (theme, width)) in looks.enumerate() {
            // The pages that differ in kind have pictures. By default everything is checked in one look, and in others what
            // depends on the theme and the width.
            let pictured = at == 0 || depth::is_full();
            let checked = depth::is_full() || [0, 1, 4].contains(&look);
            if pictured || checked {
                browser.look_like(theme, width);
            }
            if pictured {
                let name = page
                    .rsplit('/')
                    .next()
                    .unwrap_or_default()
                    .replace(['?', '='], "-");
                browser.screenshot(&screens.join(format!("{name}-{theme}-{width}.png")));
            }
            if !checked {
                continue;
            }
            let rules = match (depth::is_full() || look == 0, theme) {
                (true, _) => "{}",
                (false, "dark") => "{runOnly: ['color-contrast', 'link-in-text-block']}",
                (false, _) => "{runOnly: ['target-size', 'scrollable-region-focusable']}",
            };
            let found = browser.run_async(&AXE.replace("RULES", rules));
            if found != Value::Array(Vec::new()) {
                problems.push(format!("{page} {theme} {width}: {found:#}"));
            }
            let overflow = browser.run(OVERFLOW).as_i64().unwrap_or(0);
            if overflow > 0 {
                problems.push(format!("{page} is {overflow} wider than {width}"));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

const ASKING: &str = "run-asking-20260308";
const QUESTION: &str = r#"{"id":0,"question":"Is it good?","options":["approve","revise"],"open":true}"#;

/// What axe-core finds, with the first elements of each kind. It describes nothing that is as it should be, which would take
/// most of the time.
const AXE: &str = "const done = arguments[arguments.length - 1];
    const node = (n) => n.html + ' ' + n.failureSummary;
    axe.run({...RULES, resultTypes: ['violations']}).then((r) => done(r.violations.map((v) => [v.id, v.nodes.map(node).slice(0, 3)])))";

/// By how much the page is wider than the window.
const OVERFLOW: &str = "return document.documentElement.scrollWidth - document.documentElement.clientWidth";
