//! The examples: from below the target to above it through one round, by the stand-in agent and by its recording.

use std::fs;

use crate::testing::testing_sandbox::{TestingSandbox, example};

/// Runs an example with the stand-in agent, then from its recording.
fn both_ways(project: &str, answers: &str, cassette: &str, figures: &str) {
    let Some(sandbox) = TestingSandbox::example(project) else {
        return;
    };
    let agent = format!("command:{} {answers}", example("agent.py").display());
    one_way(&sandbox, &agent, figures);
    let first: f64 = sandbox.json("gc-state.json")["coverage_history"][0]["coverage_achieved"]
        .as_f64()
        .unwrap();
    assert!(first < 80.0, "{first}");

    let Some(again) = TestingSandbox::example(project) else {
        return;
    };
    let copied = again.beside("cassette.jsonl");
    fs::copy(example(cassette), &copied).unwrap();
    let agent = format!("replay:{}", copied.display());
    one_way(&again, &agent, figures);
}

fn one_way(sandbox: &TestingSandbox, agent: &str, figures: &str) {
    let words = ["--pipeline", "targeted", "--mutation", "off", "--agent", agent];
    sandbox
        .wavecrew(&[&["testing", "-y"], &words[..]].concat())
        .expect_exit(0);
    assert_eq!(sandbox.figures("TESTRUN-001"), figures);
    assert_eq!(sandbox.json("gc-state.json")["rounds"]["L1"], 1);
}

#[test]
fn python_shop() {
    both_ways("python-shop", "python-answers", "python.jsonl", "1.00 100.00");
}

#[test]
fn ts_cart() {
    both_ways("ts-cart", "ts-answers", "ts.jsonl", "1.00 100.00");
}
