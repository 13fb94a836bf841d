//! SIGKILL at every change to the disk.

use crate::crash::matrix::{Density, Matrix};
use crate::crash::trace::{CHANGES, Fault};
use crate::crash::{BEGIN, copy_of, killed_run, small_run};

#[test]
fn a_run_killed_at_any_write_resumes() {
    kill_at(&["write", "pwrite64", "ftruncate"]);
}

#[test]
fn a_run_killed_at_any_sync_resumes() {
    kill_at(&["fsync", "fdatasync"]);
}

#[test]
fn a_run_killed_at_any_rename_or_unlink_resumes() {
    kill_at(&["rename", "renameat", "renameat2", "linkat", "unlink", "mkdir"]);
}

#[test]
fn a_run_killed_at_any_file_creation_resumes() {
    kill_at(&["openat"]);
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

fn kill_at(calls: &[&str]) {
    let matrix = Matrix {
        prepare: small_run,
        words: &BEGIN,
        calls,
    };
    matrix.strike(Fault::Kill, Density::Every);
}
