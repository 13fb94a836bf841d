//! Detects what no worker of the team may do: change source or existing tests, remove tests or weaken them.
//! Undoes such changes, so that the next worker starts from the earlier state.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use wavecrew_measure::TestId;
use wavecrew_measure::detect::is_test;
use wavecrew_syntax::{Grammar, TestDefinition, Weakening, WeakeningKind, tests, weakened_among};

use super::{Case, listed};
use crate::environment::{EnvironmentError, TestEnvironment};
use crate::layer;
use crate::result::RunResult;
use crate::rounds;
use crate::select::find;
use crate::snapshot::Change;
use wavecrew_core::check_report::CheckReport;

/// Part of every check: a claim is checked only if the project is unchanged.
pub fn with_integrity(
    environment: &mut TestEnvironment,
    case: &Case<'_>,
    check: impl FnOnce(&mut TestEnvironment, &Case<'_>) -> Result<CheckReport, EnvironmentError>,
) -> Result<CheckReport, EnvironmentError> {
    let remark = project_edits(environment, case)?;
    let verdict = match changed_facts(environment, case).or(project_changes(environment)?) {
        Some(reason) => CheckReport::contradicted(reason),
        None => match check(environment, case) {
            Err(EnvironmentError::Tampered(what)) => {
                CheckReport::contradicted(format!("the measurement was tampered with: {what}"))
            }
            other => other?,
        },
    };
    Ok(verdict.with_remark(remark))
}

/// A remark about code that changed in the project itself while the worker ran. A person may edit there, so
/// the change is not undone and does not contradict the claim.
fn project_edits(environment: &TestEnvironment, case: &Case<'_>) -> io::Result<Option<String>> {
    let Some(began) = case.began else {
        return Ok(None);
    };
    let changes = environment.snapshot.manifest.changed_since(began)?;
    let names: Vec<String> = changes.iter().map(describe).collect();
    Ok((!names.is_empty()).then(|| {
        format!(
            "the project itself was changed while the worker was at work: {} (if it was not you, it was the worker, which may \
             only write in the session: look at the change)",
            listed(&names)
        )
    }))
}

fn describe(change: &Change) -> String {
    match change {
        Change::Edited(file) => format!("{} was edited", file.display()),
        Change::Removed(file) => format!("{} was removed", file.display()),
        Change::Added(file) => format!("{} was added", file.display()),
    }
}

/// Facts of the session that the worker changed in order to change the result of the check.
fn changed_facts(environment: &mut TestEnvironment, case: &Case<'_>) -> Option<String> {
    let changed = std::mem::take(&mut environment.changed_facts);
    let names: Vec<String> = changed.iter().map(|fact| fact.display().to_string()).collect();
    (case.began.is_some() && !names.is_empty()).then(|| {
        format!(
            "files that checks rely on were changed in the session, and are restored: {}",
            listed(&names)
        )
    })
}

/// Files of the project that the worker changed in its copy.
fn project_changes(environment: &mut TestEnvironment) -> io::Result<Option<String>> {
    let changes = environment
        .snapshot
        .manifest
        .changes(&environment.snapshot.worker_copy());
    if changes.is_empty() {
        return Ok(None);
    }
    environment.snapshot.undo(&changes)?;
    let (tests, sources): (Vec<&Change>, Vec<&Change>) = changes
        .iter()
        .partition(|change| is_test(change.file(), Path::new("")));
    let part = |what: &str, changes: &[&Change]| {
        let names: Vec<String> = changes.iter().map(|change| describe(change)).collect();
        (!names.is_empty()).then(|| format!("{what}: {}", listed(&names)))
    };
    let parts = [
        part(
            "source was changed, only tests of the layer may be written",
            &sources,
        ),
        part(
            "existing tests were changed, only new ones may be written",
            &tests,
        ),
    ];
    Ok(Some(parts.into_iter().flatten().collect::<Vec<_>>().join("; ")))
}

/// The weakened tests of the layer, if any. They are restored to their state at the last check.
pub fn weakened_tests(
    case: &Case<'_>,
    folder: &Path,
    last: Option<&RunResult>,
) -> io::Result<Option<String>> {
    let before = rounds::checked_tests(case.session, case.layer);
    let weaker = weaknesses(&before, folder, last)?;
    if weaker.is_empty() {
        return Ok(None);
    }
    rounds::mirror(&before, folder)?;
    Ok(Some(format!("tests were weakened: {}", listed(&weaker))))
}

/// The files of the project that tests changed while they ran, if any; they are restored.
pub fn changed_by_tests(environment: &mut TestEnvironment) -> io::Result<Option<String>> {
    let names: Vec<PathBuf> = environment
        .snapshot
        .manifest
        .names()
        .map(Path::to_owned)
        .collect();
    let touched = environment.snapshot.restore_changed(&names)?;
    let names: Vec<String> = touched.iter().map(|file| file.display().to_string()).collect();
    Ok((!names.is_empty()).then(|| listed(&names)))
}

/// Tests of the layer that were removed or assert less than at the last check. Tests that did not pass in `last` may
/// assert something else, but may not be removed, unless they are redundant.
fn weaknesses(before: &Path, folder: &Path, last: Option<&RunResult>) -> io::Result<Vec<String>> {
    let passed = last.map(RunResult::passed).unwrap_or_default();
    let redundant: Vec<&TestId> = last
        .into_iter()
        .flat_map(|last| last.redundant().map(|test| &test.id))
        .collect();
    let mut found = Vec::new();
    let new_files = new_tests(before, folder)?;
    for file in layer::files(before)? {
        let Some(language) = Grammar::of(&file) else {
            continue;
        };
        let mut was = tests(language, &read(&before.join(&file)));
        let shown = file.to_string_lossy().into_owned();
        let of_file: Vec<&str> = redundant
            .iter()
            .filter(|id| id.file == shown)
            .map(|id| id.name.as_str())
            .collect();
        let free: Vec<String> = of_file
            .iter()
            .filter_map(|name| Some(find(&was, name)?.name.clone()))
            .collect();
        was.retain(|shape| !free.contains(&shape.name));
        if was.is_empty() {
            continue;
        }
        let path = folder.join(&file);
        if !path.exists() {
            // A file with another name may hold all of its tests.
            if !weakened_among(&was, &[], &new_files).is_empty() {
                found.push(format!("{shown} was deleted with its {} tests", was.len()));
            }
            continue;
        }
        let is = tests(language, &read(&path));
        let had_passed = |test: &str| {
            passed
                .iter()
                .any(|(f, name)| *f == shown && is_of(&was, name, test))
        };
        let counts = |weakening: &Weakening| match weakening.kind {
            WeakeningKind::Removed
            | WeakeningKind::Skipped
            | WeakeningKind::ExpectedToFail
            | WeakeningKind::Focused
            | WeakeningKind::Emptied => true,
            WeakeningKind::FewerAssertions | WeakeningKind::FewerCases | WeakeningKind::Loosened => {
                had_passed(&weakening.test)
            }
        };
        let messages = weakened_among(&was, &is, &new_files)
            .into_iter()
            .filter(|w| counts(w))
            .map(|w| w.message);
        found.extend(messages.map(|message| format!("{shown}: {message}")));
    }
    Ok(found)
}

/// The tests of files that were not there before.
fn new_tests(before: &Path, folder: &Path) -> io::Result<Vec<TestDefinition>> {
    let known = layer::files(before)?;
    let mut found = Vec::new();
    for file in layer::files(folder)?.iter().filter(|file| !known.contains(file)) {
        if let Some(language) = Grammar::of(file) {
            found.extend(tests(language, &read(&folder.join(file))));
        }
    }
    Ok(found)
}

fn is_of(shapes: &[TestDefinition], reported: &str, test: &str) -> bool {
    find(shapes, reported).is_some_and(|shape| shape.name == test)
}

pub fn read(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}
