//! Whether any test notices when the new code does nothing.

use super::effect::{has_effect, listed, tests_without_assertions};
use super::file_kind::{FileKind, has_test_name};
use super::git_changes::FileChange;
use super::{Changes, CodeAttempt, CodeCheckError, CodeState, state_before};
use std::collections::BTreeMap;
use std::path::Path;
use wavecrew_core::claim::{Problem, Rule};
use wavecrew_measure::verify::{self, SuiteResult, mentions};
use wavecrew_syntax::{Grammar, MutantKind, apply, controls};

/// New tests that cannot fail: as they are written, or because all tests pass also when the functions in the new files that
/// they name do nothing.
pub fn problem(
    case: &CodeAttempt<'_>,
    found: &CodeState,
    changes: &Changes,
) -> Result<Option<Problem>, CodeCheckError> {
    let without_assertions = tests_without_assertions(changes);
    let tests: Vec<&FileChange> = changes
        .files
        .iter()
        .filter(|change| change.after.is_some() && has_test_name(&change.path) && has_effect(change))
        .collect();
    let test_texts: Vec<&str> = tests
        .iter()
        .filter_map(|change| change.after.as_deref())
        .collect();
    let emptied: BTreeMap<&str, String> = changes
        .files
        .iter()
        .filter(|change| is_tested(&change.path, &test_texts))
        .filter_map(emptied)
        .collect();
    let is_bad = found.complaint().is_some() || found.problems.iter().any(|problem| problem.rule.refutes());
    let has_run = match &found.after.tests {
        SuiteResult::Measured { tests } => !tests.is_empty(),
        SuiteResult::Command { outcome, .. } => outcome.is_good(),
        SuiteResult::None | SuiteResult::NotRun => false,
    };
    let Some(base) = found.base.as_deref().filter(|_| !is_bad && has_run) else {
        return Ok(without_assertions);
    };
    if tests.is_empty() || emptied.is_empty() {
        return Ok(without_assertions);
    }
    let files: Vec<&FileChange> = changes.files.iter().collect();
    let passes_with = |instead: &BTreeMap<&str, String>| -> Result<Option<bool>, CodeCheckError> {
        let state = state_before::with_files(case, base, &files, instead, &case.runner())?;
        Ok(state.map(|state| verify::compare(&found.after, &state).complaint().is_none()))
    };
    if passes_with(&emptied)? != Some(true) {
        // The only file of new tests fails by it: its tests assert in a way that was not recognised.
        let asserts =
            without_assertions.is_some() && tests.len() == 1 && passes_with(&BTreeMap::new())? == Some(true);
        return Ok(without_assertions.filter(|_| !asserts));
    }
    let names: Vec<&str> = emptied.keys().copied().collect();
    let text = format!(
        "no test fails when the functions of {} do nothing",
        listed(&names)
    );
    Ok(Some(Problem::new(Rule::HardCoded, text)))
}

/// Whether one of the tests names this file: `count` of `app/count.py`, the folder of an `__init__.py` or `index.js`.
fn is_tested(path: &str, tests: &[&str]) -> bool {
    let mut names = path.rsplit('/');
    let name = names.next().unwrap_or(path);
    let stem = name.split('.').next().unwrap_or(name);
    let stem = match stem {
        "__init__" | "index" | "mod" => names.next().unwrap_or(stem),
        _ => stem,
    };
    tests.iter().any(|text| mentions(text, stem))
}

/// A new source file without what its functions do.
fn emptied(change: &FileChange) -> Option<(&str, String)> {
    let text = change.after.as_deref()?;
    let language = Grammar::of(Path::new(&change.path))?;
    if change.kind != FileKind::Source || !change.is_new() {
        return None;
    }
    let mutants = controls(language, text);
    let mutant = mutants.iter().find(|mutant| mutant.kind == MutantKind::Emptied)?;
    Some((&change.path, apply(text, mutant)))
}
