//! The guardian is killed or stopped: the run is interrupted, nothing lives on, and finished work stays finished.

use rustix::process::Signal;
use wavecrew_test_support::sandbox::{Sandbox, wait_until};

/// Waits in a merge until the file `go` is there. The marker of the wait is in the repository.
const SLOW_GIT: &str = r#"#!/bin/sh
PATH=${PATH#*:}
case " $* " in
  *" commit "*) touch "$MARKERS/merging"; while [ ! -e "$MARKERS/go" ]; do sleep 0.02; done ;;
esac
exec git "$@"
"#;

#[test]
fn finished_work_is_merged_although_the_guardian_dies_during_the_merge() {
    let sandbox = Sandbox::new()
        .tasks("id,title\na,First\nb,Second")
        .flag("--isolation worktree")
        .file(".gitignore", "ran\ngo\nmerging\ntasks.csv\nbin/\n")
        .script("bin/git", SLOW_GIT)
        .agent("a", "write=a.txt:A")
        .agent("b", "write=b.txt:B")
        .committed();
    let path = std::env::join_paths(
        [sandbox.path("bin")]
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    )
    .unwrap();
    // Git in a worktree may write the repository.
    let markers = sandbox.path(".git");
    let sandbox = sandbox.env("PATH", path).env("MARKERS", markers);
    let run = sandbox.start();
    sandbox.wait_for_file(".git/merging");
    sandbox.kill_guardian();
    // Only its end shows that the coordinator has noticed; until then git is at work.
    sandbox.write(".git/go", "");
    run.wait().expect_exit(5).expect_output("wavecrew resume");
    sandbox.expect_no_processes();
    let statuses = sandbox.statuses();
    assert!(!statuses.contains("failed"), "{statuses}");
    assert_eq!(sandbox.json("session.json")["state"], "stopped");
    sandbox.resume().expect_exit(0);
    assert_eq!(sandbox.statuses(), "a completed, b completed");
    let log = sandbox.git(&["log", "--format=%s"]);
    for subject in ["a: First", "b: Second"] {
        assert_eq!(log.lines().filter(|line| *line == subject).count(), 1, "{log}");
    }
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

#[test]
fn nothing_outlives_coordinator_and_guardian_killed_at_once() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let sandbox = Sandbox::new().tasks("id,deps\na,\nb,a").agent(
        "b",
        "attempt=1 daemon hidden-daemon stubborn-fork ignore-term write=up hang attempt=2 report",
    );
    let run = sandbox.start();
    sandbox.wait_for_file("up");
    // Stopped first: neither can notice the death of the other.
    run.signal(Signal::STOP);
    sandbox.kill_guardian();
    run.kill();
    wait_until("everything to end", || sandbox.processes().is_empty());
    sandbox.resume().expect_exit(0);
    assert_eq!(sandbox.statuses(), "a completed, b completed");
    assert_eq!(sandbox.ran("a"), 1, "completed work is not done again");
}

#[test]
fn a_stopped_guardian_interrupts_the_run() {
    let sandbox = Sandbox::new()
        .tasks("id,deps\na,\nb,a")
        .agent("b", "write=up wait=go");
    let run = sandbox.start();
    sandbox.wait_for_file("up");
    sandbox.signal_guardian(Signal::STOP);
    run.wait()
        .expect_exit(5)
        .expect_output("the guardian process was killed");
    sandbox.expect_no_processes();
    sandbox.write("go", "");
    sandbox.resume().expect_exit(0);
    assert_eq!((sandbox.ran("a"), sandbox.ran("b")), (1, 2));
}

#[test]
fn where_there_is_no_namespace_the_start_says_so_and_workers_end_with_the_guardian() {
    let sandbox = Sandbox::new()
        .tasks("id\na")
        .env("WAVECREW_SANDBOX_SUPPORT", "processes=0")
        .agent("a", "daemon hidden-daemon write=up wait=go");
    let run = sandbox.start();
    sandbox.wait_for_file("up");
    sandbox.kill_guardian();
    run.wait()
        .expect_exit(5)
        .expect_output("This machine has no PID namespace");
    sandbox.expect_no_processes();
    sandbox
        .wavecrew("doctor")
        .expect_output("may survive if wavecrew and its guardian are killed at once");
}
