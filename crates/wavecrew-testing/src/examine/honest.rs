//! What no worker of the team may do, whatever it claims: change source or existing tests, take tests away or make them
//! demand less. What is found is undone, so that the next worker starts from the honest state.

use std::fs;
use std::io;
use std::path::Path;

use wavecrew_measure::TestId;
use wavecrew_measure::detect::is_test;
use wavecrew_syntax::{Language, TestShape, Weakening, WeakeningKind, tests, weakened};

use super::{Case, listed};
use crate::accept::find;
use crate::bench::Bench;
use crate::layer;
use crate::result::RunResult;
use crate::rounds;
use crate::tree::Change;

/// Code that was changed in the project itself while the worker was at work, which may only write in the session. It may have
/// been a person, who may go on editing: it is told, held against nobody, and left as it is.
pub fn edits_meanwhile(bench: &Bench, case: &Case<'_>) -> io::Result<Option<String>> {
    let Some(began) = case.began else {
        return Ok(None);
    };
    let changes = bench.trees.manifest.changed_since(began)?;
    let names: Vec<String> = changes.iter().map(told).collect();
    Ok((!names.is_empty()).then(|| {
        format!(
            "the project itself was changed while the worker was at work: {} (if it was not you, it was the worker, which may \
             only write in the session: look at the change)",
            listed(&names)
        )
    }))
}

fn told(change: &Change) -> String {
    match change {
        Change::Edited(file) => format!("{} was edited", file.display()),
        Change::Removed(file) => format!("{} was removed", file.display()),
        Change::Added(file) => format!("{} was added", file.display()),
    }
}

/// Files of the project that the worker changed in its copy.
pub fn project_changes(bench: &mut Bench) -> io::Result<Option<String>> {
    let changes = bench.trees.manifest.changes(&bench.trees.workers());
    if changes.is_empty() {
        return Ok(None);
    }
    bench.trees.undo(&changes)?;
    let (tests, sources): (Vec<&Change>, Vec<&Change>) = changes
        .iter()
        .partition(|change| is_test(change.file(), Path::new("")));
    let part = |what: &str, changes: &[&Change]| {
        let names: Vec<String> = changes.iter().map(|change| told(change)).collect();
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

/// Tests of the layer that are gone or demand less than when they were last examined. Of `last`: those that passed then;
/// the others may be made to demand something else, but not be taken away, unless they add nothing.
pub fn weaknesses(
    session: &Path,
    layer: &str,
    folder: &Path,
    last: Option<&RunResult>,
) -> io::Result<Vec<String>> {
    let before = rounds::kept(session, layer);
    let passed = last.map(RunResult::passed).unwrap_or_default();
    let superfluous: Vec<&TestId> = last
        .into_iter()
        .flat_map(|last| last.superfluous().map(|test| &test.id))
        .collect();
    let mut found = Vec::new();
    for file in layer::files(&before)? {
        let Some(language) = Language::of(&file) else {
            continue;
        };
        let mut was = tests(language, &read(&before.join(&file)));
        let shown = file.to_string_lossy().into_owned();
        let of_file: Vec<&str> = superfluous
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
            found.push(format!("{shown} was deleted with its {} tests", was.len()));
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
        let messages = weakened(&was, &is)
            .into_iter()
            .filter(|w| counts(w))
            .map(|w| w.message);
        found.extend(messages.map(|message| format!("{shown}: {message}")));
    }
    Ok(found)
}

fn is_of(shapes: &[TestShape], reported: &str, test: &str) -> bool {
    find(shapes, reported).is_some_and(|shape| shape.name == test)
}

/// Puts the layer's tests back as they were last examined.
pub fn put_back(session: &Path, layer: &str, folder: &Path) -> io::Result<()> {
    rounds::mirror(&rounds::kept(session, layer), folder)
}

pub fn read(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}
