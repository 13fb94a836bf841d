//! Tests that add nothing to the others are named and not kept.

use crate::session::{TestSession, at, figures};
use wavecrew_core::check_report::CheckReport;
use wavecrew_testing::scope::MutationEffort;

const SUITE: &str = "\
import pytest
from shop.price import is_cheap, total


def test_total():
    assert total([1, 2]) == 3


def test_total_again():
    assert total([2, 1]) == 3


def test_discount():
    assert total([10], 50) == 5


def test_sum():
    assert sum([1, 2]) == 3


@pytest.mark.parametrize('price, cheap', [(9, True), (10, False), (8, True)])
def test_cheap(price, cheap):
    assert is_cheap(price) is cheap
";

fn findings(verdict: &CheckReport) -> &str {
    match verdict {
        CheckReport::Confirmed(details) | CheckReport::Short(details) => &details.findings,
        other => panic!("{other:?}"),
    }
}

#[test]
fn tests_that_cover_and_kill_nothing_new_are_dropped() {
    let Some(session) = TestSession::python() else {
        return;
    };
    session.begin(MutationEffort::Full);
    session.test("test_price.py", SUITE);
    // Another file brings what it checks only by being loaded.
    session.test(
        "test_zero.py",
        "from shop.price import total\n\n\ndef test_zero():\n    assert total([]) == 0\n",
    );
    let verdict = session.run(1);
    assert_eq!(figures(&verdict), "holds 1.00 88.88");
    let left_out = "dropped because they add nothing to the others: test_price.py::test_total_again, \
                    test_price.py::test_sum, test_zero.py::test_zero";
    assert!(findings(&verdict).contains(left_out), "{}", findings(&verdict));
    let kept = at(&session.folder.join("results/accepted/L1/test_price.py"));
    for (name, there) in [
        ("test_total()", true),
        ("test_total_again", false),
        // Runs the same lines, and alone kills mutants of the discount.
        ("test_discount", true),
        ("test_sum", false),
        ("test_cheap", true),
    ] {
        assert_eq!(kept.contains(name), there, "{name}: {kept}");
    }
    assert!(!session.folder.join("results/accepted/L1/test_zero.py").exists());
    assert!(!session.folder.join("results/quarantine/L1/test_zero.py").exists());
    let text = session.read("results/feedback-L1.md");
    assert!(
        text.contains("## Tests that add nothing") && text.contains("- `test_zero.py::test_zero`"),
        "{text}"
    );
    assert!(!text.contains("## Repair these tests first"), "{text}");

    // The same suite is not tried again, and the worker may remove the tests that the feedback names.
    assert_eq!(findings(&session.run(1)), findings(&verdict));
    std::fs::remove_file(session.folder.join("tests/L1-unit/test_zero.py")).unwrap();
    let fewer = SUITE.replace("def test_sum():\n    assert sum([1, 2]) == 3\n\n\n", "");
    session.test("test_price.py", &fewer);
    assert_eq!(figures(&session.run(2)), "holds 1.00 88.88");
}

#[test]
fn without_mutants_passing_tests_are_kept() {
    let Some(session) = TestSession::python() else {
        return;
    };
    session.begin(MutationEffort::Off);
    session.test("test_price.py", SUITE);
    let verdict = session.run(1);
    assert!(findings(&verdict).starts_with("7 of 7 tests kept"), "{verdict:?}");
}

#[test]
fn redundant_javascript_tests_are_dropped_too() {
    let Some(session) = TestSession::new(&[
        (
            "package.json",
            r#"{"type":"module","devDependencies":{"vitest":"4"}}"#,
        ),
        (
            "src/cart.ts",
            "export function count(items: number[]): number {\n  return items.length > 2 ? 0 : items.length;\n}\n",
        ),
    ]) else {
        return;
    };
    session.begin(MutationEffort::Full);
    session.test(
        "cart.test.ts",
        "import { expect, it } from 'vitest';\nimport { count } from '../../src/cart';\n\nit('counts', () => {\n  expect(count([1, 2])).toBe(2);\n});\n\nit('counts again', () => {\n  expect(count([3, 4])).toBe(2);\n});\n\nit('has a limit', () => {\n  expect(count([1, 2, 3])).toBe(0);\n});\n",
    );
    let verdict = session.run(1);
    assert!(
        findings(&verdict).contains("add nothing to the others: cart.test.ts::counts again"),
        "{verdict:?}"
    );
    let kept = at(&session.folder.join("results/accepted/L1/cart.test.ts"));
    assert!(
        !kept.contains("counts again") && kept.contains("has a limit"),
        "{kept}"
    );
}
