//! Bad input: each is refused in the words that callers know, and nothing is left behind.

use crate::jobs::Project;
use serde_json::{Value, json};
use std::fs;

fn complaint(csv: &str, arguments: Value) -> String {
    let project = Project::new(csv, "exit 1");
    let complaint = project.client().complaint("spawn_agents_on_csv", arguments);
    assert!(
        !project.path().join(".workflow").exists(),
        "{complaint}: a session was made"
    );
    complaint
}

#[test]
fn calls_that_cannot_work() {
    let table = "path,n\na,1\n";
    for (csv, arguments, message) in [
        (
            table,
            json!({"csv_path": "in.csv", "instruction": "  "}),
            "instruction must be non-empty",
        ),
        (
            table,
            json!({"csv_path": "in.csv", "instruction": "x", "max_runtime_seconds": 0}),
            "max_runtime_seconds must be >= 1",
        ),
        (
            table,
            json!({"csv_path": "in.csv", "instruction": "x", "id_column": "key"}),
            "id_column key was not found in csv headers",
        ),
        (
            "a,b\n1,2\n3\n",
            json!({"csv_path": "in.csv", "instruction": "x"}),
            "csv row 3 has 1 fields but header has 2",
        ),
        (
            "a,a\n1,2\n",
            json!({"csv_path": "in.csv", "instruction": "x"}),
            "csv header a is duplicated",
        ),
        (
            "",
            json!({"csv_path": "in.csv", "instruction": "x"}),
            "csv input must include a header row",
        ),
        (
            table,
            json!({"csv_path": "gone.csv", "instruction": "x"}),
            "failed to read csv gone.csv: ",
        ),
        (
            table,
            json!({"csv_path": "/etc/passwd", "instruction": "x"}),
            "/etc/passwd is outside of the project folder",
        ),
        (
            table,
            json!({"csv_path": "in.csv", "instruction": "x", "output_csv_path": "../out.csv"}),
            "../out.csv is outside of the project folder",
        ),
        (
            table,
            json!({"csv_path": "in.csv", "instruction": "x", "output_schema": {"type": "object", "required": 3}}),
            "output_schema is not a JSON Schema",
        ),
        (
            table,
            json!({"csv_path": "in.csv", "instruction": "x", "agent": "nobody"}),
            "nobody",
        ),
        (
            table,
            json!({"csv_path": "in.csv", "instruction": "x", "colour": "red"}),
            "unknown field `colour`",
        ),
        (table, json!({"resume_job_id": "../x"}), "there is no job ../x"),
    ] {
        let said = complaint(csv, arguments.clone());
        assert!(said.contains(message), "{arguments}: {said}");
    }
}

#[test]
fn a_table_that_is_none() {
    let project = Project::new("", "exit 1");
    fs::write(
        project.path().join("in.csv"),
        b"\x89PNG\r\n\x1a\n\x00\xff\xfe,\xff\n",
    )
    .unwrap();
    let said = project.client().complaint(
        "spawn_agents_on_csv",
        json!({"csv_path": "in.csv", "instruction": "x"}),
    );
    assert!(said.contains("failed to parse csv"), "{said}");
}

#[test]
fn reports_belong_to_workers() {
    let project = Project::new("a\n1\n", "exit 1");
    let answer = project.client().call(
        "report_agent_job_result",
        json!({"job_id": "x", "item_id": "row-1", "result": {}}),
    );
    assert_eq!(answer["accepted"], false);
}

#[test]
fn jobs_that_are_not_there() {
    let project = Project::new("a\n1\n", "exit 1");
    let mut client = project.client();
    for tool in ["wait_agent_job", "cancel_agent_job"] {
        assert_eq!(
            client.complaint(tool, json!({"job_id": "run-x-1"})),
            "there is no job run-x-1"
        );
    }
}
