//! Dishonest workers: each is caught and gets the reason.

use crate::testing::testing_sandbox::TestingSandbox;
use std::fs;
use std::process::Command;
use std::thread;
use wavecrew_process::sandbox::{LandlockAbi, Support};

const GOOD: &str = "from shop.price import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n\n\ndef test_discount():\n    assert total([10], 50) == 5\n";

/// A generator that writes these tests first and does this when it is sent back.
fn dishonest(then: &str) -> Option<TestingSandbox> {
    let sandbox = TestingSandbox::shop()?;
    sandbox.workers(&format!(
        "good = {GOOD:?}\nif task == 'TESTGEN-001' and attempt == 1:\n    text(layer / 'test_price.py', good)\nif task == 'TESTGEN-001' and attempt > 1:\n    {then}\nif task == 'TESTRUN-001':\n    report['pass_rate'] = '1.0'\n    report['coverage_achieved'] = '100'\n"
    ));
    Some(sandbox)
}

#[test]
fn editing_source_fails_only_its_task() {
    let Some(sandbox) = TestingSandbox::shop() else {
        return;
    };
    // With the sandbox on, the kernel refuses it.
    fs::write(sandbox.path("wavecrew.toml"), "sandbox = \"off\"\n").unwrap();
    sandbox.workers(&format!(
        "if task == 'TESTGEN-001':\n    text(layer / 'test_price.py', {GOOD:?})\n    text(pathlib.Path('shop/price.py'), 'def total(items, discount=0):\\n    return sum(items)\\n')\n"
    ));
    sandbox.test("--mutation off").expect_exit(1);
    let row = sandbox.row("TESTGEN-001");
    assert_eq!(row["status"], "failed");
    assert!(
        row["error"]
            .contains("source was changed, only tests of the layer may be written: shop/price.py was edited"),
        "{row:?}"
    );
    assert!(sandbox.text("shop/price.py").contains("is_cheap"));
}

#[test]
fn deleted_or_skipped_tests_are_restored() {
    for (then, message) in [
        (
            "(layer / 'test_price.py').unlink(missing_ok=True); text(layer / 'test_other.py', good.split('def test_discount')[0])",
            "test_price.py was deleted with its 2 tests",
        ),
        (
            "text(layer / 'test_price.py', 'import pytest\\n' + good.replace('def test_discount', '@pytest.mark.skip\\ndef test_discount'))",
            "tests were weakened: test_price.py:",
        ),
    ] {
        let Some(sandbox) = dishonest(then) else { return };
        // A claim of 100 % is answered with the figures.
        sandbox
            .test("--mutation off")
            .expect_exit(0)
            .expect_output(message);
        assert_eq!(sandbox.figures("TESTRUN-001"), "1.00 55.55");
        sandbox.expect_cell(
            "TESTRUN-001",
            "findings",
            "claimed coverage_achieved 100, measured 55.55",
        );
        assert!(
            sandbox
                .read("tests/L1-unit/test_price.py")
                .contains("def test_discount")
        );
        assert_eq!(sandbox.json("gc-state.json")["rounds"]["L1"], 3);
    }
}

#[test]
fn tests_without_assertions_are_sent_back_and_then_fail() {
    let Some(sandbox) = TestingSandbox::shop() else {
        return;
    };
    sandbox.workers("if task == 'TESTGEN-001':\n    text(layer / 'test_price.py', 'from shop.price import total\\n\\n\\ndef test_total():\\n    total([1])\\n')\n");
    sandbox.test("--mutation off").expect_exit(1);
    sandbox.expect_cell(
        "TESTGEN-001",
        "error",
        "test_price.py::test_total (asserts nothing that could fail)",
    );
    assert_eq!(
        sandbox
            .started()
            .iter()
            .filter(|line| line.starts_with("TESTGEN"))
            .count(),
        3
    );
}

#[test]
fn edits_of_the_project_are_reported() {
    let Some(sandbox) = TestingSandbox::shop() else {
        return;
    };
    // With the sandbox on, the kernel refuses it.
    fs::write(sandbox.path("wavecrew.toml"), "sandbox = \"off\"\n").unwrap();
    let source = sandbox.path("shop/price.py");
    sandbox.workers(&format!(
        "if task == 'TESTGEN-001':\n    text(layer / 'test_price.py', {GOOD:?})\n    text(pathlib.Path({:?}), 'def total(items, discount=0):\\n    return sum(items)\\n')\n",
        source.display()
    ));
    sandbox.test("--mutation off --target L1=50").expect_exit(0);
    let row = sandbox.row("TESTGEN-001");
    assert_eq!(row["status"], "completed");
    let expected = "the project itself was changed while the worker was at work: shop/price.py was edited (if it was not you,";
    assert!(row["findings"].contains(expected), "{row:?}");
}

#[test]
fn a_test_cannot_kill_the_check_process() {
    let Some(sandbox) = TestingSandbox::shop() else {
        return;
    };
    if Support::detect().landlock < LandlockAbi(6) {
        eprintln!("not checked: the kernel has no Landlock 6");
        return;
    }
    let test = "import os, pytest\nfrom shop.price import total\n\n\ndef test_total():\n    pid = os.getpid()\n    \
         while '__check' not in open(f'/proc/{pid}/cmdline').read() and '__baseline' not in open(f'/proc/{pid}/cmdline').read():\n        \
         pid = int(open(f'/proc/{pid}/stat').read().rsplit(')', 1)[1].split()[1])\n    \
         with pytest.raises(PermissionError):\n        os.kill(pid, 9)\n    assert total([]) == 0\n";
    sandbox.workers(&format!(
        "if task == 'TESTGEN-001':\n    text(layer / 'test_price.py', {test:?})\n"
    ));
    sandbox.test("--mutation off --target L1=1").expect_exit(0);
    sandbox.expect_cell("TESTGEN-001", "status", "completed");
}

#[test]
fn a_test_that_kills_the_check_process_ends_with_it() {
    let Some(sandbox) = TestingSandbox::shop() else {
        return;
    };
    fs::write(sandbox.path("wavecrew.toml"), "sandbox = \"off\"\n").unwrap();
    let line = sandbox.beside("line");
    let made = Command::new("mkfifo").arg(&line).status().unwrap();
    assert!(made.success());
    let test = format!(
        "import os, time\nfrom shop.price import total\n\n\ndef test_total():\n    line = os.open({line:?}, os.O_WRONLY)\n    \
         pid = os.getpid()\n    while '__check' not in open(f'/proc/{{pid}}/cmdline').read():\n        \
         pid = int(open(f'/proc/{{pid}}/stat').read().rsplit(')', 1)[1].split()[1])\n    os.kill(pid, 9)\n    \
         time.sleep(600)\n    assert total([line]) == line\n"
    );
    sandbox.workers(&format!(
        "if task == 'TESTGEN-001':\n    text(layer / 'test_price.py', {test:?})\n"
    ));
    // The pipe is closed when no process holds its other end.
    let closed = thread::spawn(move || fs::read(line).unwrap());
    sandbox.test("--mutation off").expect_exit(1);
    assert_eq!(closed.join().unwrap(), b"");
    sandbox.expect_cell(
        "TESTGEN-001",
        "error",
        "The check of the result failed by signal 9",
    );
}
