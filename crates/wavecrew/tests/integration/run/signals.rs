//! Ctrl-C once and twice, termination, hang-up: each leaves a session that continues.

use crate::run::sandbox::{Sandbox, wait_until};
use rustix::process::Signal;
use std::fs;

/// One task that waits for the file `go`, one behind it.
fn waiting() -> Sandbox {
    Sandbox::new()
        .tasks("id,deps\na,\nb,a")
        .agent("a", "write=up wait=go")
}

#[test]
fn the_first_interrupt_lets_workers_finish_and_starts_nothing_new() {
    let sandbox = waiting();
    let going = sandbox.start();
    wait_until("the worker", || sandbox.path("up").exists());
    going.signal(Signal::INT);
    wait_until("the run to notice", || going.out().contains("Stopping"));
    fs::write(sandbox.path("go"), "").expect("the sign is written");
    going.wait().expect_exit(130);
    assert_eq!(sandbox.statuses(), "a completed, b pending");
    sandbox.go_on().expect_exit(0);
    assert_eq!((sandbox.ran("a"), sandbox.ran("b")), (1, 1));
}

#[test]
fn the_second_interrupt_ends_the_workers() {
    let sandbox = waiting();
    let going = sandbox.start();
    wait_until("the worker", || sandbox.path("up").exists());
    going.signal(Signal::INT);
    wait_until("the run to notice", || going.out().contains("Stopping"));
    going.signal(Signal::INT);
    going.wait().expect_exit(130);
    sandbox.expect_nothing_alive();
    assert_eq!(sandbox.statuses(), "a pending, b pending");
    fs::write(sandbox.path("go"), "").expect("the sign is written");
    sandbox.go_on().expect_exit(0);
    assert_eq!(sandbox.ran("a"), 2, "an attempt without an end is made again");
}

#[test]
fn termination_and_hang_up_end_the_run_at_once() {
    for signal in [Signal::TERM, Signal::HUP] {
        let sandbox = waiting();
        let going = sandbox.start();
        wait_until("the worker", || sandbox.path("up").exists());
        going.signal(signal);
        going.wait().expect_exit(130);
        sandbox.expect_nothing_alive();
        fs::write(sandbox.path("go"), "").expect("the sign is written");
        sandbox.go_on().expect_exit(0);
    }
}
