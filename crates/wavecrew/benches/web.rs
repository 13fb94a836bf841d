//! How fast the dashboard is, in a real browser. Run by hand, on a quiet machine:
//! `cargo bench -p wavecrew --bench web [-- small latency first-page slow-down report]`. `small` takes small numbers, to see
//! that it works.

#![expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use wavecrew_core::event::{Event, Fingerprint, Status, StopReason, TaskResult, Verdict};
use wavecrew_core::team::Team;
use wavecrew_core::time::Timestamp;
use wavecrew_session::{Holder, Journal, SessionDir, SessionInfo, SessionState};
use wavecrew_test_support::browser::Browser;
use wavecrew_test_support::sandbox::{Sandbox, wait_until};
use wavecrew_test_support::web_server::Server;

const ID: &str = "run-bench-20260308";

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with("--"))
        .collect();
    let small = words.iter().any(|word| word == "small");
    let wanted: Vec<&String> = words.iter().filter(|word| *word != "small").collect();
    for (name, bench) in [
        ("latency", latency as fn(bool)),
        ("first-page", first_page),
        ("slow-down", slow_down),
        ("report", report),
    ] {
        if wanted.is_empty() || wanted.iter().any(|word| *word == name) {
            println!("== {name}");
            bench(small);
        }
    }
}

/// A session of `tasks` rows in waves of `width`, with its journal.
fn session(sandbox: &Sandbox, tasks: usize, width: usize) -> (SessionDir, Journal<Event>) {
    let mut table = String::from("id,title,description,role,deps\n");
    for at in 0..tasks {
        let deps = at.checked_sub(width).map(|dep| format!("T-{dep}"));
        let role = ["scout", "writer", "tester"][at % 3];
        let _ = writeln!(
            table,
            "T-{at},Task number {at},Describe what to do with part {at},{role},{}",
            deps.unwrap_or_default()
        );
    }
    let dir = SessionDir::create(sandbox.project(), ID, &[]).expect("a session folder");
    let team = Team::builtin_text("generic").expect("built in");
    for (name, text) in [("team.toml", team), ("plan.csv", &table)] {
        fs::write(dir.run_folder().join(name), text).expect("a file of the session");
    }
    fs::write(dir.tasks_csv(), &table).expect("the table");
    let info = SessionInfo {
        format: 1,
        id: ID.to_owned(),
        team: "generic".to_owned(),
        pipeline: None,
        request: "Work through all parts".to_owned(),
        agents: std::collections::BTreeMap::default(),
        default_agent: "command:./agent.sh".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: Timestamp(now()).to_string(),
        state: SessionState::Running,
        source_file: None,
        base_commit: None,
        concurrency: 8,
        extra: serde_json::Map::default(),
    };
    dir.write_info(&info).expect("session.json");
    let journal = Journal::create(&dir.journal_file()).expect("a journal");
    (dir, journal)
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock");
    u64::try_from(since.as_millis()).expect("this century")
}

fn started(at: usize) -> Event {
    Event::AttemptStarted {
        at: Timestamp(now()),
        task: format!("T-{at}"),
        attempt: 1,
        print: Fingerprint::default(),
        agent: "command:./agent.sh".to_owned(),
    }
}

fn finished(at: usize, findings: &str) -> Event {
    Event::Finished {
        at: Timestamp(now()),
        task: format!("T-{at}"),
        attempt: 1,
        stop: StopReason::Ok,
        result: TaskResult {
            status: Status::Completed,
            findings: findings.to_owned(),
            verdict: Verdict::Verified,
            ..TaskResult::default()
        },
    }
}

fn middle(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a place in the list"
    )]
    let at = ((values.len() as f64 * share) as usize).min(values.len() - 1);
    values[at]
}

/// From the journal to the screen: a process writes 1,000 events a second, the page writes down when it has painted which
/// number of events.
fn latency(small: bool) {
    let (rate, seconds) = if small { (200, 2) } else { (1000, 20) };
    let events = rate * seconds;
    let sandbox = Sandbox::new();
    let Some(browser) = Browser::start(&sandbox) else {
        return;
    };
    let (dir, mut journal) = session(&sandbox, events / 2, 64);
    let holder = Holder::this_process(&Timestamp(now()).to_string(), "bench");
    let _lock = dir.lock(&holder).expect("the lock");
    let begun = Event::RunStarted {
        at: Timestamp(now()),
        concurrency: 8,
    };
    journal.append(&[begun]).expect("recorded");
    let server = Server::start(&sandbox, "");
    browser.open(&server.link(&format!("/s/{ID}")));
    browser.wait_for_text("Live");
    browser.run(
        "window.seen = []; new MutationObserver(() => requestAnimationFrame(() => {
            const of = /of (\\d+)/.exec(document.querySelector('#slider label').textContent);
            if (of) seen.push([Date.now(), Number(of[1])]); }))
         .observe(document.getElementById('slider'), {childList: true, subtree: true, characterData: true})",
    );
    let mut written = Vec::with_capacity(events);
    let start = Instant::now();
    for at in 0..events {
        let due = Duration::from_secs_f64(at as f64 / rate as f64);
        sleep(due.saturating_sub(start.elapsed()));
        let event = if at % 2 == 0 {
            started(at / 2)
        } else {
            finished(at / 2, "done")
        };
        journal.append(&[event]).expect("recorded");
        written.push(now());
    }
    let reached = rate as f64 * seconds as f64 / start.elapsed().as_secs_f64();
    browser.wait_for_text(&format!("of {}", events + 1));
    wait_until("the last paint", || {
        browser.run("return seen.length && seen[seen.length - 1][1]") == events + 1
    });
    let seen = browser.run("return seen");
    let seen: Vec<(u64, usize)> = serde_json::from_value(seen).expect("pairs of numbers");
    let mut latencies: Vec<f64> = written
        .iter()
        .enumerate()
        .map(|(at, written)| {
            // The run's start was the first event.
            let shown = seen
                .iter()
                .find(|(_, total)| *total >= at + 2)
                .expect("it was shown");
            shown.0.saturating_sub(*written) as f64
        })
        .collect();
    println!(
        "{events} events at {reached:.0}/s, {} paints: median {:.0} ms, 99th percentile {:.0} ms",
        seen.len(),
        middle(&mut latencies, 0.5),
        middle(&mut latencies, 0.99)
    );
}

/// Bytes and time of the first page of 10,000 tasks.
fn first_page(small: bool) {
    let (tasks, loads) = if small { (1000, 3) } else { (10_000, 15) };
    let sandbox = Sandbox::new();
    let Some(browser) = Browser::start(&sandbox) else {
        return;
    };
    let (_, mut journal) = session(&sandbox, tasks, tasks / 20);
    let mut events = vec![Event::RunStarted {
        at: Timestamp(now()),
        concurrency: 8,
    }];
    events.extend((0..tasks / 2).flat_map(|at| [started(at), finished(at, "done")]));
    journal.append(&events).expect("recorded");
    let server = Server::start(&sandbox, "");
    let page = server.get(&format!("/s/{ID}")).expect(200).body.len();
    let others: usize = ["/style.css", "/script.js"]
        .iter()
        .map(|path| server.get(path).expect(200).body.len())
        .sum();
    browser.open(&server.link("/"));
    let mut times: Vec<f64> = (0..loads)
        .map(|_| {
            browser.open(&format!("http://{}/s/{ID}", server.address));
            wait_until("the first paint", || browser.run(PAINTED).is_number());
            browser.run(PAINTED).as_f64().expect("a number")
        })
        .collect();
    println!(
        "{tasks} tasks: {page} bytes, and {others} bytes of style and script; first content after {:.0} ms, median of {loads} \
         (slowest {:.0} ms)",
        middle(&mut times, 0.5),
        middle(&mut times, 1.0)
    );
}

const PAINTED: &str = "const paint = performance.getEntriesByName('first-contentful-paint')[0]; return paint && paint.startTime";

/// How much longer a run takes while three windows show it: pairs of runs, one without and one with the windows. A run
/// of eight seconds that the windows show late, because the browser did not answer in time, is repeated.
fn slow_down(small: bool) {
    let (tasks, pairs) = if small { (40, 1) } else { (160, 4) };
    let sandbox = Sandbox::new();
    let Some(browser) = Browser::start(&sandbox) else {
        return;
    };
    let agent = fake_agent();
    let mut table = String::from("id,description,deps\n");
    for at in 0_usize..tasks {
        let dep = at.checked_sub(8).map(|dep| format!("T-{dep}"));
        let _ = writeln!(table, "T-{at},work,{}", dep.unwrap_or_default());
    }
    sandbox.write("tasks.csv", &table);
    let server = Server::start(&sandbox, "");
    browser.open(&server.link("/"));
    let first = browser.tab();
    // Windows of their own: Chromium does not paint a tab behind another one.
    let windows = [first, browser.new_window(), browser.new_window()];
    // A page's own step to another page keeps the cookie, and does not wait for it.
    let go = |window: &str, path: &str| {
        browser.switch(window);
        browser.run(&format!("location.assign({path:?})"));
    };
    for window in &windows {
        browser.switch(window);
        browser.open(&format!("http://{}{NO_EVENTS}", server.address));
    }
    let run = |watched: bool| {
        let known = sessions(&sandbox);
        let mut command = sandbox.command("run tasks.csv -y -q -c 8 --agent");
        // Agents wait for their model most of the time.
        command.arg(format!("command:{} sleep=400 noop", agent.display()));
        let start = Instant::now();
        let running = sandbox.spawn(&mut command);
        // The browser answers late while the machine is busy; the end of the run must not wait for it.
        let end = std::thread::spawn(move || {
            running.wait().expect_exit(0);
            start.elapsed().as_secs_f64()
        });
        let mut shown_after = 0.0;
        if watched {
            wait_until("the session", || sessions(&sandbox).len() > known.len());
            let all = sessions(&sandbox);
            let id = all.iter().find(|id| !known.contains(id)).expect("a new one");
            for (window, rest) in windows.iter().zip(["", "?tab=timeline", "/t/T-0"]) {
                go(window, &format!("/s/{id}{rest}"));
            }
            shown_after = start.elapsed().as_secs_f64();
        }
        let took: f64 = end.join().expect("the run ends");
        if watched {
            println!("three pages asked for after {shown_after:.2} s of {took:.2} s");
            for window in &windows {
                browser.switch(window);
                browser.wait_for_text("completed");
                browser.run(&format!("location.assign({NO_EVENTS:?})"));
            }
        }
        (took, shown_after < took * LATE)
    };
    run(false);
    let (mut bare, mut watched) = (Vec::new(), Vec::new());
    for _ in 0..pairs {
        bare.push(run(false).0);
        let in_time = std::iter::repeat_with(|| run(true)).find(|(_, in_time)| *in_time);
        watched.extend(in_time.map(|(took, _)| took));
    }
    let (bare, watched) = (middle(&mut bare, 0.5), middle(&mut watched, 0.5));
    println!(
        "{tasks} tasks of 400 ms, 8 at a time, median of {pairs}: {bare:.2} s alone, {watched:.2} s with three windows: {:+.1} %",
        (watched / bare - 1.0) * 100.0
    );
}

/// Windows that show a run after this part of it tell nothing about its slow-down.
const LATE: f64 = 0.2;

/// A page of the same server that follows nothing.
const NO_EVENTS: &str = "/style.css";

/// The sessions of the project that can be opened.
fn sessions(sandbox: &Sandbox) -> Vec<String> {
    let root = sandbox.project().join(".workflow/.csv-wave");
    let folders = fs::read_dir(root).into_iter().flatten().flatten();
    folders
        .filter(|folder| folder.path().join("session.json").exists())
        .map(|folder| folder.file_name().to_string_lossy().into_owned())
        .collect()
}

fn fake_agent() -> PathBuf {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let profile = if cfg!(debug_assertions) { "dev" } else { "release" };
    let built = Command::new(cargo)
        .args(["build", "--profile", profile, "-q", "-p", "wavecrew-test-support"])
        .args(["--bin", "wavecrew-fake-agent"])
        .status();
    assert!(
        built.is_ok_and(|status| status.success()),
        "the fake agent does not build"
    );
    Path::new(env!("CARGO_BIN_EXE_wavecrew")).with_file_name("wavecrew-fake-agent")
}

/// The size of the report of 1,000 tasks with findings and logs.
fn report(small: bool) {
    let tasks = if small { 100 } else { 1000 };
    let sandbox = Sandbox::new();
    let (dir, mut journal) = session(&sandbox, tasks, 50);
    let findings =
        "The module reads its settings twice. The second time is enough, the first one was removed. "
            .repeat(5);
    let log =
        "Looking at the module.\n$ grep -rn settings src\nsrc/settings.rs:12: fn read() -> Settings {\n"
            .repeat(40);
    for at in 0..tasks {
        journal
            .append(&[started(at), finished(at, &findings)])
            .expect("recorded");
        fs::write(dir.log_file(&format!("T-{at}"), 1), &log).expect("a log");
    }
    let start = Instant::now();
    sandbox
        .wavecrew(&format!("show {ID} --html report.html"))
        .expect_exit(0);
    let length = fs::metadata(sandbox.path("report.html"))
        .expect("the report")
        .len();
    println!(
        "{tasks} tasks, each with {} bytes of findings and {} bytes of log: {:.2} MB in {:.2} s",
        findings.len(),
        log.len(),
        length as f64 / 1e6,
        start.elapsed().as_secs_f64()
    );
}
