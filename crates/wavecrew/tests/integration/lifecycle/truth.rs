//! Cheating and honest workers through the program itself: a sample of the suite that the checks run as a whole.

use crate::lifecycle::team_sandbox::TeamSandbox;
use std::fmt::Write as _;
use wavecrew_test_support::depth;
use wavecrew_test_support::truth::{Case, Worker, cases};

/// How many cases run by default.
const SAMPLE: usize = 8;

#[test]
fn no_cheating_worker_is_verified_and_no_honest_one_fails() {
    let mut wrong = Vec::new();
    for case in depth::sample("truth", cases().into_iter().filter(runs_here), SAMPLE) {
        let (status, checked, reason) = outcome(&case);
        let fits = match case.worker {
            Worker::Cheat => checked != "verified",
            Worker::Honest => status == "completed",
        };
        if !fits {
            wrong.push(format!("{case:?}: {status}, {checked}: {reason}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Reports of implementers come with code, and plain tables have no team.
fn runs_here(case: &Case) -> bool {
    case.team != "generic" && !case.task.starts_with("IMPL-")
}

fn outcome(case: &Case) -> (String, String, String) {
    let sandbox = if case.team == "planex" {
        TeamSandbox::planex()
    } else {
        TeamSandbox::lifecycle()
    };
    let (mut script, mut earlier) = (String::new(), String::new());
    for (path, text) in &case.files {
        // Requirements are the work of an earlier task.
        let is_earlier = case.task != "DRAFT-002" && path == "spec/requirements.md";
        let _ = writeln!(
            if is_earlier { &mut earlier } else { &mut script },
            "mkdir -p \"$(dirname \"$session/{path}\")\"\ncat > \"$session/{path}\" <<'END_OF_FILE'\n{text}\nEND_OF_FILE"
        );
    }
    let _ = writeln!(script, "cat <<'END_OF_REPORT'\n{}\nEND_OF_REPORT", case.report);
    sandbox.worker(&case.task, &script);
    if !earlier.is_empty() {
        sandbox.worker(
            "DRAFT-002",
            &format!("{earlier}report 'the requirements are written'"),
        );
    }
    match (case.team.as_str(), case.task.as_str()) {
        ("planex", _) => sandbox.run_planex(),
        (_, "CHECKPOINT-001") => sandbox.run_pipeline("spec-only"),
        (_, "PLAN-001" | "REVIEW-001") => sandbox.run_pipeline("impl-only --no-supervision"),
        (_, _) => sandbox.run_pipeline("spec-only --no-supervision"),
    };
    let report = sandbox
        .wavecrew(&format!("status {} --json", sandbox.session_id()))
        .json();
    let rows = report["tasks"].as_array().unwrap();
    let row = rows.iter().find(|row| row["id"] == case.task.as_str()).unwrap();
    let cell = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
    (
        cell("status"),
        cell("checked"),
        format!("{}{}", cell("error"), cell("doubt")),
    )
}
