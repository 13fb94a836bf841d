//! The examples: from below the target to above it through one round, by the stand-in agent and by its recording.

use std::fs;

use crate::testing::lab::{Lab, examples};

/// Runs an example with the stand-in agent, then from its recording.
fn both_ways(project: &str, answers: &str, tape: &str, figures: &str) {
    let Some(lab) = Lab::example(project) else { return };
    let agent = format!("command:{} {answers}", examples().join("agent.py").display());
    one_way(&lab, &agent, figures);
    let first: f64 = lab.json("gc-state.json")["coverage_history"][0]["coverage_achieved"]
        .as_f64()
        .unwrap();
    assert!(first < 80.0, "{first}");

    let Some(again) = Lab::example(project) else {
        return;
    };
    let tape_file = again.project.parent().unwrap().join("tape.jsonl");
    fs::copy(examples().join(tape), &tape_file).unwrap();
    let agent = format!("replay:{}", tape_file.display());
    one_way(&again, &agent, figures);
}

fn one_way(lab: &Lab, agent: &str, figures: &str) {
    let words = ["--pipeline", "targeted", "--mutation", "off", "--agent", agent];
    lab.wavecrew(&[&["testing", "-y"], &words[..]].concat()).exits(0);
    assert_eq!(lab.figures("TESTRUN-001"), figures);
    assert_eq!(lab.json("gc-state.json")["rounds"]["L1"], 1);
}

#[test]
fn python_shop() {
    both_ways("python-shop", "python-answers", "python.jsonl", "1.00 100.00");
}

#[test]
fn ts_cart() {
    both_ways("ts-cart", "ts-answers", "ts.jsonl", "1.00 100.00");
}
