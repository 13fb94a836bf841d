//! Finds tests of a file that a change weakened.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::assertion::Assertion;
use crate::test_definitions::{TestDefinition, TestMode};

/// One way in which a test demands less than before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Weakening {
    pub kind: WeakeningKind,
    pub test: String,
    /// Its line now; for a removed test, its line before.
    pub line: u32,
    /// Names the test and the line.
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WeakeningKind {
    Removed,
    Skipped,
    ExpectedToFail,
    /// Only this test of its file runs now.
    Focused,
    Emptied,
    FewerAssertions,
    FewerCases,
    Loosened,
}

/// In the order of the old tests. A renamed test is not removed, and an assertion that moved to a new test is not lost.
pub fn weakened(before: &[TestDefinition], after: &[TestDefinition]) -> Vec<Weakening> {
    weakened_among(before, after, &[])
}

/// The same for a file of a suite: tests and assertions may also have moved to new tests `elsewhere`.
pub fn weakened_among(
    before: &[TestDefinition],
    after: &[TestDefinition],
    elsewhere: &[TestDefinition],
) -> Vec<Weakening> {
    let now: BTreeMap<&str, &TestDefinition> = after.iter().map(|test| (test.name.as_str(), test)).collect();
    let known: BTreeSet<&str> = before.iter().map(|test| test.name.as_str()).collect();
    let mut renamed: Vec<&TestDefinition> = after
        .iter()
        .filter(|test| !known.contains(test.name.as_str()))
        .collect();
    let mut moved = MovedAssertions::of(renamed.iter().copied().chain(elsewhere));
    let mut found = Vec::new();
    for old in before {
        let new = now.get(old.name.as_str()).copied().or_else(|| {
            let same = |test: &&TestDefinition| test.fingerprint == old.fingerprint;
            let at = renamed.iter().position(same)?;
            Some(renamed.remove(at))
        });
        match new {
            Some(new) => compare(old, new, &mut moved, &mut found),
            None if moved.take(&old.assertions.iter().collect::<Vec<_>>()) => {}
            None => found.push(Weakening {
                kind: WeakeningKind::Removed,
                test: old.name.clone(),
                line: old.lines.first,
                message: format!("the test `{}` (line {}) was removed", old.name, old.lines.first),
            }),
        }
    }
    for new in after.iter().filter(|test| test.mode == TestMode::Only) {
        let was = before
            .iter()
            .any(|t| t.name == new.name && t.mode == TestMode::Only);
        if !was {
            found.push(at(
                new,
                WeakeningKind::Focused,
                "is now the only one of its file that runs",
            ));
        }
    }
    found
}

fn at(test: &TestDefinition, kind: WeakeningKind, what: &str) -> Weakening {
    at_line(test, kind, test.lines.first, what)
}

fn at_line(test: &TestDefinition, kind: WeakeningKind, line: u32, what: &str) -> Weakening {
    Weakening {
        kind,
        test: test.name.clone(),
        line,
        message: format!("the test `{}` (line {line}) {what}", test.name),
    }
}

/// Assertions of tests that are new, each of which may stand for one that an old test lost.
struct MovedAssertions<'a>(Vec<&'a Assertion>);

impl<'a> MovedAssertions<'a> {
    fn of(tests: impl Iterator<Item = &'a TestDefinition>) -> Self {
        let runs = tests.filter(|test| test.mode == TestMode::Runs && test.cases != Some(0));
        Self(runs.flat_map(|test| &test.assertions).collect())
    }

    /// Whether all of these are there; then they stand for no others.
    fn take(&mut self, lost: &[&Assertion]) -> bool {
        let mut left = self.0.clone();
        for assertion in lost {
            let Some(at) = left.iter().position(|one| one.text == assertion.text) else {
                return false;
            };
            left.remove(at);
        }
        self.0 = left;
        !lost.is_empty()
    }
}

/// The assertions of a test that another one lacks.
fn lost<'a>(old: &'a TestDefinition, new: &TestDefinition) -> Vec<&'a Assertion> {
    let mut now: Vec<&str> = new.assertions.iter().map(|a| a.text.as_str()).collect();
    let mut is_lost = |assertion: &&Assertion| match now.iter().position(|text| *text == assertion.text) {
        Some(at) => {
            now.remove(at);
            false
        }
        None => true,
    };
    old.assertions.iter().filter(|a| is_lost(a)).collect()
}

fn compare(
    old: &TestDefinition,
    new: &TestDefinition,
    moved: &mut MovedAssertions<'_>,
    found: &mut Vec<Weakening>,
) {
    if new.mode > old.mode {
        let change = match new.mode {
            TestMode::Skipped => Some((WeakeningKind::Skipped, "is now skipped")),
            TestMode::Todo => Some((WeakeningKind::Skipped, "is now only a name")),
            TestMode::SkippedIf => Some((WeakeningKind::Skipped, "is now skipped under a condition")),
            TestMode::ExpectedToFail => Some((
                WeakeningKind::ExpectedToFail,
                "is now expected to fail, so that its failure no longer counts",
            )),
            // Reported for the whole file.
            TestMode::Only | TestMode::Runs => None,
        };
        found.extend(change.map(|(kind, what)| at(new, kind, what)));
    }
    if let (Some(then), Some(now)) = (old.cases, new.cases)
        && now < then
    {
        let what = format!("has {now} of its {then} cases left");
        found.push(at(new, WeakeningKind::FewerCases, &what));
    }
    if moved.take(&lost(old, new)) {
        return;
    }
    let (then, now) = (old.assertions.len(), new.assertions.len());
    if then > 0 && now == 0 {
        let what = if new.vacuous > 0 {
            "asserts only what always holds"
        } else {
            "asserts nothing any more"
        };
        found.push(at(new, WeakeningKind::Emptied, what));
        return;
    }
    if now < then {
        let what = format!("has {now} of its {then} assertions left");
        found.push(at(new, WeakeningKind::FewerAssertions, &what));
    }
    loosened(old, new, found);
}

/// Ignores assertions that did not change. Compares the others by subject, and the rest by strength, strongest first.
fn loosened(old: &TestDefinition, new: &TestDefinition, found: &mut Vec<Weakening>) {
    let mut now: Vec<&Assertion> = new.assertions.iter().collect();
    let mut then: Vec<&Assertion> = Vec::new();
    for assertion in &old.assertions {
        match now.iter().position(|a| a.text == assertion.text) {
            Some(same) => drop(now.remove(same)),
            None => then.push(assertion),
        }
    }
    let mut report = |before: &Assertion, after: &Assertion| {
        if after.strength.is_weaker_than(before.strength) {
            let what = format!(
                "was loosened: it demanded {} (`{}`), now {} (`{}`)",
                before.strength, before.text, after.strength, after.text
            );
            found.push(at_line(new, WeakeningKind::Loosened, after.line, &what));
        }
    };
    then.retain(|before| {
        let about_the_same = |after: &&Assertion| {
            after.subject == before.subject
                && after.strength.is_about_exceptions() == before.strength.is_about_exceptions()
        };
        let Some(same) = now.iter().position(about_the_same) else {
            return true;
        };
        report(before, now.remove(same));
        false
    });
    for about_exceptions in [false, true] {
        let ranked = |assertions: &[&Assertion]| -> Vec<Assertion> {
            let mut some: Vec<Assertion> = assertions
                .iter()
                .filter(|a| a.strength.is_about_exceptions() == about_exceptions)
                .map(|a| (*a).clone())
                .collect();
            some.sort_by_key(|a| std::cmp::Reverse(a.strength.rank()));
            some
        };
        for (before, after) in ranked(&then).iter().zip(&ranked(&now)) {
            report(before, after);
        }
    }
}

#[cfg(test)]
mod unit_tests {
    use super::*;
    use crate::{Grammar, tests};

    #[test]
    fn weakened_tests_are_found() {
        let before = "def test_a():\n    assert f(1) == 2\n    assert g() == 3\n";
        let cases = [
            (before, vec![]),
            (
                "def test_renamed():\n    assert f(1) == 2\n    assert g() == 3\n",
                vec![],
            ),
            (
                "def test_a():\n    assert f(1) == 4\n    assert g() == 3\n    assert h()\n",
                vec![],
            ),
            ("", vec!["the test `test_a` (line 1) was removed"]),
            (
                "def test_a():\n    assert f(1) == 2\ndef test_b():\n    assert g() == 3\n",
                vec![],
            ),
            (
                "def test_x():\n    assert f(1) == 2\ndef test_y():\n    assert g() == 3\n",
                vec![],
            ),
            (
                "def test_a():\n    assert f(1) == 2\n@pytest.mark.skip\ndef test_b():\n    assert g() == 3\n",
                vec!["the test `test_a` (line 1) has 1 of its 2 assertions left"],
            ),
            (
                "import pytest\n@pytest.mark.skip\ndef test_a():\n    assert f(1) == 2\n    assert g() == 3\n",
                vec!["the test `test_a` (line 2) is now skipped"],
            ),
            (
                "@pytest.mark.xfail\ndef test_a():\n    assert f(1) == 2\n    assert g() == 3\n",
                vec![
                    "the test `test_a` (line 1) is now expected to fail, so that its failure no longer counts",
                ],
            ),
            (
                "def test_a():\n    pass\n",
                vec!["the test `test_a` (line 1) asserts nothing any more"],
            ),
            (
                "def test_a():\n    assert True\n",
                vec!["the test `test_a` (line 1) asserts only what always holds"],
            ),
            (
                "def test_a():\n    assert f(1) == 2\n",
                vec!["the test `test_a` (line 1) has 1 of its 2 assertions left"],
            ),
            (
                "def test_a():\n    assert f(1) is not None\n    assert g() == 3\n",
                vec![
                    "the test `test_a` (line 2) was loosened: it demanded an exact value (`f ( 1 ) == 2`), now that there is \
                 a value (`f ( 1 ) is not None`)",
                ],
            ),
            (
                "def test_a():\n    x = f(1)\n    assert x in (1, 2)\n    assert g() == 3\n",
                vec![
                    "the test `test_a` (line 3) was loosened: it demanded an exact value (`f ( 1 ) == 2`), now a property of \
                 the value (`x in ( 1 , 2 )`)",
                ],
            ),
        ];
        for (after, expected) in cases {
            let found = weakened(&tests(Grammar::Python, before), &tests(Grammar::Python, after));
            let messages: Vec<&str> = found.iter().map(|w| w.message.as_str()).collect();
            assert_eq!(messages, expected, "{after}");
        }
    }

    #[test]
    fn weaker_assertions_are_found_in_both_languages() {
        use WeakeningKind::{FewerCases, Focused, Loosened};
        let wrap = |body: &str| format!("test('x', () => {{ {body} }});");
        let scripts = [
            ("expect(f()).toBe(1)", "expect(f()).toBeDefined()"),
            ("expect(f()).toEqual([1])", "expect(f()).toBeTruthy()"),
            ("expect(f()).toEqual([1])", "expect(f()).toHaveLength(1)"),
            ("expect(() => f()).toThrow('no')", "expect(() => f()).toThrow()"),
            ("expect(f()).toBeCloseTo(1, 5)", "expect(f()).toBeCloseTo(1, 0)"),
            ("expect(f()).toBe(1)", "expect(f()).not.toBe(2)"),
        ];
        let pythons = [
            ("assert f() == 1", "assert f()"),
            ("assert f() == 1", "assert f() in (1, 2)"),
            (
                "with pytest.raises(KeyError):\n        f()",
                "with pytest.raises(Exception):\n        f()",
            ),
            (
                "with pytest.raises(KeyError, match='a'):\n        f()",
                "with pytest.raises(KeyError):\n        f()",
            ),
            (
                "assert f() == pytest.approx(1, abs=0.01)",
                "assert f() == pytest.approx(1, abs=5)",
            ),
            ("self.assertEqual(f(), 1)", "self.assertIsNotNone(f())"),
        ];
        let kinds = |language, before: &str, after: &str| -> Vec<WeakeningKind> {
            let found = weakened(&tests(language, before), &tests(language, after));
            found.into_iter().map(|w| w.kind).collect()
        };
        for (before, after) in scripts {
            let (before, after) = (wrap(before), wrap(after));
            assert_eq!(kinds(Grammar::JavaScript, &before, &after), [Loosened], "{after}");
            assert_eq!(kinds(Grammar::JavaScript, &after, &before), [], "{before}");
        }
        for (before, after) in pythons {
            let wrap = |body: &str| format!("def test_x(self):\n    {body}\n");
            let (before, after) = (wrap(before), wrap(after));
            assert_eq!(kinds(Grammar::Python, &before, &after), [Loosened], "{after}");
            assert_eq!(kinds(Grammar::Python, &after, &before), [], "{before}");
        }
        let each = |rows: &str| format!("test.each([{rows}])('x', (a) => {{ expect(f(a)).toBe(1); }});");
        assert_eq!(
            kinds(Grammar::JavaScript, &each("1, 2"), &each("1")),
            [FewerCases]
        );
        let only = "test('a', () => {}); test.only('b', () => {});";
        assert_eq!(
            kinds(
                Grammar::JavaScript,
                "test('a', () => {}); test('b', () => {});",
                only
            ),
            [Focused]
        );
    }
}
