//! What a session whose tests are measured has before its first worker starts: a copy of the project, what was found out
//! about it, and a run of its own tests. A session that was cut off on the way is given the rest of it.

use crate::cmd::baseline;
use crate::exit::{Exit, Failure};
use crate::launch::test_runs::stop_on_signals;
use crate::launch::testing::disk;
use crate::show;
use crate::terminal;
use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::json;
use wavecrew_core::engine::Ledger;
use wavecrew_core::team::Workspace;
use wavecrew_core::view::count;
use wavecrew_run::driver::{Folders, OpenSession};
use wavecrew_session::{Discovery, SessionPaths};
use wavecrew_testing::baseline::{Baseline, SuiteResult};
use wavecrew_testing::figures::{lines, percent};
use wavecrew_testing::scope::Scope;
use wavecrew_testing::tree::Trees;

/// Gives a session what its examinations and workers need; nothing to one of another kind.
pub fn ready(session: &mut OpenSession, ledger: &Ledger, quiet: bool) -> Result<(), Failure> {
    let folder = session.dir.path().to_owned();
    if !session.dir.scope_json().exists() {
        return Ok(());
    }
    let disk = |error: io::Error| disk(&error);
    Trees::make(&session.project, &folder).map_err(disk)?;
    if Baseline::read(&folder).is_err() {
        let state = json!({ "rounds": {}, "coverage_history": [], "max_rounds_per_layer": 3 });
        std::fs::write(session.dir.gc_state(), format!("{state:#}\n")).map_err(disk)?;
        announce(session, &Scope::read(&folder).map_err(disk)?)?;
        if !quiet {
            anstream::eprintln!("Before  the project's own tests are run once");
        }
        measure(&folder, session.dir.id())?;
        if !quiet {
            tell(&Baseline::read(&folder).map_err(disk)?);
        }
    }
    session.folders = Some(folders(ledger, &session.project, &folder));
    Ok(())
}

/// Runs the project's own tests in a process that ends them when this one is gone, however it goes.
fn measure(session: &Path, id: &str) -> Result<(), Failure> {
    terminal::hand_over_interrupts();
    let stop = stop_on_signals().map_err(Failure::Output)?;
    let program = std::env::current_exe().map_err(Failure::Output)?;
    let mut child = Command::new(program)
        .args([baseline::NAME, "--session"])
        .arg(session)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .map_err(Failure::Output)?;
    let leash = child.stdin.take();
    let pidfd = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).map_err(io::Error::from)?;
    loop {
        let mut fds = [
            PollFd::new(&pidfd, PollFlags::IN),
            PollFd::new(&stop, PollFlags::IN),
        ];
        match poll(&mut fds, None) {
            Ok(_) => break,
            Err(Errno::INTR) => {}
            Err(error) => return Err(Failure::Output(error.into())),
        }
    }
    // It goes on after its end, or is told to come to it.
    drop(leash);
    let status = child.wait().map_err(Failure::Output)?;
    if status.success() {
        return Ok(());
    }
    if status.code() == Some(Exit::Interrupted as i32) {
        return Err(Failure::Interrupted {
            message: "interrupted before the first worker was started".to_owned(),
            help: format!("go on with `wavecrew testing --continue {id}`"),
        });
    }
    // It has said itself what was wrong.
    Err(Failure::Refused)
}

/// What the project's own tests came to.
fn tell(baseline: &Baseline) {
    for suite in &baseline.suites {
        match &suite.result {
            SuiteResult::Error { message, help } => show::warning(message, Some(help)),
            SuiteResult::Measurement(found) => {
                for note in &found.notes {
                    show::warning(&show::safe(&note.what), note.fix.as_deref());
                }
            }
        }
    }
    let covered = lines(&baseline.coverage());
    let red = match baseline.red() {
        0 => String::new(),
        red => format!(", {red} of them red before anything was written"),
    };
    anstream::eprintln!(
        "Before  {}{red}; {} % of the lines in scope covered",
        count(baseline.tests(), "test"),
        if covered.total == 0 {
            "0.00".to_owned()
        } else {
            percent(covered)
        }
    );
}

/// Puts what was found out about the project on the board.
fn announce(session: &OpenSession, scope: &Scope) -> Result<(), Failure> {
    let board = session.dir.board();
    let entry = |kind: &str, data| Discovery {
        ts: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        worker: "coordinator".to_owned(),
        kind: kind.to_owned(),
        data,
        attempt: None,
        extra: serde_json::Map::new(),
    };
    for framework in &scope.frameworks {
        board.append(&entry(
            "framework_detected",
            json!({
                "framework": framework.framework.name(),
                "config_file": framework.config_file,
                "test_pattern": framework.test_pattern(),
                "root": framework.root,
                "version": framework.version,
            }),
        ))?;
        let conventions = &framework.conventions;
        for (pattern, description) in conventions
            .folders
            .iter()
            .map(|folder| (folder, "a folder that holds tests"))
            .chain(
                conventions
                    .naming
                    .iter()
                    .map(|naming| (naming, "how test files are named")),
            )
            .chain(conventions.fixtures.iter().map(|file| (file, "shared by tests")))
        {
            board.append(&entry(
                "convention_found",
                json!({ "pattern": pattern, "example_file": framework.root, "description": description }),
            ))?;
        }
    }
    Ok(())
}

/// Roles that work in a snapshot stand in the copy, the others in the project.
fn folders(ledger: &Ledger, project: &Path, session: &Path) -> Folders {
    let (project, tree) = (project.to_owned(), SessionPaths::at(session).project_copy());
    let plan = ledger.plan();
    let in_project: HashSet<String> = plan
        .tasks()
        .filter(|&task| {
            ledger
                .team
                .role(plan.role(task))
                .is_none_or(|role| role.workspace != Workspace::Snapshot)
        })
        .map(|task| plan.id(task).to_owned())
        .collect();
    Box::new(move |task| {
        Ok(if in_project.contains(task) {
            project.clone()
        } else {
            tree.clone()
        })
    })
}
