//! Selects tests one by one: which of the delivered ones are dropped, and the suite without them. A file in a language
//! without a syntax tree is kept or dropped as a whole.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use wavecrew_measure::{TestCase, TestId, TestOutcome};
use wavecrew_syntax::{Grammar, TestDefinition, errors, tests};

use crate::environment::LayerRun;
use crate::layer;
use crate::rounds;
use crate::test_removal;

/// A test that is not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    #[serde(flatten)]
    pub id: TestId,
    pub why: DropReason,
    /// The framework's message.
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DropReason {
    /// It fails each time in the same way: the test is wrong, or the code is.
    Fails,
    /// It stops with an error before its assertions.
    Broken,
    /// Its file does not load.
    Unloaded,
    /// It hangs, or kills the process that runs it.
    EndsRun,
    ChangesSource,
    DoesNotParse,
    HoldsNoTest,
    AssertsNothing,
    /// It prevents all others from running.
    Focused,
    /// It is marked as known to fail.
    ExpectedToFail,
    Skipped,
    /// It passes and fails on the same code.
    Flaky,
    /// It passes whatever the functions that it runs do.
    KillsNothing,
    /// It fails if the source has another text that does the same.
    ReadsSource,
    /// It passes, but covers no line and kills no mutant that the other tests do not.
    AddsNothing,
}

impl DropReason {
    pub fn description(self) -> &'static str {
        match self {
            Self::Fails => "fails",
            Self::Broken => "stops with an error before its assertions",
            Self::Unloaded => "its file does not load",
            Self::EndsRun => "hangs, or kills the process that runs it",
            Self::ChangesSource => "changes source while it runs",
            Self::DoesNotParse => "does not parse",
            Self::HoldsNoTest => "contains no test",
            Self::AssertsNothing => "asserts nothing that could fail",
            Self::Focused => "prevents all others from running",
            Self::ExpectedToFail => "is marked as expected to fail",
            Self::Skipped => "is skipped",
            Self::Flaky => "is flaky: it passes and fails on the same code",
            Self::KillsNothing => {
                "passes whatever the code does: it kills no mutant of the code that it runs"
            }
            Self::ReadsSource => {
                "depends on the text of the source or on the measurement, not on what the code does"
            }
            Self::AddsNothing => "adds nothing to the other tests",
        }
    }
}

/// The tests to drop, from a run and another one in a different order.
pub fn dropped_tests(run: &LayerRun, again: &LayerRun) -> Vec<Dropped> {
    let second: BTreeMap<&TestId, &TestCase> = again.tests.iter().map(|test| (&test.id, test)).collect();
    let mut dropped = Vec::new();
    for test in &run.tests {
        let other = second.get(&test.id).map(|other| &other.outcome);
        let stable = other
            .is_none_or(|other| (*other == TestOutcome::Passed) == (test.outcome == TestOutcome::Passed));
        let why = match &test.outcome {
            _ if !stable => DropReason::Flaky,
            TestOutcome::Passed => continue,
            TestOutcome::Failed { .. } => DropReason::Fails,
            TestOutcome::Error { .. } => DropReason::Broken,
            TestOutcome::Unloaded { .. } if run.ended_runs.contains(&test.id.file) => DropReason::EndsRun,
            TestOutcome::Unloaded { .. } => DropReason::Unloaded,
            TestOutcome::ExpectedFailure { .. } => DropReason::ExpectedToFail,
            TestOutcome::Skipped { .. } => DropReason::Skipped,
        };
        let text = match (&test.outcome, other) {
            (TestOutcome::Passed, Some(other)) => other.text(),
            (outcome, _) => outcome.text(),
        };
        dropped.push(Dropped {
            id: test.id.clone(),
            why,
            message: text.to_owned(),
        });
    }
    dropped
}

/// Copies a layer's folder without the dropped tests. Returns the tests that are dropped with their file
/// because single tests could not be removed from it.
pub fn write_kept(from: &Path, to: &Path, dropped: &[Dropped], all: &[TestId]) -> io::Result<Vec<TestId>> {
    rounds::make_empty(to)?;
    let mut names: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for test in dropped {
        names.entry(&test.id.file).or_default().insert(&test.id.name);
    }
    let mut lost = Vec::new();
    for file in layer::files(from)? {
        let shown = file.to_string_lossy();
        let target = to.join(&file);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        let Some(names) = names.get(&*shown) else {
            fs::copy(from.join(&file), target)?;
            continue;
        };
        let source = fs::read_to_string(from.join(&file)).unwrap_or_default();
        let left = all
            .iter()
            .filter(|id| id.file == shown && !names.contains(id.name.as_str()));
        let left: Vec<&TestId> = left.collect();
        // A missing name means the whole file.
        if left.is_empty() || names.contains("") {
            continue;
        }
        match remove_tests(&file, &source, names) {
            Some(text) => fs::write(target, text)?,
            None => lost.extend(left.into_iter().cloned()),
        }
    }
    Ok(lost)
}

/// The source without the tests of these names; `None` when one of them cannot be found or removed.
pub fn remove_tests(file: &Path, source: &str, names: &BTreeSet<&str>) -> Option<String> {
    let language = Grammar::of(file)?;
    let shapes = tests(language, source);
    let mut removed: Vec<&TestDefinition> = Vec::new();
    for name in names {
        removed.push(find(&shapes, name)?);
    }
    let mut lines: Vec<String> = source.split_inclusive('\n').map(str::to_owned).collect();
    removed.sort_by_key(|shape| std::cmp::Reverse(shape.lines.first));
    removed.dedup_by_key(|shape| shape.lines.first);
    for shape in removed {
        let (first, last) = (shape.lines.first as usize - 1, shape.lines.last as usize);
        if last > lines.len()
            || shapes
                .iter()
                .any(|other| other.name != shape.name && overlaps(other, shape))
        {
            return None;
        }
        test_removal::remove(&mut lines, language, first..last);
    }
    let text = lines.concat();
    (errors(language, &text).is_empty()).then_some(text)
}

fn overlaps(a: &TestDefinition, b: &TestDefinition) -> bool {
    a.lines.first <= b.lines.last && b.lines.first <= a.lines.last
}

/// The shape that a reported name belongs to: the name is that of the shape, or of one of its cases.
pub fn find<'s>(shapes: &'s [TestDefinition], name: &str) -> Option<&'s TestDefinition> {
    let plain = name.split_once('[').map_or(name, |(before, _)| before);
    shapes
        .iter()
        .find(|shape| shape.name == name)
        .or_else(|| shapes.iter().find(|shape| shape.name == plain))
        .or_else(|| shapes.iter().find(|shape| is_case(&shape.name, name)))
}

/// `adds %i and %i` is the pattern of `adds 1 and 2`.
fn is_case(pattern: &str, name: &str) -> bool {
    let mut pieces = Vec::new();
    let mut piece = String::new();
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        let holds_place = match c {
            '%' => chars.peek().is_some_and(char::is_ascii_alphabetic),
            '$' => chars.peek().is_some_and(|c| c.is_ascii_alphabetic() || *c == '{'),
            _ => false,
        };
        if !holds_place {
            piece.push(c);
            continue;
        }
        pieces.push(std::mem::take(&mut piece));
        if c == '%' {
            chars.next();
        } else {
            while chars
                .next_if(|c| c.is_ascii_alphanumeric() || "._{}".contains(*c))
                .is_some()
            {}
        }
    }
    if pieces.is_empty() {
        return false;
    }
    let Some(mut rest) = name.strip_prefix(pieces[0].as_str()) else {
        return false;
    };
    for middle in &pieces[1..] {
        let Some(at) = rest.find(middle.as_str()) else {
            return false;
        };
        rest = &rest[at + middle.len()..];
    }
    rest.ends_with(piece.as_str())
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    fn cut(file: &str, source: &str, names: &[&str]) -> Option<String> {
        remove_tests(Path::new(file), source, &names.iter().copied().collect())
    }

    #[test]
    fn a_test_is_removed_and_the_rest_stays() {
        let python = "import x\n\n@mark\ndef test_a():\n    assert x.f() == 1\n\ndef test_b():\n    assert x.f() == 2\n";
        let left = cut("t.py", python, &["test_a"]).unwrap();
        assert_eq!(left, "import x\n\ndef test_b():\n    assert x.f() == 2\n");
        assert_eq!(cut("t.py", python, &["test_b", "test_a"]).unwrap(), "import x\n");
        let class = "class TestA:\n    def test_a(self):\n        assert f() == 1\n";
        let left = cut("t.py", class, &["TestA::test_a"]).unwrap();
        assert_eq!(left, "class TestA:\n    pass\n");
        let script = "describe('cart', () => {\n  it('adds', () => {\n    expect(f()).toBe(1);\n  });\n  it('is', () => {\n    expect(g()).toBe(2);\n  });\n});\n";
        let left = cut("t.test.ts", script, &["cart > adds"]).unwrap();
        assert!(!left.contains("adds") && left.contains("'is'"), "{left}");
    }

    #[test]
    fn cases_belong_to_their_test() {
        let python = "@pytest.mark.parametrize('x', [1, 2])\ndef test_a(x):\n    assert f(x) == 1\n";
        assert_eq!(cut("t.py", python, &["test_a[1]"]).unwrap(), "");
        assert!(is_case("adds %i and %i", "adds 1 and 22"));
        assert!(is_case("cart > $name is $price.net", "cart > tea is 3"));
        assert!(!is_case("adds %i", "takes 1") && !is_case("adds", "adds 1"));
        assert_eq!(cut("t.py", python, &["test_unknown"]), None);
        assert_eq!(cut("t.rs", "fn x() {}", &["x"]), None);
    }
}
