//! Generator against critic: from below the target to above it, and what is fed back on the way.

use std::fs;
use std::process::Command;

use crate::testing::testing_sandbox::TestingSandbox;

/// Two tests at first, four when sent back.
const IMPROVES: &str = r#"
good = "from shop.price import is_cheap, total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n\n\ndef test_discount():\n    assert total([10], 50) == 5\n"
more = "\n\ndef test_cheap():\n    assert is_cheap(9) is True\n    assert is_cheap(10) is False\n"
if task == "TESTGEN-001":
    text(layer / "test_price.py", good + (more if attempt > 1 else ""))
    text(traces / f"prompt-{attempt}.txt", prompt)
"#;

#[test]
fn a_round_with_feedback_raises_coverage_above_the_target() {
    let Some(sandbox) = TestingSandbox::shop() else {
        return;
    };
    sandbox.workers(IMPROVES);
    let before = sandbox.text("shop/price.py");
    sandbox
        .test(&["--mutation", "off", "--apply", "test the prices"])
        .expect_exit(0)
        .expect_output("Scope   the whole project: not a git repository")
        .expect_output("Before  0 tests")
        .expect_output("Apply   tests/test_price.py written")
        .expect_output("3 of 3 tests pass (1.00), 88.88 %");
    assert_eq!(sandbox.figures("TESTRUN-001"), "1.00 88.88");
    assert_eq!(
        sandbox.row("TESTGEN-001")["test_files"],
        "tests/L1-unit/test_price.py"
    );
    assert_eq!(sandbox.json("gc-state.json")["rounds"]["L1"], 1);
    let brief = sandbox.trace("prompt-2.txt");
    assert!(
        brief.contains("55.55 % of the lines") && brief.contains(">   10         return True"),
        "{brief}"
    );
    assert!(sandbox.read("discoveries.ndjson").contains("framework_detected"));
    assert_eq!(sandbox.json("scope.json")["files"][0]["path"], "shop/price.py");
    assert_eq!(sandbox.text("shop/price.py"), before);
    // Copies of the project are gone, kept tests are there.
    assert!(
        !sandbox.in_session("tree").exists() && sandbox.in_session("tests/L1-unit/test_price.py").exists()
    );

    // The same number comes out by hand, in the project with the applied tests.
    let python = sandbox.path(".venv/bin/python");
    let by_hand = |words: &[&str]| {
        Command::new(&python)
            .args(words)
            .current_dir(sandbox.project())
            .output()
            .unwrap()
    };
    by_hand(&["-m", "coverage", "run", "--source=shop", "-m", "pytest", "-q"]);
    let report = by_hand(&["-m", "coverage", "report", "--precision=2"]);
    let report = String::from_utf8_lossy(&report.stdout).into_owned();
    assert!(report.contains("88.89%"), "{report}");
}

#[test]
fn weak_tests_are_named_wherever_the_result_is_shown() {
    let Some(sandbox) = TestingSandbox::shop() else {
        return;
    };
    sandbox.workers(
        "if task == 'TESTGEN-001':\n    text(layer / 'test_price.py', 'from shop.price import is_cheap, total\\n\\n\\ndef test_all():\\n    assert total([1]) is not None\\n    assert is_cheap(1) is not None\\n    assert is_cheap(100) is not None\\n')\n",
    );
    sandbox
        .test(&["test the prices"])
        .expect_exit(0)
        .expect_output("TESTRUN-001: Execute L1 tests and collect coverage: weak tests, ");
    sandbox.expect_cell("TESTRUN-001", "error", "unverified: weak tests, ");
    assert!(
        sandbox.json("gc-state.json")["rounds"]["L1"].as_u64() > Some(1),
        "the survivors went back first"
    );
    let report = sandbox
        .wavecrew(&format!("status {} --json", sandbox.session_id()))
        .json();
    let rows = report["tasks"].as_array().unwrap();
    let row = rows.iter().find(|row| row["id"] == "TESTRUN-001").unwrap();
    let doubt = row["doubt"].as_str().unwrap();
    assert!(
        doubt.starts_with("weak tests, ") && doubt.ends_with(" mutants killed"),
        "{doubt}"
    );
    assert_eq!(row["checked"], "unverified");
}

#[test]
fn a_standard_run_ends_with_a_computed_score() {
    let Some(sandbox) = TestingSandbox::shop() else {
        return;
    };
    sandbox.workers(&format!(
        "{IMPROVES}\nif task == 'TESTGEN-002':\n    text(session / 'tests/L2-integration/test_both.py', 'from shop.price import is_cheap, total\\n\\n\\ndef test_both():\\n    assert is_cheap(total([4, 5])) is True\\n    assert is_cheap(total([4, 6])) is False\\n')\n"
    ));
    sandbox.test("--pipeline standard").expect_exit(0);
    assert_eq!(sandbox.figures("TESTRUN-002"), "1.00 88.88");
    let report = sandbox.read("analysis/quality-report.md");
    assert!(
        report.contains("of 100**, computed from the measured data"),
        "{report}"
    );
    assert!(
        report.contains("| coverage achievement | 30 % | 100.0 | L1 88.88 % of 80 %, L2 88.88 % of 60 % |"),
        "{report}"
    );
    assert!(
        report.contains("| shop/price.py | 0.00 % | 88.88 % | 3 |") && report.contains("coverage.svg"),
        "{report}"
    );
    assert!(
        sandbox
            .read("analysis/coverage.svg")
            .contains("L1, run 2: 88.88 %")
    );
    assert!(
        sandbox.json("results/run-L1.json")["mutation"]["total"]
            .as_u64()
            .unwrap()
            > 0
    );
}

#[test]
fn a_finished_session_can_be_deepened() {
    let Some(sandbox) = TestingSandbox::shop() else {
        return;
    };
    sandbox.workers(&format!(
        "{IMPROVES}\nif task == 'TESTGEN-001' and attempt > 2:\n    text(layer / 'test_errors.py', 'import pytest\\nfrom shop.price import total\\n\\n\\ndef test_too_much():\\n    with pytest.raises(ValueError, match=\"discount\"):\\n        total([1], 101)\\n')\n"
    ));
    let ran = sandbox.test("--mutation off").expect_exit(0);
    assert_eq!(sandbox.figures("TESTRUN-001"), "1.00 88.88");
    let session = sandbox.session_id();
    ran.expect_output(&format!("with `wavecrew testing --continue {session} --apply`"));
    sandbox
        .test(&format!("--continue {session} --target L1=95 --apply"))
        .expect_exit(0)
        .expect_output("Apply   tests/test_errors.py written");
    assert_eq!(sandbox.figures("TESTRUN-001"), "1.00 100.00");
    assert_eq!(sandbox.row("TESTRUN-001")["coverage_target"], "95");
}

#[test]
fn applying_again_copies_only_missing_tests() {
    let Some(sandbox) = TestingSandbox::shop() else {
        return;
    };
    sandbox.workers(
        r#"
if task == "TESTGEN-001":
    text(layer / "test_price.py", "from shop.price import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n\n\ndef test_discount():\n    assert total([10], 50) == 5\n")
    text(layer / "test_cheap.py", "from shop.price import is_cheap\n\n\ndef test_cheap():\n    assert is_cheap(9) is True\n    assert is_cheap(10) is False\n")
"#,
    );
    sandbox.test("--mutation off").expect_exit(0);
    // Since then the person has a file of this name.
    sandbox.write(
        "tests/test_price.py",
        "from shop.price import total\n\n\ndef test_none():\n    assert total([]) == 0\n",
    );
    let session = sandbox.session_id();
    let again = format!("--continue {session} --apply");
    sandbox
        .test(&again)
        .expect_exit(0)
        .expect_output("Apply   tests/test_price_l1.py written")
        .expect_output("Apply   tests/test_cheap.py written")
        .expect_output("Apply   in the project: 3 of 3 tests pass (1.00), 88.88 %");
    fs::remove_file(sandbox.path("tests/test_cheap.py")).unwrap();
    sandbox
        .test(&again)
        .expect_exit(0)
        .expect_output("Apply   tests/test_price_l1.py already exists")
        .expect_output("Apply   tests/test_cheap.py written")
        .expect_output("Apply   already there: 2 of 2 tests pass (1.00)")
        .expect_output("Apply   new: 1 of 1 tests pass (1.00)")
        .expect_output("Apply   in the project: 3 of 3 tests pass (1.00), 88.88 %");
    sandbox
        .test(&again)
        .expect_exit(0)
        .expect_output("Apply   nothing to copy");
    assert!(!sandbox.path("tests/test_price_l1_2.py").exists());
}

#[test]
fn a_passing_jest_suite_needs_no_executor() {
    let Some(sandbox) = TestingSandbox::new(&[
        ("package.json", r#"{"devDependencies":{"jest":"30"}}"#),
        (
            "src/größe mit.js",
            "exports.larger = (a, b) => (a > b ? a : b);\n",
        ),
    ]) else {
        return;
    };
    sandbox.workers(
        r#"
if task == "TESTGEN-001":
    text(layer / "größe.test.js", "const { larger } = require('../../src/größe mit');\n\ntest('the larger one', () => {\n  expect(larger(1, 2)).toBe(2);\n  expect(larger(3, 2)).toBe(3);\n});\n")
"#,
    );
    sandbox.test("--mutation quick").expect_exit(0);
    assert_eq!(sandbox.figures("TESTRUN-001"), "1.00 100.00");
    assert_eq!(sandbox.started(), ["STRATEGY-001.1.1", "TESTGEN-001.1.1"]);
}
