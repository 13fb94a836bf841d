//! Cheating and honest workers that change code, through the program itself.
//! `WAVECREW_TEST_DEPTH=full` runs all of them; `WAVECREW_TRUTH=ONE|OTHER` those whose names contain a text, and says more.

use crate::lifecycle::team_sandbox::TeamSandbox;
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use wavecrew_test_support::depth;
use wavecrew_test_support::truth::Worker;
use wavecrew_test_support::truth_code::{CodeCase, code_cases};

/// How many cases run by default.
const SAMPLE: usize = 16;

#[test]
fn no_cheating_code_is_verified_and_no_honest_code_fails() {
    let mut wrong = Vec::new();
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let named = std::env::var("WAVECREW_TRUTH").ok();
    let chosen = match &named {
        Some(parts) => cases_with(parts),
        None => depth::sample("truth_code", code_cases(), SAMPLE),
    };
    for case in chosen {
        let (outcome, reason) = outcome(&case);
        if named.is_some() {
            println!("{case:?} is {outcome}: {reason}");
        }
        *counts.entry((case.suite, outcome)).or_default() += 1;
        if ["missed", "refused"].contains(&outcome) {
            wrong.push(format!("{case:?} is {outcome}: {reason}"));
        }
    }
    println!("{counts:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn cases_with(parts: &str) -> Vec<CodeCase> {
    let is_named = |case: &CodeCase| parts.split('|').any(|part| format!("{case:?}").contains(part));
    code_cases().into_iter().filter(is_named).collect()
}

fn outcome(case: &CodeCase) -> (&'static str, String) {
    let sandbox = match case.team.as_str() {
        "planex" => TeamSandbox::planex(),
        _ => TeamSandbox::lifecycle(),
    };
    // The checks must find what a kernel without confinement does not prevent.
    let sandbox = sandbox.open();
    let shell = |script: &str| {
        let mut command = Command::new("sh");
        sandbox.prepare(command.args(["-ec", script]).current_dir(sandbox.project()));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{case:?}: {output:?}");
    };
    if let Some(project) = &case.project {
        shell(&format!(
            "git rm -rq .\n{project}\ngit add -A\ngit commit -q --amend -m first"
        ));
    }
    if let Some(base) = &case.base {
        shell(base);
    }
    for (name, script) in &case.scripts {
        sandbox.worker(name, script);
    }
    match case.team.as_str() {
        "planex" => {
            let issues = sandbox.beside("issues.jsonl");
            let first = fs::read_to_string(&issues)
                .unwrap()
                .lines()
                .next()
                .map(str::to_owned);
            fs::write(&issues, first.unwrap()).unwrap();
            sandbox.run_planex()
        }
        _ => sandbox.run_pipeline("impl-only --no-supervision"),
    };
    let report = sandbox
        .wavecrew(&format!("status {} --json", sandbox.session_id()))
        .json();
    let rows = report["tasks"].as_array().unwrap();
    let row = rows.iter().find(|row| row["id"] == case.about.as_str()).unwrap();
    let cell = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
    let (status, checked, doubt) = (cell("status"), cell("checked"), cell("doubt"));
    let asked = !doubt.is_empty() || sandbox.turns(&case.about) > 1;
    let outcome = match (case.worker, status.as_str()) {
        (Worker::Cheat, "completed") if doubt.is_empty() => "missed",
        (Worker::Cheat, "completed") => "flagged",
        (Worker::Cheat, _) => "caught",
        (Worker::Honest, "completed") if asked => "asked",
        (Worker::Honest, "completed") => "accepted",
        (Worker::Honest, _) => "refused",
    };
    (outcome, format!("{status}, {checked}: {}{doubt}", cell("error")))
}
