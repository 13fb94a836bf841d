//! Team Testing with a real agent: an example goes from below its target to above it, through a round that falls short, is
//! told why, and is followed by one that does not. The agent is told to put the prepared answers of the example in place.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::agents::task::Agent;
use crate::agents::with_some;
use crate::testing::testing_sandbox::{TestingSandbox, example};
use wavecrew_test_support::sandbox::copy_folder;

/// Runs the example, and returns its project.
fn live(id: &'static str, project: &str, answers: &str, flags: &[&str]) -> Option<TestingSandbox> {
    let agent = Agent::new(id)?;
    let sandbox = TestingSandbox::example(project)?;
    let stand_in = format!("{} {answers}", example("agent.py").display());
    let instruction = format!(
        "@@shell python3 {stand_in}\n@@final {{\"id\":\"{{id}}\",\"status\":\"completed\",\"findings\":\"as prepared\",\"coverage_achieved\":\"100\"}}"
    );
    let mut command = agent.command("testing -y --pipeline targeted --mutation off");
    command
        .current_dir(sandbox.project())
        .args(["--agent", agent.name(), "--instruction", &instruction])
        .args(flags);
    agent.spawn(&mut command).wait().expect_exit(0);
    agent.expect_no_processes();
    assert!(agent.model.stats("ok").requests > 4, "the model was asked");

    let state = sandbox.json("gc-state.json");
    assert_eq!(state["rounds"]["L1"], 1, "{state:#}");
    assert_eq!(sandbox.figures("TESTRUN-001"), "1.00 100.00");
    // What was wrong with the first round is in the message that begins the second.
    for text in ["Repair these tests first", "Lines that no passing test runs"] {
        sandbox.expect_read("prompts/TESTGEN-001.2.1.md", text);
    }
    Some(sandbox)
}

/// The figures of both rounds are those of the framework, run by hand on what was kept of them.
fn same_by_hand(sandbox: &TestingSandbox, by_hand: impl Fn(&Path) -> String) {
    let history = sandbox.json("gc-state.json")["coverage_history"].clone();
    for (attempt, round) in (1..).zip(history.as_array().unwrap()) {
        let kept = sandbox.in_session(&format!("rounds/TESTRUN-001.{attempt}/results/accepted/L1"));
        let measured = round["coverage_achieved"].as_f64().unwrap();
        assert_eq!(format!("{measured:.2}"), by_hand(&kept), "round {attempt}");
    }
}

fn succeeds(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
}

/// `covered` of `total` in percent, two decimals, rounded down.
fn percent(covered: &Value, total: &Value) -> String {
    let hundredths = covered.as_u64().unwrap() * 10_000 / total.as_u64().unwrap();
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

fn python_with_codex() {
    let Some(sandbox) = live("codex", "python-shop", "python-answers", &[]) else {
        return;
    };
    let python = |words: &[&str]| {
        let mut command = Command::new(sandbox.path(".venv/bin/python"));
        command.current_dir(sandbox.project()).args(words);
        succeeds(&mut command);
    };
    same_by_hand(&sandbox, |kept| {
        let tests = sandbox.path("tests/L1-unit");
        copy_folder(kept, &tests);
        python(&[
            "-m",
            "coverage",
            "run",
            "--source=shop",
            "-m",
            "pytest",
            "-q",
            "tests/L1-unit",
        ]);
        python(&["-m", "coverage", "json", "-q", "-o", "coverage.json"]);
        fs::remove_dir_all(tests).unwrap();
        let text = fs::read(sandbox.path("coverage.json")).unwrap();
        let totals = serde_json::from_slice::<Value>(&text).unwrap()["totals"].take();
        percent(&totals["covered_lines"], &totals["num_statements"])
    });
}

fn typescript_with_claude() {
    // Roles that only read have no shell in claude.
    let strategist = format!("strategist=command:{} ts-answers", example("agent.py").display());
    let flags = ["--role-agent", &strategist];
    let Some(sandbox) = live("claude", "ts-cart", "ts-answers", &flags) else {
        return;
    };
    same_by_hand(&sandbox, |kept| {
        let tests = sandbox.path("tests/L1-unit");
        copy_folder(kept, &tests);
        let mut vitest = Command::new(sandbox.path("node_modules/.bin/vitest"));
        vitest.current_dir(sandbox.project()).args([
            "run",
            "tests/L1-unit",
            "--coverage.enabled",
            "--coverage.include=src/cart.ts",
            "--coverage.reporter=json-summary",
        ]);
        succeeds(&mut vitest);
        fs::remove_dir_all(tests).unwrap();
        let text = fs::read(sandbox.path("coverage/coverage-summary.json")).unwrap();
        let lines = serde_json::from_slice::<Value>(&text).unwrap()["total"]["lines"].take();
        percent(&lines["covered"], &lines["total"])
    });
}

#[test]
fn a_project_goes_above_its_target() {
    with_some("team Testing", &["codex", "claude"], 1, |agent| match agent {
        "codex" => python_with_codex(),
        _ => typescript_with_claude(),
    });
}
