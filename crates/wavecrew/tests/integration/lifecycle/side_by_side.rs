//! What several do at the same time stays apart: workers on a recording, and runs that file issues.

use crate::lifecycle::team_sandbox::{TeamSandbox, example};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use wavecrew_test_support::sandbox::read_rows;

const SECOND: &str = "artifacts/solutions/ISS-20260308-000002.json";

#[test]
fn files_of_parallel_workers_are_recorded_as_their_own() {
    let sandbox = TeamSandbox::planex();
    let agent = example("planex/agent.sh");
    let agent = agent.display();
    // The first one ends while the second one, whose file is there already, goes on.
    sandbox.worker(
        "PLAN-001",
        &format!("until [ -f \"$session/{SECOND}\" ]; do sleep 0.02; done; exec sh {agent}"),
    )
    .worker(
        "PLAN-002",
        &format!(
            "said=$(sh {agent}); until grep finished \"$session/journal.ndjson\" | grep -q PLAN-001; do sleep 0.02; done; echo \"$said\""
        ),
    );
    let cassette = sandbox.beside("cassette.jsonl");
    let cassette = cassette.to_str().unwrap();
    sandbox
        .start_planex(&format!("-c 3 --record {cassette}"))
        .wait()
        .expect_exit(0);
    let text = fs::read_to_string(cassette).unwrap();
    let turns = text
        .lines()
        .skip(1)
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut writers = Vec::new();
    for turn in turns {
        for file in turn["files"].as_array().into_iter().flatten() {
            if file["path"] == SECOND {
                writers.push(turn["task"].as_str().unwrap().to_owned());
                assert_ne!(file["guessed"], true, "{file}");
            }
        }
    }
    assert_eq!(writers, ["PLAN-002"]);

    let replayed = TeamSandbox::planex();
    replayed
        .wavecrew(&format!(
            "planex -y -c 3 --agent replay:{cassette} ../issues.jsonl"
        ))
        .expect_exit(0);
    assert_eq!(
        replayed.git(&["rev-parse", "main^{tree}"]),
        sandbox.git(&["rev-parse", "main^{tree}"])
    );
}

#[test]
fn parallel_runs_file_issues_with_different_ids() {
    let sandbox = TeamSandbox::planex();
    sandbox.worker("PLAN-001", "exit 1");
    let wanted = ["one", "two", "three", "four"];
    let runs: Vec<_> = wanted
        .iter()
        .map(|text| sandbox.start(&format!("planex -y --agent {} --text {text}", sandbox.agent())))
        .collect();
    let added: Vec<_> = (0..4)
        .map(|n| sandbox.start(&["issues", "add", &format!("by hand {n}")]))
        .collect();
    for run in runs.into_iter().chain(added) {
        run.wait();
    }
    let store = sandbox.text(".workflow/issues/issues.jsonl");
    let issues: Vec<Value> = store
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let ids: BTreeSet<&str> = issues.iter().map(|issue| issue["id"].as_str().unwrap()).collect();
    assert_eq!((issues.len(), ids.len()), (8, 8), "{store}");
    // Each session works on the issue that has its words.
    let mut worked_on = BTreeSet::new();
    for session in sandbox.sessions() {
        let table = sandbox
            .path(".workflow/.csv-wave")
            .join(session)
            .join("tasks.csv");
        let row = read_rows(&table).remove(0);
        let (id, text) = (row["issue_ids"].clone(), &row["raw_input"]);
        let filed = issues.iter().find(|issue| issue["id"] == *id).unwrap();
        assert_eq!(filed["title"], *text);
        worked_on.insert(id);
    }
    assert_eq!(worked_on.len(), 4, "{store}");
}
