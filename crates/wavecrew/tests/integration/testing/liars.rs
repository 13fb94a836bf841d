//! Workers that want to look better than they are: each is caught, and told how.

use crate::testing::lab::Lab;
use std::fs;
use std::process::Command;
use std::thread;

const GOOD: &str = "from shop.price import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n\n\ndef test_discount():\n    assert total([10], 50) == 5\n";

/// A generator that writes these tests first and does this when it is sent back.
fn liar(then: &str) -> Option<Lab> {
    let lab = Lab::shop()?;
    lab.agent(&format!(
        "good = {GOOD:?}\nif task == 'TESTGEN-001' and attempt == 1:\n    text(layer / 'test_price.py', good)\nif task == 'TESTGEN-001' and attempt > 1:\n    {then}\nif task == 'TESTRUN-001':\n    report['pass_rate'] = '1.0'\n    report['coverage_achieved'] = '100'\n"
    ));
    Some(lab)
}

#[test]
fn source_that_is_edited_fails_the_task_and_nothing_else() {
    let Some(lab) = Lab::shop() else { return };
    lab.agent(&format!(
        "if task == 'TESTGEN-001':\n    text(layer / 'test_price.py', {GOOD:?})\n    text(pathlib.Path('shop/price.py'), 'def total(items, discount=0):\\n    return sum(items)\\n')\n"
    ));
    lab.run(&["--mutation", "off"]).exits(1);
    let row = lab.row("TESTGEN-001");
    assert_eq!(row["status"], "failed");
    assert!(
        row["error"]
            .contains("source was changed, only tests of the layer may be written: shop/price.py was edited"),
        "{row:?}"
    );
    assert!(
        std::fs::read_to_string(lab.project.join("shop/price.py"))
            .unwrap()
            .contains("is_cheap")
    );
}

#[test]
fn tests_that_are_deleted_or_skipped_are_put_back_and_what_was_reached_stands() {
    for (then, said) in [
        (
            "(layer / 'test_price.py').unlink(missing_ok=True); text(layer / 'test_other.py', good.split('def test_discount')[0])",
            "test_price.py was deleted with its 2 tests",
        ),
        (
            "text(layer / 'test_price.py', 'import pytest\\n' + good.replace('def test_discount', '@pytest.mark.skip\\ndef test_discount'))",
            "tests were weakened: test_price.py:",
        ),
    ] {
        let Some(lab) = liar(then) else { return };
        // A claim of 100 % is answered with the figures.
        lab.run(&["--mutation", "off"]).exits(0).says(said);
        assert_eq!(lab.figures("TESTRUN-001"), "1.00 55.55");
        let findings = &lab.row("TESTRUN-001")["findings"];
        assert!(
            findings.contains("claimed coverage_achieved 100, measured 55.55"),
            "{findings}"
        );
        assert!(
            lab.read("tests/L1-unit/test_price.py")
                .contains("def test_discount")
        );
        assert_eq!(lab.json("gc-state.json")["rounds"]["L1"], 3);
    }
}

#[test]
fn tests_that_assert_nothing_are_sent_back_and_then_fail() {
    let Some(lab) = Lab::shop() else { return };
    lab.agent("if task == 'TESTGEN-001':\n    text(layer / 'test_price.py', 'from shop.price import total\\n\\n\\ndef test_total():\\n    total([1])\\n')\n");
    lab.run(&["--mutation", "off"]).exits(1);
    let row = lab.row("TESTGEN-001");
    assert!(
        row["error"].contains("assert nothing that could fail: `test_total`"),
        "{row:?}"
    );
    assert_eq!(
        lab.started()
            .iter()
            .filter(|line| line.starts_with("TESTGEN"))
            .count(),
        3
    );
}

#[test]
fn edits_of_the_project_itself_are_noticed() {
    let Some(lab) = Lab::shop() else { return };
    let source = lab.project.join("shop/price.py");
    lab.agent(&format!(
        "if task == 'TESTGEN-001':\n    text(layer / 'test_price.py', {GOOD:?})\n    text(pathlib.Path({:?}), 'def total(items, discount=0):\\n    return sum(items)\\n')\n",
        source.display()
    ));
    lab.run(&["--mutation", "off", "--target", "L1=50"]).exits(0);
    let row = lab.row("TESTGEN-001");
    assert_eq!(row["status"], "completed");
    let expected = "the project itself was changed while the worker was at work: shop/price.py was edited (if it was not you,";
    assert!(row["findings"].contains(expected), "{row:?}");
}

#[test]
fn a_test_that_kills_its_examiner_is_ended_with_it() {
    let Some(lab) = Lab::shop() else { return };
    let line = lab.project.with_file_name("line");
    let made = Command::new("mkfifo").arg(&line).status().unwrap();
    assert!(made.success());
    let test = format!(
        "import os, time\nfrom shop.price import total\n\n\ndef test_total():\n    line = os.open({line:?}, os.O_WRONLY)\n    \
         pid = os.getpid()\n    while '__check' not in open(f'/proc/{{pid}}/cmdline').read():\n        \
         pid = int(open(f'/proc/{{pid}}/stat').read().rsplit(')', 1)[1].split()[1])\n    os.kill(pid, 9)\n    \
         time.sleep(600)\n    assert total([line]) == line\n"
    );
    lab.agent(&format!(
        "if task == 'TESTGEN-001':\n    text(layer / 'test_price.py', {test:?})\n"
    ));
    // The line is closed when nobody holds its other end any more.
    let closed = thread::spawn(move || fs::read(line).unwrap());
    lab.run(&["--mutation", "off"]).exits(1);
    assert_eq!(closed.join().unwrap(), b"");
    let row = lab.row("TESTGEN-001");
    assert!(
        row["error"].contains("The check of the result failed by signal 9"),
        "{row:?}"
    );
}
