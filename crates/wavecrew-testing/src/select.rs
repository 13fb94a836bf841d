//! Takes tests one by one: which of a delivered suite are worth keeping, and the suite without the others. A file in a
//! language that is not read as syntax is taken or left as a whole.

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
    /// What the framework said.
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DropReason {
    /// It fails each time in the same way: the test is wrong, or the code is.
    Fails,
    /// It does not get as far as saying anything about the code.
    Broken,
    /// Its file does not load.
    Unloaded,
    /// It is marked as known to fail.
    ExpectedToFail,
    Skipped,
    /// It passes and fails on the same code.
    Flaky,
    /// It passes, runs nothing that others do not run, and notices nothing that others do not notice.
    AddsNothing,
}

impl DropReason {
    pub fn told(self) -> &'static str {
        match self {
            Self::Fails => "fails",
            Self::Broken => "breaks before it can say anything",
            Self::Unloaded => "its file does not load",
            Self::ExpectedToFail => "is marked as expected to fail",
            Self::Skipped => "is skipped",
            Self::Flaky => "is flaky: it passes and fails on the same code",
            Self::AddsNothing => "adds nothing to the other tests",
        }
    }
}

/// Which tests of a suite are not worth keeping, from a run and another one in another order.
pub fn judge(run: &LayerRun, again: &LayerRun) -> Vec<Dropped> {
    let second: BTreeMap<&TestId, &TestCase> = again.tests.iter().map(|test| (&test.id, test)).collect();
    let mut rejected = Vec::new();
    for test in &run.tests {
        let other = second.get(&test.id).map(|other| &other.outcome);
        let steady = other
            .is_none_or(|other| (*other == TestOutcome::Passed) == (test.outcome == TestOutcome::Passed));
        let why = match &test.outcome {
            _ if !steady => DropReason::Flaky,
            TestOutcome::Passed => continue,
            TestOutcome::Failed { .. } => DropReason::Fails,
            TestOutcome::Error { .. } => DropReason::Broken,
            TestOutcome::Unloaded { .. } => DropReason::Unloaded,
            TestOutcome::ExpectedFailure { .. } => DropReason::ExpectedToFail,
            TestOutcome::Skipped { .. } => DropReason::Skipped,
        };
        let text = match (&test.outcome, other) {
            (TestOutcome::Passed, Some(other)) => other.text(),
            (outcome, _) => outcome.text(),
        };
        rejected.push(Dropped {
            id: test.id.clone(),
            why,
            message: text.to_owned(),
        });
    }
    rejected
}

/// Copies a layer's folder without the rejected tests. Gives the tests that went although nothing is wrong with them,
/// because their file could not be taken apart.
pub fn write_kept(from: &Path, to: &Path, rejected: &[Dropped], all: &[TestCase]) -> io::Result<Vec<TestId>> {
    rounds::empty(to)?;
    let mut names: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for test in rejected {
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
            .filter(|t| t.id.file == shown && !names.contains(t.id.name.as_str()));
        let left: Vec<&TestId> = left.map(|test| &test.id).collect();
        if left.is_empty() {
            continue;
        }
        match without(&file, &source, names) {
            Some(text) => fs::write(target, text)?,
            None => lost.extend(left.into_iter().cloned()),
        }
    }
    Ok(lost)
}

/// The source without the tests of these names; `None` when they cannot all be found or taken out.
pub fn without(file: &Path, source: &str, names: &BTreeSet<&str>) -> Option<String> {
    let language = Grammar::of(file)?;
    let shapes = tests(language, source);
    let mut going: Vec<&TestDefinition> = Vec::new();
    for name in names {
        going.push(find(&shapes, name)?);
    }
    let mut lines: Vec<String> = source.split_inclusive('\n').map(str::to_owned).collect();
    going.sort_by_key(|shape| std::cmp::Reverse(shape.lines.first));
    going.dedup_by_key(|shape| shape.lines.first);
    for shape in going {
        let (first, last) = (shape.lines.first as usize - 1, shape.lines.last as usize);
        if last > lines.len()
            || shapes
                .iter()
                .any(|other| other.name != shape.name && meet(other, shape))
        {
            return None;
        }
        test_removal::remove(&mut lines, language, first..last);
    }
    let text = lines.concat();
    (errors(language, &text).is_empty()).then_some(text)
}

fn meet(a: &TestDefinition, b: &TestDefinition) -> bool {
    a.lines.first <= b.lines.last && b.lines.first <= a.lines.last
}

/// The shape that a reported name belongs to: itself, or a case of it.
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
mod tests_of_it {
    use super::*;

    fn cut(file: &str, source: &str, names: &[&str]) -> Option<String> {
        without(Path::new(file), source, &names.iter().copied().collect())
    }

    #[test]
    fn a_test_is_taken_out_and_the_rest_stays() {
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
