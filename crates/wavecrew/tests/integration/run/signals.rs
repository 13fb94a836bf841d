//! Ctrl-C once and twice, termination, hang-up: each leaves a session that continues.

use rustix::process::Signal;
use wavecrew_test_support::sandbox::{Sandbox, wait_until};

/// One task that waits for the file `go`, one behind it.
fn waiting() -> Sandbox {
    Sandbox::new()
        .tasks("id,deps\na,\nb,a")
        .agent("a", "write=up wait=go")
}

#[test]
fn the_first_interrupt_lets_workers_finish_and_starts_nothing_new() {
    let sandbox = waiting();
    let run = sandbox.start();
    sandbox.wait_for_file("up");
    run.signal(Signal::INT);
    wait_until("the run to notice", || run.stdout().contains("Stopping"));
    sandbox.write("go", "");
    run.wait().expect_exit(130);
    assert_eq!(sandbox.statuses(), "a completed, b pending");
    sandbox.resume().expect_exit(0);
    assert_eq!((sandbox.ran("a"), sandbox.ran("b")), (1, 1));
}

#[test]
fn the_second_interrupt_ends_the_workers() {
    let sandbox = waiting();
    let run = sandbox.start();
    sandbox.wait_for_file("up");
    run.signal(Signal::INT);
    wait_until("the run to notice", || run.stdout().contains("Stopping"));
    run.signal(Signal::INT);
    run.wait().expect_exit(130);
    sandbox.expect_no_processes();
    assert_eq!(sandbox.statuses(), "a pending, b pending");
    sandbox.write("go", "");
    sandbox.resume().expect_exit(0);
    assert_eq!(sandbox.ran("a"), 2, "an attempt without an end is made again");
}

#[test]
fn termination_and_hang_up_end_the_run_at_once() {
    for signal in [Signal::TERM, Signal::HUP] {
        let sandbox = waiting();
        let run = sandbox.start();
        sandbox.wait_for_file("up");
        run.signal(signal);
        run.wait().expect_exit(130);
        sandbox.expect_no_processes();
        sandbox.write("go", "");
        sandbox.resume().expect_exit(0);
    }
}
