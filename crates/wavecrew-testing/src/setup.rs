//! Prepares a session of team testing before its first worker starts: a copy of the project, entries about it
//! on the board, and the baseline. If it was interrupted, it continues with the missing steps.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::{Value, json};
use wavecrew_core::engine::Ledger;
use wavecrew_core::team::Workspace;
use wavecrew_session::{Discovery, SessionDir, SessionError, SessionPaths};

use crate::baseline::Baseline;
use crate::scope::Scope;
use crate::snapshot::Snapshot;

/// The subcommand that measures the baseline of a session.
pub const BASELINE_COMMAND: &str = "__baseline";

#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error("the session's copy of the project cannot be made: {0}")]
    Disk(#[from] io::Error),
    #[error(transparent)]
    Board(#[from] SessionError),
}

/// Whether the session is one of team Testing.
pub fn is_testing_session(session: &Path) -> bool {
    SessionPaths::at(session).scope_json().exists()
}

/// Makes the copies of the project, and adds entries about the project to the board. Returns whether the
/// baseline has to be measured. `now` is the time of board entries.
pub fn begin(project: &Path, dir: &SessionDir, now: &str) -> Result<bool, SetupError> {
    let session = dir.path();
    Snapshot::make(project, session)?;
    if Baseline::read(session).is_ok() {
        return Ok(false);
    }
    let state = json!({ "rounds": {}, "coverage_history": [], "max_rounds_per_layer": 3 });
    fs::write(dir.gc_state(), format!("{state:#}\n"))?;
    announce(dir, &Scope::read(session)?, now)?;
    Ok(true)
}

/// Puts frameworks and conventions of the project on the board.
fn announce(dir: &SessionDir, scope: &Scope, now: &str) -> Result<(), SessionError> {
    let board = dir.board();
    let append = |kind: &str, data: Value| {
        board.append(&Discovery {
            ts: now.to_owned(),
            worker: "coordinator".to_owned(),
            kind: kind.to_owned(),
            data,
            attempt: None,
            extra: serde_json::Map::new(),
        })
    };
    for framework in &scope.frameworks {
        append(
            "framework_detected",
            json!({
                "framework": framework.framework.name(),
                "config_file": framework.config_file,
                "test_pattern": framework.test_pattern(),
                "root": framework.root,
                "version": framework.version,
            }),
        )?;
        let conventions = &framework.conventions;
        let folders = conventions
            .folders
            .iter()
            .map(|f| (f, "a folder that holds tests"));
        let naming = conventions.naming.iter().map(|n| (n, "how test files are named"));
        let fixtures = conventions.fixtures.iter().map(|f| (f, "shared by tests"));
        for (pattern, description) in folders.chain(naming).chain(fixtures) {
            let data =
                json!({ "pattern": pattern, "example_file": framework.root, "description": description });
            append("convention_found", data)?;
        }
    }
    Ok(())
}

/// Runs the project's own tests in a child process, `program __baseline`, which ends them when this process is gone.
/// When `stop` becomes readable, the child stops. `rules` is the variable with what its programs may do.
pub fn measure_baseline(
    program: &Path,
    session: &Path,
    silent: bool,
    stop: &OwnedFd,
    rules: (&str, String),
) -> io::Result<ExitStatus> {
    let mut child = Command::new(program)
        .args([BASELINE_COMMAND, "--session"])
        .arg(session)
        .args(silent.then_some("--silent"))
        .env(rules.0, rules.1)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()?;
    let stdin = child.stdin.take();
    let pidfd = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
    loop {
        let mut fds = [
            PollFd::new(&pidfd, PollFlags::IN),
            PollFd::new(stop, PollFlags::IN),
        ];
        match poll(&mut fds, None) {
            Ok(_) => break,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    // The child ends with its stdin.
    drop(stdin);
    child.wait()
}

/// The folder of each task: the workers' copy for roles that work in a snapshot, the project for the others.
pub fn task_folders(ledger: &Ledger, project: &Path, session: &Path) -> impl Fn(&str) -> PathBuf + use<> {
    let (project, copy) = (project.to_owned(), Snapshot::worker_copy_of(session));
    let plan = ledger.plan();
    let in_project: HashSet<String> = plan
        .tasks()
        .filter(|&task| {
            let role = ledger.team.role(plan.role(task));
            role.is_none_or(|role| role.workspace != Workspace::Snapshot)
        })
        .map(|task| plan.id(task).to_owned())
        .collect();
    move |task| {
        if in_project.contains(task) {
            project.clone()
        } else {
            copy.clone()
        }
    }
}
