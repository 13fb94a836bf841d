//! Services that want to be waited for, and budgets.

use crate::run::sandbox::{Ended, Going, Sandbox, agent, wait_for, wait_until};
use serde_json::Value;
use std::fs;
use std::path::Path;

const LATER: &str = r#"usage={"stop":"rate_limited","retry_after":3600} silent"#;

/// The events of a kind in the session's journal.
fn events(sandbox: &Sandbox, kind: &str) -> Vec<Value> {
    if sandbox.sessions().is_empty() {
        return Vec::new();
    }
    let journal = fs::read_to_string(sandbox.file("journal.ndjson")).unwrap_or_default();
    let lines = journal.lines().filter_map(|line| line.split_once(' '));
    let events = lines.filter_map(|(_, json)| serde_json::from_str::<Value>(json).ok());
    events.filter(|event| event["e"] == kind).collect()
}

fn status(sandbox: &Sandbox) -> Value {
    let mut command = std::process::Command::new(crate::run::sandbox::program());
    command.args(["status", "--json"]).current_dir(sandbox.folder());
    let output = command.output().expect("the program starts");
    serde_json::from_slice(&output.stdout).expect("one document")
}

/// Waits until the session's run waits for a service.
fn until_it_waits(sandbox: &Sandbox) -> Value {
    wait_for("the wait to begin", || {
        let begun = !events(sandbox, "quota_wait").is_empty();
        let waits = begun.then(|| status(sandbox)["quota_wait"][0].clone())?;
        waits.is_object().then_some(waits)
    })
}

fn stop(going: Going) -> Ended {
    going.signal(rustix::process::Signal::TERM);
    going.wait()
}

/// The command that the report says goes on.
fn go_on(sandbox: &Sandbox, ended: &Ended) -> Ended {
    let line = ended
        .out
        .lines()
        .find_map(|line| line.strip_prefix("Continue wavecrew "));
    let line = line.unwrap_or_else(|| panic!("no way to go on in:\n{}", ended.out));
    let words: Vec<&str> = line.split(' ').collect();
    sandbox.spawn(&mut sandbox.command(&words)).wait()
}

#[test]
fn a_storm_costs_neither_tasks_nor_attempts() {
    let storm =
        r#"attempt=1 usage={"stop":"rate_limited","retry_after":0.01} silent exit=1 attempt=3 report"#;
    let sandbox = Sandbox::new()
        .tasks("id,deps\na,\nb,\nc,a\n")
        .agent("a", storm)
        .agent(
            "b",
            r#"attempt=1 usage={"stop":"quota","retry_after":0.01} silent attempt=2 report"#,
        );
    let ended = sandbox.run().expect_exit(0);
    assert_eq!(sandbox.statuses(), "a completed, b completed, c completed");
    assert_eq!((sandbox.ran("a"), sandbox.ran("b")), (3, 2));
    assert_eq!(events(&sandbox, "postponed").len(), 3);
    assert!(
        ended.out.contains("waits for its service (rate_limited)"),
        "{}",
        ended.out
    );
    sandbox.expect_nothing_alive();
}

#[test]
fn a_wait_is_shown_and_survives_the_run() {
    let sandbox = Sandbox::new().tasks("id\na\n").agent("a", LATER);
    let going = sandbox.start();
    let wait = until_it_waits(&sandbox);
    let left = wait["seconds_left"].as_f64().expect("a number");
    assert!((3000.0..4000.0).contains(&left), "{wait}");
    assert_eq!(wait["reason"], "rate_limited");
    going.kill();

    let session = sandbox.session_id();
    let again = sandbox.spawn(&mut sandbox.command(&["run", "--continue", &session]));
    wait_until("the second run begins", || {
        events(&sandbox, "run_started").len() == 2
    });
    let until = |wait: &Value| wait["until"].as_str().map(str::to_owned);
    assert_eq!(
        until(&until_it_waits(&sandbox)),
        until(&wait),
        "the rest of the same wait"
    );
    stop(again).expect_exit(130);
    assert_eq!(sandbox.ran("a"), 1, "nothing was started before its time");
    assert_eq!(sandbox.status("a"), "pending");
}

/// A project whose workers draw on an account that others draw on, too.
fn sharing(state: &Path, script: &str) -> (Sandbox, Going) {
    let sandbox = Sandbox::new().tasks("id\na\n").agent("a", script);
    let config = format!("[pools]\n{:?} = \"shop\"\n", agent());
    fs::write(sandbox.path("wavecrew.toml"), config).expect("the settings are written");
    sandbox.write_table();
    let mut command = sandbox.command(&["run", "tasks.csv", "-y"]);
    let going = sandbox.spawn(command.env("WAVECREW_STATE_DIR", state));
    (sandbox, going)
}

#[test]
fn runs_side_by_side_wait_together() {
    let state = tempfile::tempdir().expect("a temporary folder");
    let (first, one) = sharing(state.path(), LATER);
    until_it_waits(&first);
    let (second, other) = sharing(state.path(), "report");
    until_it_waits(&second);
    assert_eq!(second.ran("a"), 0, "it was told by the first");
    stop(one).expect_exit(130);
    // A person who knows better takes the wait away.
    fs::remove_file(state.path().join("pools/shop.json")).expect("the shared state");
    other.wait().expect_exit(0);
    assert_eq!(second.ran("a"), 1);
}

#[test]
fn what_cannot_be_shared_is_said_and_costs_nothing() {
    let state = tempfile::tempdir().expect("a temporary folder");
    fs::write(state.path().join("pools"), "in the way").expect("a file");
    let (sandbox, going) = sharing(state.path(), "report");
    going
        .wait()
        .expect_exit(0)
        .expect_says("Rate limits are not shared with other runs");
    assert_eq!(sandbox.status("a"), "completed");
}

#[test]
fn at_the_limit_nothing_starts_and_the_report_says_how_to_go_on() {
    let used = r#"usage={"input":50,"cached":20,"output":10} report"#;
    let sandbox = Sandbox::new()
        .tasks("id\na\nb\nc\n")
        .agent("a", used)
        .agent("b", used)
        .agent("c", used)
        .flag("-c1");
    sandbox.write_table();
    let mut command = sandbox.command(&["run", "tasks.csv", "-y", "--max-tokens", "100"]);
    let ended = sandbox.spawn(&mut command).wait().expect_exit(3);
    let ended = ended.expect_says("Used 60 tokens (20 cached)").expect_says(
        "Stopped at a limit: 60 of 100 tokens are used, and another worker needs about 60 tokens",
    );
    assert_eq!(sandbox.statuses(), "a completed, b pending, c pending");
    let seen = status(&sandbox);
    assert_eq!(
        (&seen["state"], &seen["budget"]["tokens"]),
        (&"stopped".into(), &100.into())
    );
    assert_eq!(seen["ending"]["kind"], "limit_reached");
    // The limit stays in force until another one is given.
    sandbox.go_on().expect_exit(3);
    assert_eq!(sandbox.ran("b"), 0);
    go_on(&sandbox, &ended)
        .expect_exit(0)
        .expect_says("Used 180 tokens");
    assert_eq!(status(&sandbox)["usage"]["tokens"], 180);
}

#[test]
fn money_is_counted_by_what_is_told_else_by_the_table() {
    let sandbox = Sandbox::new()
        .tasks("id,deps\na,\nb,a\nc,b\n")
        .agent(
            "a",
            r#"usage={"output":1000000,"model":"mine-2","cost":0.25} report"#,
        )
        .agent("b", r#"usage={"output":1000000,"model":"mine-2"} report"#)
        .agent("c", r#"usage={"output":500,"model":"new"} report"#);
    fs::write(
        sandbox.path("wavecrew.toml"),
        "[prices]\nmine = { input = 1, output = 2.5 }\n[budget]\nmax_cost = 100\n",
    )
    .expect("the settings are written");
    let ended = sandbox.run().expect_exit(0);
    assert!(
        ended.out.contains("· $2.75 · 500 tokens without a known price"),
        "{}",
        ended.out
    );
    assert_eq!(
        ended.out.matches("The price of `new` is not known").count(),
        1,
        "{}",
        ended.out
    );
    let seen = status(&sandbox);
    assert_eq!(seen["usage"]["cost_usd"], 2.75);
    assert_eq!(
        (&seen["tasks"][0]["cost_usd"], &seen["tasks"][2]["tokens"]),
        (&0.25.into(), &500.into())
    );
}

#[test]
fn time_is_a_limit_too() {
    let sandbox = Sandbox::new()
        .tasks("id,deps\na,\nb,a\n")
        .agent("a", "sleep=1100 report")
        .flag("--max-time=1s");
    let ended = sandbox.run().expect_exit(3);
    assert_eq!(
        sandbox.statuses(),
        "a completed, b pending",
        "what runs may finish"
    );
    assert!(ended.out.contains("--max-time "), "{}", ended.out);
    assert_eq!(events(&sandbox, "budgeted")[0]["budget"]["seconds"], 1);
}

#[test]
fn a_task_that_used_what_it_may_is_not_asked_again() {
    let sandbox = Sandbox::new()
        .tasks("id\na\nb\n")
        .agent("a", r#"usage={"output":60} invalid"#)
        .agent("b", r#"usage={"output":60} report"#)
        .flag("--max-task-tokens=50");
    sandbox.run().expect_exit(1);
    assert_eq!(sandbox.statuses(), "a failed, b completed");
    let error = sandbox.cell("a", "error");
    assert!(
        error.contains("it used 60 of 50 tokens (--max-task-tokens)"),
        "{error}"
    );
}
