//! The coordinator dies, or is refused by the system, at each of its changes to the disk, one at a time; then the
//! session is continued.
//!
//! The faults are real ones: strace stops the coordinator at the n-th call of a kind and sends it SIGKILL, or has the
//! kernel's answer replaced by an error. Only the coordinator is traced: the guardian and the workers are let go when
//! they are executed.

mod errors;
mod kills;
mod matrix;
mod outcome;
mod trace;

use std::process::Command;
use wavecrew_test_support::sandbox::{Sandbox, wait_until};

/// The words of a run that begins.
const BEGIN: [&str; 3] = ["run", "tasks.csv", "-y"];

/// Every channel of reports, a conversation, findings that are too long for the table, three waves.
fn small_run() -> Sandbox {
    let sandbox = tasks().agent("c", "turn=1 invalid turn=2 report");
    sandbox.write_table();
    sandbox
}

/// The same run without a sandbox. For its rules, a sandbox opens hundreds of folders: among so many calls, a certain one is
/// hard to meet.
fn unconfined_run() -> Sandbox {
    let sandbox = small_run();
    sandbox.write("wavecrew.toml", "sandbox = \"off\"\n");
    sandbox
}

/// The same run, killed while the third task was under way.
fn killed_run() -> Sandbox {
    let sandbox = tasks().agent("c", "attempt=1 write=c-up hang attempt=2 report");
    let run = sandbox.start();
    sandbox.wait_for_file("c-up");
    run.kill();
    wait_until("the workers' end", || sandbox.processes().is_empty());
    sandbox
}

fn tasks() -> Sandbox {
    Sandbox::new()
        .tasks("id,deps,exec_mode\na,,\nb,,\nc,a,interactive\nd,a;c,\n")
        .agent("b", "report-file")
        .agent("d", "findings=600 report-command silent")
        .flag("-q")
}

/// The same files in another project.
fn copy_of(original: &Sandbox) -> Sandbox {
    let copy = Sandbox::new().flag("-q");
    let status = Command::new("cp")
        .arg("-a")
        .arg(original.project().join("."))
        .arg(copy.project())
        .status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "the project is copied"
    );
    copy
}
