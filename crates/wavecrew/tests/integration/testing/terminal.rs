//! What a person at a terminal is asked, and what comes of the answers.

use crate::testing::testing_sandbox::TestingSandbox;
use wavecrew_test_support::sandbox::terminal::{DOWN, ENTER, ESCAPE, Terminal, UP};

/// `wavecrew testing` with the workers of the sandbox, at a terminal.
fn start(sandbox: &TestingSandbox, flags: &str) -> Terminal {
    let words = format!("testing --agent {} {flags}", sandbox.agent());
    Terminal::start(&mut sandbox.command(&words))
}

const AGENT: &str = "if task == 'TESTGEN-001':\n    text(layer / 'test_price.py', 'from shop.price import is_cheap, total\\n\\n\\ndef test_all():\\n    assert total([1, 2]) == 3\\n    assert is_cheap(9) is True\\n    assert is_cheap(10) is False\\n')\n    if (session / 'results/feedback-L1.md').exists():\n        text(layer / 'test_errors.py', 'import pytest\\nfrom shop.price import total\\n\\n\\ndef test_too_much():\\n    with pytest.raises(ValueError):\\n        total([1], 101)\\n')\n";

#[test]
fn a_plan_that_is_declined_leaves_nothing_behind() {
    let Some(sandbox) = TestingSandbox::shop() else {
        return;
    };
    sandbox.workers(AGENT);
    start(&sandbox, "")
        .answer(&[
            ("Run this on the whole project?", DOWN),
            ("> Use another", ENTER),
            ("Which one?", ENTER),
            ("Run this on the whole project?", ESCAPE),
        ])
        .expect_exit(3);
    assert!(!sandbox.path(".workflow").exists());
}

#[test]
fn an_interrupt_at_a_question_restores_the_cursor() {
    let Some(sandbox) = TestingSandbox::shop() else {
        return;
    };
    sandbox.workers(AGENT);
    let mut terminal = start(&sandbox, "");
    terminal.answer(&[("> Run it", "\x03")]).expect_exit(130);
    let output = terminal.output();
    assert!(
        output.rfind("\x1b[?25h") > output.rfind("\x1b[?25l"),
        "{output:?}"
    );
    assert!(!sandbox.path(".workflow").exists());
}

#[test]
fn a_run_can_be_deepened_and_its_tests_copied_when_it_is_over() {
    let Some(sandbox) = TestingSandbox::shop() else {
        return;
    };
    sandbox.workers(AGENT);
    start(&sandbox, "--mutation off")
        .answer(&[
            ("> Run it", ENTER),
            ("> Keep it", DOWN),
            ("> Raise", ENTER),
            ("Layer and percentage [L1=90]", ENTER),
            ("> Keep it", UP),
            ("> Archive", UP),
            ("> Copy its tests", ENTER),
            ("Copy 2 files into the project?", "y"),
        ])
        .expect("in the project: 2 of 2 tests pass (1.00), 100.00 % of the lines in scope covered")
        .expect_exit(0);
    assert_eq!(sandbox.row("TESTRUN-001")["coverage_target"], "90");
    assert!(sandbox.path("tests/test_errors.py").exists());
}

#[test]
fn with_apply_only_the_copy_is_asked_about() {
    let Some(sandbox) = TestingSandbox::shop() else {
        return;
    };
    sandbox.workers(AGENT);
    let mut terminal = start(&sandbox, "--mutation off --apply");
    terminal.answer(&[("> Run it", ENTER), ("Copy 1 file into the project?", "y")]);
    terminal
        .expect("Apply   tests/test_price.py written")
        .expect_exit(0);
    assert!(!terminal.output().contains("What should happen to the session?"));
}
