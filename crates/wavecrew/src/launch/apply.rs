//! The end of a testing session and what comes after it: tests into the project, or higher targets.

use super::test_runs;
use super::testing::{self, TestingFlags};
use crate::cli::Global;
use crate::exit::{Exit, Failure};
use crate::show;
use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use wavecrew_core::view::count;
use wavecrew_measure::run::Runner;
use wavecrew_measure::{Outcome, Ratio, TestCase};
use wavecrew_session::SessionView;
use wavecrew_session::{SessionDir, atomic};
use wavecrew_testing::apply::{Measured, Plan, plan};
use wavecrew_testing::figures::{lines, percent, rate};
use wavecrew_testing::finish::finish;
use wavecrew_testing::scope::Scope;
use wavecrew_testing::tree::Trees;

/// A session that is over: its folders hold the tests that were kept, and the copies of the project go. An unfinished one
/// keeps everything but what lies outside of it.
pub fn settle(dir: &SessionDir, exit: Exit) {
    if !dir.scope_json().exists() {
        return;
    }
    let settled = if exit == Exit::Done {
        finish(dir.path())
    } else {
        Trees::remove_measuring(dir.path())
    };
    if let Err(error) = settled {
        let what = format!("the session's tests could not be put in order: {error}");
        show::warning(&what, Some("they are in its `results/accepted` folder"));
    }
}

/// How the tests of a session that is over come into the project.
pub fn tell_how(dir: &SessionDir, global: &Global) {
    if dir.scope_json().exists() {
        let command = format!("wavecrew testing --continue {} --apply", dir.id());
        say(
            global,
            &format!("Tests    copy them into the project with `{command}`"),
        );
    }
}

/// Copies kept tests into the project, after showing them.
pub fn apply(project: &Path, dir: &SessionDir, yes: bool, global: &Global) -> Result<(), Failure> {
    let disk = |error: io::Error| testing::disk(&error);
    let scope = Scope::read(dir.path()).map_err(disk)?;
    let mut plan = plan(dir.path(), project, &scope).map_err(disk)?;
    for there in &plan.there {
        say(
            global,
            &format!("Apply   {} is there already", there.path.display()),
        );
    }
    if plan.files.is_empty() {
        say(global, "Apply   there is nothing to copy");
        return Ok(());
    }
    if !global.quiet && !global.json {
        for line in plan.diff().lines() {
            anstream::eprintln!("{}", show::safe(line));
        }
    }
    if !yes && !confirmed(&plan, global)? {
        return Ok(());
    }
    for path in plan.write(project).map_err(disk)? {
        show::warning(
            &format!(
                "{} is there since a moment ago and stays as it is",
                path.display()
            ),
            None,
        );
    }
    for file in &plan.files {
        say(global, &format!("Apply   {} written", file.path.display()));
    }
    if plan.files.is_empty() {
        return Ok(());
    }
    measure_again(project, &plan, &scope, global)
}

fn confirmed(plan: &Plan, global: &Global) -> Result<bool, Failure> {
    if global.json || !crate::terminal::is_interactive() {
        return Err(Failure::with_help(
            "copying tests into the project needs your word",
            "give -y with --apply",
        ));
    }
    let question = format!("Copy {} into the project?", count(plan.files.len(), "file"));
    Ok(dialoguer::Confirm::new()
        .with_prompt(question)
        .default(true)
        .interact()
        .unwrap_or(false))
}

/// In the project itself, which a person may have changed since.
fn measure_again(project: &Path, plan: &Plan, scope: &Scope, global: &Global) -> Result<(), Failure> {
    let runner = |cache: PathBuf| Runner {
        cache,
        timeout: Duration::from_secs(scope.run_seconds),
        python_path: Vec::new(),
        stop: test_runs::stop_on_signals().ok(),
    };
    let applied = plan
        .measure(project, scope, &test_runs::cache_folder(), runner)
        .map_err(|error| Failure::NotDone {
            message: format!("the copied tests could not be run in the project: {error}"),
            help: error.help(),
        })?;
    let covered = |measured: &Measured| {
        let percent = percent(lines(&measured.files));
        format!(
            "{}, {percent} % of the lines in scope covered",
            passes(&measured.tests)
        )
    };
    if applied.with_former.is_some() {
        say(
            global,
            &format!("Apply   there before: {}", passes(applied.former())),
        );
        say(global, &format!("Apply   new: {}", covered(&applied.new)));
    }
    let all = applied.all();
    say(global, &format!("Apply   in the project: {}", covered(all)));
    for test in all.tests.iter().filter(|test| test.outcome != Outcome::Passed) {
        show::warning(&format!("{} does not pass in the project", test.id), None);
    }
    Ok(())
}

fn passes<'a>(tests: impl IntoIterator<Item = &'a TestCase>) -> String {
    let (mut covered, mut total) = (0, 0);
    for test in tests {
        total += 1;
        covered += u64::from(test.outcome == Outcome::Passed);
    }
    let rate = rate(Ratio { covered, total });
    format!("{covered} of {total} tests pass ({rate})")
}

fn say(global: &Global, text: &str) {
    if !global.quiet && !global.json {
        anstream::eprintln!("{}", show::safe(text));
    }
}

/// Raises the targets of a session's layers: their rows run again, as after an edit of the table by hand.
pub fn deepen(dir: &SessionDir, flags: &TestingFlags) -> Result<(), Failure> {
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
    let disk = |error: io::Error| testing::disk(&error);
    let mut scope = Scope::read(dir.path()).map_err(|_| {
        Failure::with_help(
            format!("the session `{}` has no targets", dir.id()),
            "only sessions of `wavecrew testing` have",
        )
    })?;
    let targets = flags.targets_of(&view.ledger.team)?;
    let given = |layer: &str| {
        let named = flags.targets.iter().any(|given| {
            given
                .split('=')
                .next()
                .is_some_and(|l| l.trim().eq_ignore_ascii_case(layer))
        });
        named
            .then(|| {
                targets
                    .iter()
                    .find(|(name, _)| name == layer)
                    .map(|(_, percent)| *percent)
            })
            .flatten()
    };
    let plan = view.ledger.plan();
    let mut bytes = Vec::new();
    plan.render(&mut bytes, |task, column| {
        let raised = (column == "coverage_target")
            .then(|| given(plan.cell(task, "layer")))
            .flatten();
        raised
            .map(|percent| Cow::Owned(percent.to_string()))
            .or_else(|| view.ledger.cell(task, column))
    })
    .expect("writing to memory");
    for (layer, target) in &mut scope.targets {
        *target = given(layer).unwrap_or(*target);
    }
    scope.write(dir.path()).map_err(disk)?;
    Ok(atomic::write(&dir.tasks_csv(), &bytes)?)
}
