//! Rate limits and budgets.

use serde_json::Value;
use std::fs;
use std::path::Path;
use wavecrew_test_support::sandbox::{Outcome, Running, Sandbox, test_agent, wait_for, wait_until};

const LATER: &str = r#"usage={"stop":"rate_limited","retry_after":3600} silent"#;

fn status(sandbox: &Sandbox) -> Value {
    sandbox.wavecrew("status --json").json()
}

/// Waits until the session's run waits for a service.
fn until_it_waits(sandbox: &Sandbox) -> Value {
    wait_for("the wait to begin", || {
        let begun = !sandbox.events("quota_wait").is_empty();
        let waits = begun.then(|| status(sandbox)["quota_wait"][0].clone())?;
        waits.is_object().then_some(waits)
    })
}

fn stop(run: Running) -> Outcome {
    run.signal(rustix::process::Signal::TERM);
    run.wait()
}

/// Runs the command that the report prints for continuing.
fn resume_as_printed(sandbox: &Sandbox, ended: &Outcome) -> Outcome {
    let line = ended
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix("Continue wavecrew "));
    let line = line.unwrap_or_else(|| panic!("no command to continue in:\n{}", ended.stdout));
    let words: Vec<&str> = line.split(' ').collect();
    sandbox.start_run(&words).wait()
}

#[test]
fn rate_limits_cost_neither_tasks_nor_attempts() {
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
    assert_eq!(sandbox.events("postponed").len(), 3);
    assert!(
        ended.stdout.contains("waits for its service (rate_limited)"),
        "{}",
        ended.stdout
    );
    sandbox.expect_no_processes();
}

#[test]
fn a_rate_limit_is_shown_and_survives_the_run() {
    let sandbox = Sandbox::new().tasks("id\na\n").agent("a", LATER);
    let run = sandbox.start();
    let wait = until_it_waits(&sandbox);
    let left = wait["seconds_left"].as_f64().expect("a number");
    assert!((3000.0..4000.0).contains(&left), "{wait}");
    assert_eq!(wait["reason"], "rate_limited");
    run.kill();

    let session = sandbox.session_id();
    let again = sandbox.start_run(&["run", "--continue", &session]);
    wait_until("the second run begins", || {
        sandbox.events("run_started").len() == 2
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

/// A run whose workers use an account that other runs use too.
fn start_sharing(state: &Path, script: &str) -> (Sandbox, Running) {
    let sandbox = Sandbox::new()
        .tasks("id\na\n")
        .agent("a", script)
        .file(
            "wavecrew.toml",
            format!("[pools]\n{:?} = \"shop\"\n", test_agent()),
        )
        .env("WAVECREW_STATE_DIR", state);
    let run = sandbox.start();
    (sandbox, run)
}

#[test]
fn parallel_runs_share_a_rate_limit() {
    let state = tempfile::tempdir().expect("a temporary folder");
    let (first, one) = start_sharing(state.path(), LATER);
    until_it_waits(&first);
    let (second, other) = start_sharing(state.path(), "report");
    until_it_waits(&second);
    assert_eq!(second.ran("a"), 0, "it was told by the first");
    stop(one).expect_exit(130);
    // A person who knows better takes the wait away.
    fs::remove_file(state.path().join("pools/shop.json")).expect("the shared state");
    other.wait().expect_exit(0);
    assert_eq!(second.ran("a"), 1);
}

#[test]
fn unshared_rate_limits_are_reported_and_fail_nothing() {
    let state = tempfile::tempdir().expect("a temporary folder");
    fs::write(state.path().join("pools"), "in the way").expect("a file");
    let (sandbox, run) = start_sharing(state.path(), "report");
    run.wait()
        .expect_exit(0)
        .expect_output("Rate limits are not shared with other runs");
    assert_eq!(sandbox.status("a"), "completed");
}

#[test]
fn at_the_limit_nothing_starts_and_the_report_shows_how_to_continue() {
    let used = r#"usage={"input":50,"cached":20,"output":10} report"#;
    let sandbox = Sandbox::new()
        .tasks("id\na\nb\nc\n")
        .agent("a", used)
        .agent("b", used)
        .agent("c", used)
        .flag("-c1");
    let ended = sandbox.run_with("--max-tokens 100").expect_exit(3);
    let ended = ended.expect_output("Used 60 tokens (20 cached)").expect_output(
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
    sandbox.resume().expect_exit(3);
    assert_eq!(sandbox.ran("b"), 0);
    resume_as_printed(&sandbox, &ended)
        .expect_exit(0)
        .expect_output("Used 180 tokens");
    assert_eq!(status(&sandbox)["usage"]["tokens"], 180);
}

#[test]
fn cost_is_as_reported_or_computed_from_prices() {
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
        ended
            .stdout
            .contains("· $2.75 · 500 tokens without a known price"),
        "{}",
        ended.stdout
    );
    assert_eq!(
        ended.stdout.matches("The price of `new` is not known").count(),
        1,
        "{}",
        ended.stdout
    );
    let seen = status(&sandbox);
    assert_eq!(seen["usage"]["cost_usd"], 2.75);
    assert_eq!(
        (&seen["tasks"][0]["cost_usd"], &seen["tasks"][2]["tokens"]),
        (&0.25.into(), &500.into())
    );
}

#[test]
fn max_time_is_a_limit() {
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
    assert!(ended.stdout.contains("--max-time "), "{}", ended.stdout);
    assert_eq!(sandbox.events("budgeted")[0]["budget"]["seconds"], 1);
}

#[test]
fn a_task_at_its_token_limit_gets_no_correction() {
    let sandbox = Sandbox::new()
        .tasks("id\na\nb\n")
        .agent("a", r#"usage={"output":60} invalid"#)
        .agent("b", r#"usage={"output":60} report"#)
        .flag("--max-task-tokens=50");
    sandbox.run().expect_exit(1);
    assert_eq!(sandbox.statuses(), "a failed, b completed");
    sandbox.expect_cell("a", "error", "it used 60 of 50 tokens (--max-task-tokens)");
}
