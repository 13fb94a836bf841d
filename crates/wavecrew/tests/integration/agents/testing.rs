//! Team Testing with a real agent: an example goes from below its target to above it, through a round that falls short, is
//! told why, and is followed by one that does not. The agent is told to put the prepared answers of the example in place.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::agents::lab::Lab;
use crate::agents::with_some;
use crate::testing::lab::{self as testing_lab, examples};

/// Runs the example, and gives its session's project for a look at it.
fn live(agent: &'static str, project: &str, answers: &str, flags: &[&str]) -> Option<testing_lab::Lab> {
    let lab = Lab::new(agent)?;
    let example = testing_lab::Lab::example(project)?;
    let stand_in = format!("{} {answers}", examples().join("agent.py").display());
    let instruction = format!(
        "@@shell python3 {stand_in}\n@@final {{\"id\":\"{{id}}\",\"status\":\"completed\",\"findings\":\"as prepared\",\"coverage_achieved\":\"100\"}}"
    );
    let mut command = lab.wavecrew("unused", &lab.model.base("ok"));
    command
        .current_dir(&example.project)
        .args(["testing", "-y", "--pipeline", "targeted", "--mutation", "off"])
        .args(["--agent", lab.name(), "--instruction", &instruction])
        .args(flags);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    lab.nothing_runs();
    assert!(lab.model.stats("ok").requests > 4, "the model was asked");

    let state = example.json("gc-state.json");
    assert_eq!(state["rounds"]["L1"], 1, "{state:#}");
    assert_eq!(example.figures("TESTRUN-001"), "1.00 100.00");
    // What was wrong with the first round was in the message that began the second.
    let brief = example.read("prompts/TESTGEN-001.2.1.md");
    let told =
        ["Repair these tests first", "Lines that no passing test runs"].map(|part| brief.contains(part));
    assert_eq!(told, [true, true], "{brief}");
    Some(example)
}

/// The figures of both rounds are those of the framework, run by hand on what was kept of them.
fn same_by_hand(example: &testing_lab::Lab, by_hand: impl Fn(&Path) -> String) {
    let history = example.json("gc-state.json")["coverage_history"].clone();
    for (attempt, round) in (1..).zip(history.as_array().unwrap()) {
        let kept = example
            .session()
            .join(format!("rounds/TESTRUN-001.{attempt}/results/accepted/L1"));
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
    let Some(example) = live("codex", "python-shop", "python-answers", &[]) else {
        return;
    };
    let python = |words: &[&str]| {
        let mut command = Command::new(example.project.join(".venv/bin/python"));
        command.current_dir(&example.project).args(words);
        succeeds(&mut command);
    };
    same_by_hand(&example, |kept| {
        let tests = example.project.join("tests/L1-unit");
        testing_lab::copy(kept, &tests);
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
        let text = fs::read(example.project.join("coverage.json")).unwrap();
        let totals = serde_json::from_slice::<Value>(&text).unwrap()["totals"].take();
        percent(&totals["covered_lines"], &totals["num_statements"])
    });
}

fn typescript_with_claude() {
    // Roles that only read have no shell in claude.
    let strategist = format!(
        "strategist=command:{} ts-answers",
        examples().join("agent.py").display()
    );
    let flags = ["--role-agent", &strategist];
    let Some(example) = live("claude", "ts-cart", "ts-answers", &flags) else {
        return;
    };
    same_by_hand(&example, |kept| {
        let tests = example.project.join("tests/L1-unit");
        testing_lab::copy(kept, &tests);
        let mut vitest = Command::new(example.project.join("node_modules/.bin/vitest"));
        vitest.current_dir(&example.project).args([
            "run",
            "tests/L1-unit",
            "--coverage.enabled",
            "--coverage.include=src/cart.ts",
            "--coverage.reporter=json-summary",
        ]);
        succeeds(&mut vitest);
        fs::remove_dir_all(tests).unwrap();
        let text = fs::read(example.project.join("coverage/coverage-summary.json")).unwrap();
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
