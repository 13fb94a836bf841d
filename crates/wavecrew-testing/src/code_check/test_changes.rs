//! Tests of the base commit that the change weakened. Reads tests as syntax trees, so that a test may move, be renamed or be
//! split; in other languages it counts assertions.

use super::announced::AnnouncedChanges;
use super::effect::{listed, stripped};
use super::file_kind::{FileKind, has_test_name};
use super::git_changes::{Changes, FileChange};
use std::path::Path;
use wavecrew_core::claim::{Problem, Rule};
use wavecrew_syntax::{Grammar, TestDefinition, TestMode, Weakening, WeakeningKind, tests, weakened};

/// Words of assertions in languages without syntax trees.
const ASSERTIONS: [&str; 7] = [
    "assert", "expect(", "require.", "t.error", "t.fatal", "should", "check(",
];

/// Tests of the base commit that assert less than before, if the plan does not announce it.
pub fn problems(changes: &Changes, announced: &AnnouncedChanges) -> Vec<Problem> {
    let of_tests = || {
        changes
            .files
            .iter()
            .filter(|change| change.kind == FileKind::Test)
    };
    let now: Vec<TestDefinition> = of_tests()
        .filter(|change| has_test_name(&change.path))
        .flat_map(|change| definitions(change, change.after.as_deref()))
        .filter(|test| test.mode == TestMode::Runs || test.mode == TestMode::Only)
        .collect();
    let mut found = Vec::new();
    for change in of_tests().filter(|change| !change.is_new()) {
        if Grammar::of(Path::new(&change.path)).is_none() {
            found.extend(fewer_assertions(change).filter(|_| !announced.names(&change.path)));
            continue;
        }
        let was = definitions(change, change.before.as_deref());
        let is = definitions(
            change,
            change.after.as_deref().filter(|_| has_test_name(&change.path)),
        );
        let weaker = weakened(&was, &is).into_iter().filter(|weakening| {
            let old = was.iter().find(|test| test.name == weakening.test);
            !old.is_some_and(|old| is_elsewhere(old, weakening, &is, &now))
                && !is_planned(weakening, &change.path, announced)
        });
        found.extend(weaker.map(|weakening| format!("{}: {}", change.path, weakening.message)));
    }
    if found.is_empty() {
        return Vec::new();
    }
    let text = format!(
        "existing tests are weaker, and the plan does not announce it: {}",
        found.join("; ")
    );
    vec![Problem::new(Rule::Weakened, text)]
}

fn definitions(change: &FileChange, text: Option<&str>) -> Vec<TestDefinition> {
    match (Grammar::of(Path::new(&change.path)), text) {
        (Some(language), Some(text)) => tests(language, text),
        _ => Vec::new(),
    }
}

/// Whether other tests now make the test's assertions: it moved to another file, or was split.
fn is_elsewhere(
    old: &TestDefinition,
    weakening: &Weakening,
    here: &[TestDefinition],
    now: &[TestDefinition],
) -> bool {
    match weakening.kind {
        WeakeningKind::Removed
        | WeakeningKind::FewerAssertions
        | WeakeningKind::Emptied
        | WeakeningKind::Loosened => {}
        WeakeningKind::Skipped
        | WeakeningKind::ExpectedToFail
        | WeakeningKind::Focused
        | WeakeningKind::FewerCases => return false,
    }
    let moved = now.iter().any(|test| test.fingerprint == old.fingerprint);
    let has = |text: &String| {
        let mut all = now.iter().chain(here).flat_map(|test| &test.assertions);
        all.any(|assertion| assertion.text == *text)
    };
    moved || (!old.assertions.is_empty() && old.assertions.iter().all(|assertion| has(&assertion.text)))
}

fn is_planned(weakening: &Weakening, path: &str, announced: &AnnouncedChanges) -> bool {
    match weakening.kind {
        WeakeningKind::FewerAssertions | WeakeningKind::FewerCases | WeakeningKind::Loosened
            if !announced.of_tester =>
        {
            announced.names(path)
        }
        WeakeningKind::Removed
        | WeakeningKind::Skipped
        | WeakeningKind::ExpectedToFail
        | WeakeningKind::Focused
        | WeakeningKind::Emptied
        | WeakeningKind::FewerAssertions
        | WeakeningKind::FewerCases
        | WeakeningKind::Loosened => announced.removes(path, &weakening.test),
    }
}

fn fewer_assertions(change: &FileChange) -> Option<String> {
    let count = |text: &str| {
        let lines = text
            .lines()
            .map(str::trim)
            .filter(|line| !stripped(line).is_empty());
        lines
            .map(str::to_lowercase)
            .filter(|line| ASSERTIONS.iter().any(|word| line.contains(word)))
            .count()
    };
    let (before, after) = change.texts();
    let (then, now) = (count(before), count(after));
    (now < then).then(|| format!("{}: {now} of {then} assertions are left", change.path))
}

/// Test files of the base commit that differ now, if the plan does not announce it.
pub fn rewritten<'a>(changes: &'a Changes, announced: &AnnouncedChanges) -> Vec<&'a str> {
    let is_changed = |change: &&FileChange| {
        change.kind == FileKind::Test
            && !change.is_new()
            && super::effect::has_effect(change)
            && !announced.names(&change.path)
    };
    changes
        .files
        .iter()
        .filter(is_changed)
        .map(|change| change.path.as_str())
        .collect()
}

/// A report that claims more passing tests than there are.
pub fn figures(folder: &Path, claims: &[(String, String)], measured: Option<usize>) -> Vec<Problem> {
    const NAMES: [&str; 6] = [
        "tests_passed",
        "passed",
        "tests_pass",
        "passing_tests",
        "tests_total",
        "tests_run",
    ];
    let number = |(name, value): &(String, String)| {
        let known = NAMES.contains(&name.to_lowercase().as_str());
        let value = value.trim().parse::<usize>().ok()?;
        known.then_some((name.clone(), value))
    };
    let claimed: Vec<(String, usize)> = claims.iter().filter_map(number).collect();
    if claimed.is_empty() {
        return Vec::new();
    }
    let Some(there) = measured.or_else(|| written_tests(folder)) else {
        return Vec::new();
    };
    let wrong: Vec<String> = claimed
        .iter()
        .filter(|(_, value)| *value > there)
        .map(|(name, value)| format!("{name} {value}"))
        .collect();
    if wrong.is_empty() {
        return Vec::new();
    }
    let text = format!(
        "the report says {}, and the project has {there} tests",
        listed(&wrong)
    );
    vec![Problem::new(Rule::Disagrees, text)]
}

/// The number of tests in the files, if all of them show it.
fn written_tests(folder: &Path) -> Option<usize> {
    let mut all = 0;
    for file in wavecrew_measure::detect::files(folder) {
        let shown = file.strip_prefix(folder).unwrap_or(&file);
        if !wavecrew_measure::detect::is_test(shown, Path::new("")) {
            continue;
        }
        let language = Grammar::of(&file)?;
        for test in tests(language, &std::fs::read_to_string(&file).ok()?) {
            all += test.cases?;
        }
    }
    Some(all)
}
