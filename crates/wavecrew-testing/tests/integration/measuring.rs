//! Honest suites: figures, what is kept, what is fed back.

use crate::session::{TestSession, at, feedback, figures};
use wavecrew_core::check_report::CheckReport;
use wavecrew_core::event::Verdict;
use wavecrew_testing::scope::{MutationEffort, Scope};

const GOOD: &str = "from shop.price import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n\n\ndef test_discount():\n    assert total([10], 50) == 5\n";

#[test]
fn a_suite_below_its_target_gets_feedback_and_a_better_one_is_confirmed() {
    let Some(session) = TestSession::python() else {
        return;
    };
    session.begin(MutationEffort::Off);
    session.test("test_price.py", GOOD);
    assert!(
        figures(&session.generated(1)).starts_with("holds"),
        "{:?}",
        session.generated(1)
    );
    let short = session.run(1);
    assert_eq!(figures(&short), "short 1.00 of 1.00 55.55");
    let text = feedback(&short);
    for part in [
        "55.55 % of the lines",
        "### `shop/price.py`",
        ">    3 ",
        ">   10         return True",
    ] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
    assert_eq!(session.read("results/feedback-L1.md"), text);

    let better = format!(
        "import pytest\nfrom shop.price import is_cheap\n{GOOD}\n\ndef test_cheap():\n    assert is_cheap(9) is True\n    assert is_cheap(10) is False\n\n\ndef test_too_much():\n    with pytest.raises(ValueError, match='discount'):\n        total([1], 101)\n"
    );
    session.test("test_price.py", &better);
    assert!(figures(&session.generated(2)).starts_with("holds"));
    assert_eq!(figures(&session.run(2)), "holds 1.00 100.00");
    assert!(
        session
            .read("results/feedback-L1.md")
            .contains("- run 1: pass rate 1.00, coverage 55.55 %, 2 tests")
    );
}

#[test]
fn failing_tests_are_dropped_one_by_one() {
    let Some(session) = TestSession::python() else {
        return;
    };
    session.begin(MutationEffort::Off);
    let suite = format!(
        "import random\n{GOOD}\n\ndef test_wrong():\n    assert total([1]) == 2\n\n\ndef test_dice(tmp_path_factory):\n    import pathlib\n    mark = pathlib.Path('mark')\n    runs = len(mark.read_text()) if mark.exists() else 0\n    mark.write_text('x' * (runs + 1))\n    assert (runs % 2 == 0) == (total([0]) == 0)\n"
    );
    session.test("test_price.py", &suite);
    session.test(
        "test_broken.py",
        "from shop.nowhere import x\n\n\ndef test_x():\n    assert x == 1\n",
    );
    assert!(figures(&session.generated(1)).starts_with("holds"));
    let verdict = session.run(1);
    // Two of five that were written pass each time; what is kept passes.
    assert_eq!(figures(&verdict), "short 1.00 of 0.40 55.55");
    let text = feedback(&verdict);
    for part in [
        "`test_price.py::test_wrong` fails",
        "assert 1.0 == 2",
        "`test_price.py::test_dice` is flaky",
        "`test_broken.py` its file does not load",
    ] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
    let kept = at(&session.folder.join("results/accepted/L1/test_price.py"));
    assert!(
        kept.contains("test_discount") && !kept.contains("test_wrong") && !kept.contains("test_dice"),
        "{kept}"
    );
    assert!(!session.folder.join("results/accepted/L1/test_broken.py").exists());
    assert!(
        session
            .folder
            .join("results/quarantine/L1/test_price.py")
            .exists()
    );
    let run = session.json("results/run-L1.json");
    assert_eq!(run["suspected_defects"][0]["name"], "test_wrong");
    assert_eq!(run["delivered"]["pass_rate"], "0.40");
}

#[test]
fn tests_that_assert_little_are_sent_back_with_the_surviving_mutants() {
    let Some(session) = TestSession::python() else {
        return;
    };
    session.begin(MutationEffort::Quick);
    // Covers everything, checks little.
    session.test(
        "test_price.py",
        "import pytest\nfrom shop.price import is_cheap, total\n\n\ndef test_all():\n    assert total([1]) is not None\n    assert is_cheap(1) is not None\n    assert is_cheap(100) is not None\n    with pytest.raises(ValueError):\n        total([1], 200)\n",
    );
    let CheckReport::Short(weak) = session.run(1) else {
        panic!("weak tests must not be confirmed");
    };
    assert_eq!(weak.verdict, Verdict::Unverified);
    assert!(weak.findings.starts_with("weak tests: "), "{}", weak.findings);
    assert_eq!(weak.facts["kill_rate_target"], "0.6");
    assert!(weak.doubt.starts_with("weak tests, "), "{}", weak.doubt);
    assert!(weak.doubt.ends_with(" mutants killed"), "{}", weak.doubt);
    let run = session.json("results/run-L1.json");
    let (killed, total) = (
        run["mutation"]["killed"].as_u64().unwrap(),
        run["mutation"]["total"].as_u64().unwrap(),
    );
    assert!(total >= 6 && killed < total, "{killed} of {total}");
    assert!(
        session
            .read("results/feedback-L1.md")
            .contains("## Surviving mutants")
    );
    let source = at(&session.environment().tree().join("shop/price.py"));
    assert_eq!(source, at(&session.path("shop/price.py")));

    session.test(
        "test_price.py",
        "import pytest\nfrom shop.price import is_cheap, total\n\n\ndef test_all():\n    assert total([1, 2]) == 3\n    assert total([10], 50) == 5\n    assert total([10], 100) == 0\n    assert is_cheap(9) is True\n    assert is_cheap(10) is False\n    with pytest.raises(ValueError, match='discount'):\n        total([1], 101)\n",
    );
    let CheckReport::Confirmed(strong) = session.run(2) else {
        panic!("tests with values must be confirmed");
    };
    assert_eq!(strong.verdict, Verdict::Verified, "{}", strong.findings);
}

#[test]
fn a_test_that_hangs_or_kills_itself_costs_its_file_alone() {
    let Some(session) = TestSession::python() else {
        return;
    };
    session.begin(MutationEffort::Off);
    let mut scope = Scope::read(&session.folder).unwrap();
    scope.run_seconds = 30;
    scope.write(&session.folder).unwrap();
    session.test("test_price.py", GOOD);
    session.test("test_hangs.py", "import time\nfrom shop.price import total\n\n\ndef test_hangs():\n    time.sleep(600)\n    assert total([]) == 0\n");
    session.test("test_dies.py", "import os\nfrom shop.price import total\n\n\ndef test_dies():\n    os.kill(os.getpid(), 9)\n    assert total([]) == 0\n");
    let verdict = session.run(1);
    assert_eq!(figures(&verdict), "short 1.00 of 0.50 55.55");
    let text = feedback(&verdict);
    assert!(
        text.contains("took longer than") && text.contains("killed by signal 9"),
        "{text}"
    );
}

#[test]
fn vitest_and_jest_projects_of_one_repository_are_measured_together() {
    let Some(session) = TestSession::new(&[
        ("package.json", r#"{"private": true}"#),
        (
            "web/package.json",
            r#"{"type":"module","devDependencies":{"vitest":"4"}}"#,
        ),
        (
            "web/src/cart.ts",
            "export function count(items: number[]): number {\n  if (items.length > 9) {\n    return -1;\n  }\n  return items.length;\n}\n",
        ),
        ("api/package.json", r#"{"devDependencies":{"jest":"30"}}"#),
        (
            "api/lib/name.js",
            "exports.name = (first, last) => {\n  if (!last) {\n    return first;\n  }\n  return `${first} ${last}`;\n};\n",
        ),
    ]) else {
        return;
    };
    session.begin(MutationEffort::Off);
    session.test(
        "web/cart.test.ts",
        "import { expect, it } from 'vitest';\nimport { count } from '../../src/cart';\n\nit('counts', () => {\n  expect(count([1, 2])).toBe(2);\n});\n\nit('has a limit', () => {\n  expect(count(new Array(10).fill(0))).toBe(-1);\n});\n\nit('is wrong', () => {\n  expect(count([])).toBe(7);\n});\n",
    );
    session.test(
        "api/name.test.js",
        "const { name } = require('../../lib/name');\n\ntest('joins', () => {\n  expect(name('A', 'B')).toBe('A B');\n});\n",
    );
    assert!(
        figures(&session.generated(1)).starts_with("holds"),
        "{:?}",
        session.generated(1)
    );
    let verdict = session.run(1);
    assert_eq!(figures(&verdict), "short 1.00 of 0.75 85.71");
    assert!(
        feedback(&verdict).contains("`web/cart.test.ts::is wrong` fails"),
        "{}",
        feedback(&verdict)
    );
    assert!(!at(&session.folder.join("results/accepted/L1/web/cart.test.ts")).contains("is wrong"));
}
