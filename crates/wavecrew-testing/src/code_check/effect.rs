//! Whether a change has an effect. Changes of only comments, layout or dead code have none; stubs, and
//! results written only for the tests, do not count either.

use super::announced::AnnouncedChanges;
use super::file_kind::FileKind;
use super::git_changes::{Changes, FileChange};
use super::hard_coded;
use std::path::Path;
use wavecrew_core::claim::{Problem, Rule, quoted_path};
use wavecrew_core::view::first_few;
use wavecrew_measure::verify::mentions;
use wavecrew_syntax::{BodyShape, FunctionShape, Grammar, functions, same_code, tests};

/// How many names a message lists.
const LISTED: usize = 6;

pub fn listed<S: AsRef<str>>(names: &[S]) -> String {
    first_few(names.iter().map(|name| quoted_path(name.as_ref())), LISTED)
}

/// Whether the change of one file can change what the program does.
pub fn has_effect(change: &FileChange) -> bool {
    let (before, after) = change.texts();
    match (Grammar::of(Path::new(&change.path)), change.kind) {
        (_, FileKind::Document) => false,
        (Some(language), _) => !same_code(language, before, after),
        // A submodule has no text on either side.
        (None, FileKind::Data) => before != after || (change.before.is_none() && change.after.is_none()),
        (None, FileKind::Source | FileKind::Test | FileKind::Settings) => stripped(before) != stripped(after),
    }
}

/// A text without its lines of comments and without layout.
pub fn stripped(text: &str) -> String {
    let mut out = String::new();
    let mut in_block = false;
    for line in text.lines().map(str::trim) {
        if in_block {
            in_block = !line.contains("*/");
            continue;
        }
        if line.starts_with("/*") {
            in_block = !line.contains("*/");
            continue;
        }
        let is_comment = line.starts_with("//")
            || line.starts_with("# ")
            || line == "#"
            || line.starts_with("##")
            || line.starts_with("--");
        if !is_comment {
            out.extend(line.split_whitespace());
        }
    }
    out
}

/// The problems of a change that should implement something.
pub fn problems(changes: &Changes, announced: &AnnouncedChanges) -> Vec<Problem> {
    let mut problems = Vec::new();
    let planned_document = |change: &&FileChange| {
        change.kind == FileKind::Document
            && announced.names(&change.path)
            && !change.texts().1.trim().is_empty()
    };
    let effective: Vec<&FileChange> = changes
        .files
        .iter()
        .filter(|change| has_effect(change) || planned_document(change))
        .collect();
    if effective.is_empty() && !changes.files.is_empty() {
        problems.push(Problem::new(
            Rule::WithoutEffect,
            format!(
                "the change has no effect: {} differ only in comments, layout, code that never runs or documents that the \
                 plan does not name; implement what was planned",
                listed(&changes.names())
            ),
        ));
        return problems;
    }
    problems.extend(bodies(changes, announced));
    problems.extend(hard_coded::swallowed(changes));
    problems.extend(hard_coded::answered(changes, announced));
    problems.extend(unplanned(changes, &effective, announced));
    problems
}

fn unplanned(changes: &Changes, effective: &[&FileChange], announced: &AnnouncedChanges) -> Vec<Problem> {
    if announced.files.is_empty() {
        return Vec::new();
    }
    let mut problems = Vec::new();
    let of_tests = |file: &&String| super::file_kind::kind_of(file) == FileKind::Test;
    let (tests, sources): (Vec<&String>, Vec<&String>) = announced.files.iter().partition(of_tests);
    let done = effective
        .iter()
        .any(|change| change.kind != FileKind::Test && announced.names(&change.path));
    if !sources.is_empty() && !done {
        problems.push(Problem::new(
            Rule::Unplanned,
            format!(
                "none of the files that the plan names is changed ({}); changed are {}",
                listed(&sources),
                listed(&changes.names())
            ),
        ));
    }
    if !tests.is_empty() && !effective.iter().any(|change| change.kind == FileKind::Test) {
        problems.push(Problem::new(
            Rule::Unplanned,
            format!(
                "the plan names tests ({}), and no test is changed",
                listed(&tests)
            ),
        ));
    }
    let beside: Vec<&str> = effective
        .iter()
        .filter(|change| {
            change.kind == FileKind::Source && !change.is_new() && !announced.names(&change.path)
        })
        .map(|change| change.path.as_str())
        .collect();
    if !beside.is_empty() {
        problems.push(Problem::new(
            Rule::Unplanned,
            format!(
                "files are changed that the plan does not name: {}",
                listed(&beside)
            ),
        ));
    }
    problems
}

/// Functions of the change that are stubs, or tables of what tests expect.
fn bodies(changes: &Changes, announced: &AnnouncedChanges) -> Vec<Problem> {
    let test_texts: Vec<&str> = changes
        .files
        .iter()
        .filter(|change| change.kind == FileKind::Test)
        .filter_map(|change| change.after.as_deref())
        .collect();
    let (mut empty, mut stubs, mut tables, mut real) = (Vec::new(), Vec::new(), Vec::new(), false);
    let (mut ignored, mut idle) = (Vec::new(), Vec::new());
    for change in changes
        .files
        .iter()
        .filter(|change| change.kind == FileKind::Source)
    {
        let Some(language) = Grammar::of(Path::new(&change.path)) else {
            real |= has_effect(change);
            continue;
        };
        let (before, after) = change.texts();
        let known = functions(language, before);
        let all = functions(language, after);
        let is_new = |function: &&FunctionShape| {
            !known
                .iter()
                .any(|old| old.name == function.name && old.fingerprint == function.fingerprint)
        };
        let fresh: Vec<&FunctionShape> = all.iter().filter(is_new).collect();
        real |= fresh.is_empty() && has_effect(change);
        for function in fresh {
            let place = format!("{} ({}:{})", function.name, change.path, function.line);
            let overridden = all.iter().any(|other| {
                other.name == function.name && other.line != function.line && other.body == BodyShape::Real
            });
            match &function.body {
                BodyShape::Stub | BodyShape::Empty if overridden => {}
                BodyShape::Stub => stubs.push(place),
                BodyShape::Empty => {
                    let is_planned =
                        !announced.parameters(&function.name).is_empty() && !announced.wants_nothing();
                    idle.extend(is_planned.then(|| place.clone()));
                    empty.push(place);
                }
                BodyShape::Constants(answers) => {
                    real = true;
                    let expected = |test: &&str| {
                        mentions(test, &function.name)
                            && answers
                                .iter()
                                .filter(|answer| !answer.is_empty())
                                .all(|answer| mentions(test, answer))
                    };
                    if test_texts.iter().any(expected) {
                        tables.push(place);
                    }
                }
                BodyShape::Real => {
                    real = true;
                    let planned = announced.parameters(&function.name);
                    let is_planned = |name: &&String| planned.contains(&name.to_lowercase().as_str());
                    let names = function.unused.iter().filter(is_planned);
                    ignored.extend(names.map(|name| format!("{name} of {place}")));
                }
            }
        }
    }
    let mut problems = Vec::new();
    if real && !stubs.is_empty() {
        let what = format!("functions are not implemented: {}", listed(&stubs));
        problems.push(Problem::new(Rule::HardCoded, what));
    }
    if real && !idle.is_empty() {
        let what = format!("functions that the plan describes do nothing: {}", listed(&idle));
        problems.push(Problem::new(Rule::HardCoded, what));
    }
    stubs.append(&mut empty);
    if !real && !stubs.is_empty() {
        let what = format!("every function of the change is empty: {}", listed(&stubs));
        problems.push(Problem::new(Rule::Stub, what));
    }
    if !ignored.is_empty() {
        let what = format!(
            "parameters that the plan names are not used: {}",
            listed(&ignored)
        );
        problems.push(Problem::new(Rule::HardCoded, what));
    }
    if !tables.is_empty() {
        problems.push(Problem::new(
            Rule::HardCoded,
            format!(
                "functions return only the constants that tests expect: {}",
                listed(&tables)
            ),
        ));
    }
    problems
}

/// Files whose new tests cannot fail.
pub fn tests_without_assertions(changes: &Changes) -> Option<Problem> {
    const ASSERTING: [&str; 5] = ["assert", "expect", "check", "verify", "should"];
    let mut found = Vec::new();
    for change in changes
        .files
        .iter()
        .filter(|change| change.kind == FileKind::Test)
    {
        let Some(language) = Grammar::of(Path::new(&change.path)) else {
            continue;
        };
        let (mut all, mut without_assertions) = (0, Vec::new());
        let (before, after) = change.texts();
        let known = tests(language, before);
        let lines: Vec<&str> = after.lines().collect();
        for test in tests(language, after) {
            if known.iter().any(|old| old.fingerprint == test.fingerprint) {
                continue;
            }
            all += 1;
            let own = (test.lines.first..=test.lines.last)
                .filter_map(|number| lines.get((number as usize).checked_sub(1)?))
                .any(|line| ASSERTING.iter().any(|word| line.to_lowercase().contains(word)));
            if test.assertions.is_empty() && (test.vacuous > 0 || !own) {
                without_assertions.push(format!("{} ({}:{})", test.name, change.path, test.lines.first));
            }
        }
        if without_assertions.len() == all {
            found.append(&mut without_assertions);
        }
    }
    (!found.is_empty()).then(|| {
        let what = format!("the new tests assert nothing that can fail: {}", listed(&found));
        Problem::new(Rule::HardCoded, what)
    })
}

/// Changed files that are links out of the project: their targets are not part of the work.
pub fn links(changes: &Changes, folder: &Path) -> Option<Problem> {
    let leads_out = |change: &&FileChange| {
        let path = folder.join(&change.path);
        let is_link = path.symlink_metadata().is_ok_and(|about| about.is_symlink());
        is_link && !path.canonicalize().is_ok_and(|real| real.starts_with(folder))
    };
    let found: Vec<&str> = changes
        .files
        .iter()
        .filter(leads_out)
        .map(|change| change.path.as_str())
        .collect();
    (!found.is_empty()).then(|| {
        let what = format!(
            "links lead out of the project, the files themselves are missing: {}",
            listed(&found)
        );
        Problem::new(Rule::Missing, what)
    })
}

#[cfg(test)]
mod tests {
    use super::super::git_changes::changes;
    use super::*;

    #[test]
    fn a_file_of_tests_that_cannot_fail() {
        let good = ("tests/test_a.py", "def test_a():\n    assert f(1) == 2\n");
        let without_assertions = ("tests/test_b.py", "def test_b():\n    f(1)\n");
        assert!(tests_without_assertions(&changes(&[good])).is_none());
        let problem = tests_without_assertions(&changes(&[good, without_assertions])).unwrap();
        assert!(
            problem.text.contains("test_b") && !problem.text.contains("test_a"),
            "{}",
            problem.text
        );
    }
}
