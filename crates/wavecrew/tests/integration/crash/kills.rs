//! SIGKILL at every change to the disk.

use crate::crash::matrix::{Density, Matrix};
use crate::crash::trace::{CHANGES, Fault};
use crate::crash::{BEGIN, copy_of, killed_run, small_run, unconfined_run};
use wavecrew_test_support::sandbox::Sandbox;

#[test]
fn a_run_killed_at_any_write_resumes() {
    kill_at(small_run, &["write", "pwrite64", "ftruncate"]);
}

#[test]
fn a_run_killed_at_any_sync_resumes() {
    kill_at(small_run, &["fsync", "fdatasync"]);
}

#[test]
fn a_run_killed_at_any_rename_or_unlink_resumes() {
    let calls = ["rename", "renameat", "renameat2", "linkat", "unlink", "mkdir"];
    kill_at(small_run, &calls);
}

#[test]
fn a_run_killed_at_any_file_creation_resumes() {
    kill_at(unconfined_run, &["openat"]);
}

#[test]
fn a_resumed_run_killed_anywhere_resumes() {
    let original = killed_run();
    let session = original.session_id();
    let matrix = Matrix {
        prepare: || copy_of(&original),
        words: &["run", "--continue", &session],
        calls: &CHANGES,
    };
    matrix.strike(Fault::Kill, Density::Every);
}

fn kill_at(prepare: impl Fn() -> Sandbox + Sync, calls: &[&str]) {
    let matrix = Matrix {
        prepare,
        words: &BEGIN,
        calls,
    };
    matrix.strike(Fault::Kill, Density::Every);
}
