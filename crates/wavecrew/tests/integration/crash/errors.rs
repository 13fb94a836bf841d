//! A full disk, a broken one, and too many open files: a clear word, and a session that continues.

use crate::crash::matrix::{Density, Matrix};
use crate::crash::outcome::after_refusal;
use crate::crash::trace::{Fault, Point, strike};
use crate::crash::{BEGIN, small_run, unconfined_run};
use std::process::Command;
use wavecrew_test_support::sandbox::Sandbox;

#[test]
fn a_full_disk_is_reported_and_the_session_resumes() {
    let calls = ["write", "pwrite64", "openat", "mkdir", "fdatasync"];
    refuse(unconfined_run, &calls, "ENOSPC");
}

#[test]
fn a_broken_disk_is_reported_and_the_session_resumes() {
    let calls = ["write", "fsync", "fdatasync", "rename", "renameat", "renameat2"];
    refuse(small_run, &calls, "EIO");
}

#[test]
fn too_many_open_files_are_reported_and_the_session_resumes() {
    refuse(unconfined_run, &["openat"], "EMFILE");
}

#[test]
fn a_pipe_that_cannot_be_created_fails_no_task() {
    for nth in 1..=4 {
        let sandbox = small_run();
        let point = Point {
            call: "pipe2".to_owned(),
            nth,
            file: None,
        };
        let (ended, _) = strike(&sandbox, &BEGIN, &point, Fault::Error("EMFILE"));
        assert_eq!(after_refusal(&sandbox, &ended), Vec::<String>::new(), "{point}");
    }
}

#[test]
fn a_small_limit_of_open_files_is_reported() {
    for limit in [8, 12, 16, 20, 26, 32, 40, 64] {
        let sandbox = small_run();
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("ulimit -n {limit}; exec \"$@\""), "sh"]);
        let ended = sandbox.start_run_under(shell, &BEGIN).wait();
        let problems = after_refusal(&sandbox, &ended);
        assert_eq!(problems, Vec::<String>::new(), "with {limit} files");
    }
}

/// Has the system refuse these calls, one at a time.
fn refuse(prepare: impl Fn() -> Sandbox + Sync, calls: &[&str], error: &'static str) {
    let matrix = Matrix {
        prepare,
        words: &BEGIN,
        calls,
    };
    matrix.strike(Fault::Error(error), Density::Ends);
}
