//! The end of a testing session, and the steps after it: copying tests into the project, raising targets.

use super::testing;
use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::report::colour;
use crate::target::TestingFlags;
use crate::{browser, show, terminal};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use wavecrew_core::view::count;
use wavecrew_measure::run::Runner;
use wavecrew_measure::run::{cache_folder, stop_on_signals};
use wavecrew_measure::{Ratio, TestCase, TestOutcome};
use wavecrew_session::{SessionDir, SessionView};
use wavecrew_testing::apply::{AppliedRun, ApplyPlan, plan};
use wavecrew_testing::coverage_figures::{lines, percent, rate};
use wavecrew_testing::finish::finish;
use wavecrew_testing::scope::Scope;
use wavecrew_testing::setup::is_testing_session;
use wavecrew_testing::snapshot::Snapshot;
use wavecrew_testing::targets::{self, TargetError};

/// A finished session's folders hold the kept tests, and the copies of the project are removed. An unfinished one keeps
/// everything but the copy outside of it.
pub fn finish_session(dir: &SessionDir, exit: Exit) {
    if !is_testing_session(dir.path()) {
        return;
    }
    let finished = if exit == Exit::Done {
        finish(dir.path())
    } else {
        Snapshot::remove_measuring_copy(dir.path())
    };
    if let Err(error) = finished {
        let what = format!("the session's tests could not be cleaned up: {error}");
        show::warning(&what, Some("they are in its `results/accepted` folder"));
    }
}

/// Copies kept tests into the project, after showing them.
pub fn apply(project: &Path, dir: &SessionDir, yes: bool, global: &Global) -> Result<(), Failure> {
    let disk = |error: io::Error| testing::disk(&error);
    let scope = Scope::read(dir.path()).map_err(disk)?;
    let mut plan = plan(dir.path(), project, &scope).map_err(disk)?;
    for there in &plan.there {
        global.note(&format!("Apply   {} already exists", there.path.display()));
    }
    if plan.files.is_empty() {
        global.note("Apply   nothing to copy");
        return Ok(());
    }
    if !global.quiet && !global.json {
        let lines: Vec<String> = plan
            .diff()
            .lines()
            .map(|line| colour::diff(&show::safe(line)))
            .collect();
        terminal::page(&lines);
    }
    if !yes && !confirmed(&plan, global)? {
        return Ok(());
    }
    for path in plan.write(project).map_err(disk)? {
        show::warning(
            &format!("{} appeared meanwhile and is not overwritten", path.display()),
            None,
        );
    }
    let written: Vec<String> = plan
        .files
        .iter()
        .map(|file| format!("{} written", file.path.display()))
        .collect();
    for line in &written {
        global.note(&format!("Apply   {line}"));
    }
    if plan.files.is_empty() {
        return Ok(());
    }
    browser::acted_after_run(dir, "apply tests")?;
    browser::tell("Tests are in the project", &written.join("\n"));
    measure_again(project, &plan, &scope, global)
}

fn confirmed(plan: &ApplyPlan, global: &Global) -> Result<bool, Failure> {
    if global.json || !terminal::is_interactive() {
        return Err(Failure::with_help(
            "copying tests into the project needs your consent",
            "add -y to --apply",
        ));
    }
    let question = format!("Copy {} into the project?", count(plan.files.len(), "file"));
    if browser::is_on() {
        let items = ["Copy", "Leave the project as it is"];
        return Ok(browser::choose(&plan.diff(), &question, &items, 0) == Some(0));
    }
    Ok(dialoguer::Confirm::new()
        .with_prompt(question)
        .default(true)
        .interact()
        .unwrap_or(false))
}

/// In the project itself, which a person may have changed since.
fn measure_again(project: &Path, plan: &ApplyPlan, scope: &Scope, global: &Global) -> Result<(), Failure> {
    let runner = |cache: PathBuf| Runner {
        progress: None,
        cache,
        writable: vec![project.to_owned()],
        timeout: Duration::from_secs(scope.run_seconds),
        python_path: Vec::new(),
        stop: stop_on_signals().ok(),
    };
    let applied = plan
        .measure(project, scope, &cache_folder(), runner)
        .map_err(|error| Failure::NotDone {
            message: format!("the copied tests could not be run in the project: {error}"),
            help: error.help(),
        })?;
    let covered = |measured: &AppliedRun| {
        let percent = percent(lines(&measured.files));
        format!(
            "{}, {percent} % of the lines in scope covered",
            passes(&measured.tests)
        )
    };
    if applied.with_former.is_some() {
        global.note(&format!("Apply   already there: {}", passes(applied.former())));
        global.note(&format!("Apply   new: {}", covered(&applied.new)));
    }
    let all = applied.all();
    let in_project = format!("in the project: {}", covered(all));
    global.note(&format!("Apply   {in_project}"));
    browser::tell("Run again after the copy", &in_project);
    for test in all
        .tests
        .iter()
        .filter(|test| test.outcome != TestOutcome::Passed)
    {
        show::warning(&format!("{} does not pass in the project", test.id), None);
    }
    Ok(())
}

fn passes<'a>(tests: impl IntoIterator<Item = &'a TestCase>) -> String {
    let (mut covered, mut total) = (0, 0);
    for test in tests {
        total += 1;
        covered += u64::from(test.outcome == TestOutcome::Passed);
    }
    let rate = rate(Ratio { covered, total });
    format!("{covered} of {total} tests pass ({rate})")
}

/// Raises the targets of a session's layers: their rows run again, as after a table edit.
pub fn raise_targets(dir: &SessionDir, flags: &TestingFlags) -> Result<(), Failure> {
    if flags.targets.is_empty() {
        return Ok(());
    }
    let view = SessionView::load(dir.clone())?;
    if let Some(holder) = &view.holder {
        return Err(Failure::with_help(
            format!("the session `{}` is running: {}", dir.id(), holder.command),
            "wait for its end, or cancel it",
        ));
    }
    targets::raise(dir, &view.ledger, &flags.targets).map_err(|error| match error {
        TargetError::Scope(error) => testing::disk(&error),
        TargetError::Table(error) => error.into(),
        TargetError::Invalid { .. } | TargetError::NoTargets(_) => {
            Failure::with_help(error.to_string(), error.help())
        }
    })
}
