//! What a person at a terminal is asked, and what comes of the answers.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::testing::lab::{Lab, Ran};

const ENTER: &str = "\r";
const UP: &str = "\x1b[A";
const DOWN: &str = "\x1b[B";
const ESCAPE: &str = "\x1b";

/// `wavecrew` at a terminal, where each text is waited for and answered.
fn at_a_terminal(lab: &Lab, words: &[&str], steps: &[(&str, &str)]) -> Ran {
    let steps = serde_json::to_string(steps).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/integration/testing/terminal.py");
    let wavecrew = lab.command(words);
    let mut command = Command::new("python3");
    command
        .arg(script)
        .arg(steps)
        .arg(wavecrew.get_program())
        .args(wavecrew.get_args())
        .envs(
            wavecrew
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .current_dir(&lab.project)
        .stdin(Stdio::null());
    let output = command.output().unwrap();
    Ran {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

const AGENT: &str = "if task == 'TESTGEN-001':\n    text(layer / 'test_price.py', 'from shop.price import is_cheap, total\\n\\n\\ndef test_all():\\n    assert total([1, 2]) == 3\\n    assert is_cheap(9) is True\\n    assert is_cheap(10) is False\\n')\n    if (session / 'results/feedback-L1.md').exists():\n        text(layer / 'test_errors.py', 'import pytest\\nfrom shop.price import total\\n\\n\\ndef test_too_much():\\n    with pytest.raises(ValueError):\\n        total([1], 101)\\n')\n";

#[test]
fn a_plan_that_is_declined_leaves_nothing_behind() {
    let Some(lab) = Lab::shop() else { return };
    lab.agent(AGENT);
    let words = ["testing", "--agent", &lab.agent_flag()];
    at_a_terminal(
        &lab,
        &words,
        &[
            ("Run this on the whole project?", DOWN),
            ("> Use another", ENTER),
            ("Which one?", ENTER),
            ("Run this on the whole project?", ESCAPE),
        ],
    )
    .exits(3);
    assert!(!lab.project.join(".workflow").exists());
}

#[test]
fn a_question_that_is_left_with_an_interrupt_gives_the_cursor_back() {
    let Some(lab) = Lab::shop() else { return };
    lab.agent(AGENT);
    let words = ["testing", "--agent", &lab.agent_flag()];
    let ran = at_a_terminal(&lab, &words, &[("> Run it", "\x03")]).exits(130);
    assert!(
        ran.out.rfind("\x1b[?25h") > ran.out.rfind("\x1b[?25l"),
        "{:?}",
        ran.out
    );
    assert!(!lab.project.join(".workflow").exists());
}

#[test]
fn a_run_can_be_deepened_and_its_tests_copied_when_it_is_over() {
    let Some(lab) = Lab::shop() else { return };
    lab.agent(AGENT);
    let words = ["testing", "--agent", &lab.agent_flag(), "--mutation", "off"];
    at_a_terminal(
        &lab,
        &words,
        &[
            ("> Run it", ENTER),
            ("> Keep it", DOWN),
            ("> Deepen", ENTER),
            ("Layer and percentage [L1=90]", ENTER),
            ("> Keep it", UP),
            ("> Archive", UP),
            ("> Copy its tests", ENTER),
            ("Copy 2 files into the project?", "y"),
        ],
    )
    .exits(0)
    .says("in the project: 2 of 2 tests pass (1.00), 100.00 % of the lines in scope covered");
    assert_eq!(lab.row("TESTRUN-001")["coverage_target"], "90");
    assert!(lab.project.join("tests/test_errors.py").exists());
}
