//! SIGKILL at every change to the disk.

use crate::crash::matrix::{Density, Matrix};
use crate::crash::trace::{CHANGES, Fault};
use crate::crash::{BEGIN, copy_of, killed_run, small_run};

#[test]
fn a_run_killed_at_any_write_goes_on() {
    kill_at(&["write", "pwrite64", "ftruncate"]);
}

#[test]
fn a_run_killed_at_any_sync_goes_on() {
    kill_at(&["fsync", "fdatasync"]);
}

#[test]
fn a_run_killed_at_any_change_of_a_name_goes_on() {
    kill_at(&["rename", "renameat", "renameat2", "linkat", "unlink", "mkdir"]);
}

#[test]
fn a_run_killed_at_any_creation_of_a_file_goes_on() {
    kill_at(&["openat"]);
}

#[test]
fn a_continued_run_killed_anywhere_goes_on() {
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
