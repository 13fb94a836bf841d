//! What several do at the same time stays apart: workers on a recording, and runs that file issues.

use crate::example_files::examples;
use crate::lifecycle::lab::Lab;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

const SECOND: &str = "artifacts/solutions/ISS-20260308-000002.json";

#[test]
fn what_workers_side_by_side_write_is_recorded_as_theirs() {
    let lab = Lab::planex();
    let example = examples().join("planex/agent.sh");
    let example = example.display();
    // The first one ends while the second one, whose file is there already, goes on.
    lab.answer(
        "PLAN-001",
        &format!("until [ -f \"$session/{SECOND}\" ]; do sleep 0.02; done; exec sh {example}"),
    )
    .answer(
        "PLAN-002",
        &format!(
            "said=$(sh {example}); until grep finished \"$session/journal.ndjson\" | grep -q PLAN-001; do sleep 0.02; done; echo \"$said\""
        ),
    );
    let (agent, issues, tape) = (lab.agent(), lab.path("issues.jsonl"), lab.path("tape.jsonl"));
    let (issues, tape) = (issues.to_str().unwrap(), tape.to_str().unwrap());
    lab.wavecrew(&[
        "planex", "-y", "-c", "3", "--agent", &agent, "--record", tape, issues,
    ])
    .exits(0);
    let text = fs::read_to_string(tape).unwrap();
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

    let played = Lab::planex();
    let (agent, issues) = (format!("replay:{tape}"), played.path("issues.jsonl"));
    played
        .wavecrew(&[
            "planex",
            "-y",
            "-c",
            "3",
            "--agent",
            &agent,
            issues.to_str().unwrap(),
        ])
        .exits(0);
    assert_eq!(
        played.git(&["rev-parse", "main^{tree}"]),
        lab.git(&["rev-parse", "main^{tree}"])
    );
}

#[test]
fn runs_that_file_issues_at_once_get_ids_of_their_own() {
    let lab = Lab::planex();
    lab.answer("PLAN-001", "exit 1");
    let agent = lab.agent();
    let wanted = ["one", "two", "three", "four"];
    let runs: Vec<_> = wanted
        .iter()
        .map(|text| lab.start(&["planex", "-y", "--agent", &agent, "--text", text]))
        .collect();
    let added: Vec<_> = (0..4)
        .map(|n| lab.start(&["issues", "add", &format!("by hand {n}")]))
        .collect();
    for run in runs.into_iter().chain(added) {
        run.wait_with_output().unwrap();
    }
    let store = fs::read_to_string(lab.project().join(".workflow/issues/issues.jsonl")).unwrap();
    let issues: Vec<Value> = store
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let ids: BTreeSet<&str> = issues.iter().map(|issue| issue["id"].as_str().unwrap()).collect();
    assert_eq!((issues.len(), ids.len()), (8, 8), "{store}");
    // Each session works on the issue that has its words.
    let sessions = fs::read_dir(lab.project().join(".workflow/.csv-wave")).unwrap();
    let mut worked_on = BTreeSet::new();
    for table in sessions.flatten().map(|entry| entry.path().join("tasks.csv")) {
        let Ok(mut reader) = csv::Reader::from_path(table) else {
            continue;
        };
        let header = reader.headers().unwrap().clone();
        let at = |name: &str| header.iter().position(|known| known == name).unwrap();
        let row = reader.records().next().unwrap().unwrap();
        let (id, text) = (row[at("issue_ids")].to_owned(), row[at("raw_input")].to_owned());
        let filed = issues.iter().find(|issue| issue["id"] == *id).unwrap();
        assert_eq!(filed["title"], *text);
        worked_on.insert(id);
    }
    assert_eq!(worked_on.len(), 4, "{store}");
}
