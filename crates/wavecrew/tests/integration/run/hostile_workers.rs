//! Workers that flood, garble, fork and refuse to die.

use std::fs;
use std::time::{Duration, Instant};
use wavecrew_test_support::sandbox::{Sandbox, wait_until};

#[test]
fn a_flood_of_output_is_bounded_on_disk() {
    let sandbox = Sandbox::new()
        .tasks("id\nloud\nquiet")
        .agent("loud", "print=67108864 text=dry report")
        .agent("quiet", "print-error=16777216");
    sandbox.run().expect_exit(0);
    assert_eq!(sandbox.cell("loud", "findings"), "dry");
    for task in ["loud", "quiet"] {
        let log = sandbox.in_session(&format!("logs/{task}.1.log"));
        let size = fs::metadata(&log).expect("a log").len();
        assert!(size <= 10 << 20, "{} has {size} bytes", log.display());
        assert!(size > 9 << 20, "head and tail are kept: {size} bytes");
    }
    assert!(
        sandbox.read("logs/loud.1.log").ends_with("\"dry\"}\n"),
        "the tail is kept"
    );
}

#[test]
fn escape_sequences_and_garbage_never_reach_terminal_or_table() {
    let sandbox = Sandbox::new()
        .tasks("id\na\nb\nc")
        .agent("a", "ansi exit=1")
        .agent("b", "binary=100000 silent")
        .agent("c", "ansi binary=3000 print=10 report");
    let ended = sandbox.run().expect_exit(1);
    let safe = |text: &str| !text.chars().any(|c| c.is_control() && c != '\n');
    assert!(safe(&ended.stdout) && safe(&ended.stderr), "{:?}", ended.stderr);
    for task in ["a", "b", "c"] {
        assert!(
            safe(&sandbox.cell(task, "error")),
            "{:?}",
            sandbox.cell(task, "error")
        );
    }
    assert_eq!(
        sandbox.status("c"),
        "completed",
        "garbage before a report is no harm"
    );
    assert!(safe(&sandbox.read("context.md")));
}

#[test]
fn processes_that_a_worker_leaves_behind_are_ended() {
    let sandbox = Sandbox::new()
        .tasks("id\na\nb\nc\nd\ne\nf")
        .agent("a", "fork report")
        .agent("b", "daemon report")
        .agent("c", "stubborn-fork report")
        .agent("d", "hidden-daemon report")
        .agent("e", "chain report")
        .agent("f", "bomb=20 report")
        .flag("-c 6");
    sandbox.run().expect_exit(0);
    sandbox.expect_no_processes();
}

#[test]
fn a_worker_that_ignores_the_signal_is_ended_by_force() {
    let sandbox = Sandbox::new()
        .tasks("id\na")
        .agent("a", "ignore-term stubborn-fork hang")
        .flag("--timeout 1");
    sandbox.run().expect_exit(1);
    sandbox.expect_no_processes();
}

#[test]
fn workers_end_with_a_killed_coordinator_and_the_session_resumes() {
    let sandbox = Sandbox::new()
        .tasks("id,deps\ndone,\na,done\nb,done\nc,done\nd,a;b;c")
        .agent("a", "attempt=1 ignore-term write=a-up hang attempt=2 report")
        .agent(
            "b",
            "attempt=1 daemon stubborn-fork write=b-up hang attempt=2 report",
        )
        .agent(
            "c",
            "attempt=1 hidden-daemon chain write=c-up hang attempt=2 report",
        );
    let run = sandbox.start();
    wait_until("the workers", || {
        ["a-up", "b-up", "c-up"]
            .iter()
            .all(|name| sandbox.path(name).exists())
    });
    run.kill();
    let killed = Instant::now();
    wait_until("the workers' end", || sandbox.processes().is_empty());
    assert!(
        killed.elapsed() < Duration::from_secs(10),
        "took {:?}",
        killed.elapsed()
    );
    sandbox.resume().expect_exit(0);
    assert_eq!(
        sandbox.statuses(),
        "done completed, a completed, b completed, c completed, d completed"
    );
    assert_eq!(sandbox.ran("done"), 1, "completed work is not done again");
    assert_eq!(sandbox.ran("d"), 1);
    sandbox.expect_no_processes();
}
