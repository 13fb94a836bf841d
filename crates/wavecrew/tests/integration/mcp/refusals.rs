//! Bad input: each is refused in the words that callers know, and nothing is left behind.

use crate::mcp::jobs::{ECHO, call, connect, output, with_script};
use serde_json::{Value, json};
use std::fs;

fn tool_error(csv: &str, arguments: Value) -> String {
    let project = with_script(csv, "exit 1");
    let complaint = connect(&project).tool_error("spawn_agents_on_csv", arguments);
    assert!(
        !project.path(".workflow").exists(),
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
        let error = tool_error(csv, arguments.clone());
        assert!(error.contains(message), "{arguments}: {error}");
    }
}

#[test]
fn invalid_tables() {
    let project = with_script("", "exit 1");
    project.write("in.csv", b"\x89PNG\r\n\x1a\n\x00\xff\xfe,\xff\n");
    let error = connect(&project).tool_error(
        "spawn_agents_on_csv",
        json!({"csv_path": "in.csv", "instruction": "x"}),
    );
    assert!(error.contains("failed to parse csv"), "{error}");
}

#[test]
fn reports_belong_to_workers() {
    let project = with_script("a\n1\n", "exit 1");
    let answer = connect(&project).call(
        "report_agent_job_result",
        json!({"job_id": "x", "item_id": "row-1", "result": {}}),
    );
    assert_eq!(answer["accepted"], false);
}

#[test]
fn unknown_jobs() {
    let project = with_script("a\n1\n", "exit 1");
    let mut client = connect(&project);
    for tool in ["wait_agent_job", "cancel_agent_job"] {
        assert_eq!(
            client.tool_error(tool, json!({"job_id": "run-x-1"})),
            "there is no job run-x-1"
        );
    }
}

#[test]
fn garbage_and_partial_messages_are_ignored() {
    let project = with_script("path\na\n", ECHO);
    let mut client = connect(&project);
    for garbage in [
        "not json",
        "{\"jsonrpc\":\"2.0\"}",
        "[1,2",
        "\u{0}\u{1}",
        r#"{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":5}}"#,
        r#"{"jsonrpc":"2.0","id":78,"method":"no/such/method","params":{}}"#,
    ] {
        client.line(garbage);
    }
    let answer = client.call("spawn_agents_on_csv", call(json!({})));
    assert_eq!(answer["completed_items"], 1);
    client.line(r#"{"jsonrpc":"2.0","id":79,"method":"tools/call","params":{"name":"spawn_agents_on"#);
    assert_eq!(client.disconnect(), 0);
}

#[test]
fn a_hundred_thousand_rows_are_accepted() {
    let mut csv = String::from("path\n");
    for row in 0..100_000 {
        csv.push_str(&format!("f{row}\n"));
    }
    let project = with_script(&csv, "touch begun; exec sleep 1000");
    let mut client = connect(&project);
    let call = json!({"csv_path": "in.csv", "instruction": "x {path}", "max_workers": 2, "background": true});
    let started = client.call("spawn_agents_on_csv", call);
    assert_eq!(started["total_items"], 100_000);
    project.wait_for_file("begun");
    client.call("cancel_agent_job", json!({"job_id": started["job_id"]}));
    // So many rows take their time where programs are not optimised.
    let wait = json!({"job_id": started["job_id"], "timeout_ms": 240_000});
    let ended = client.call("wait_agent_job", wait);
    assert_eq!(ended["status"], "cancelled", "{ended}");
    let table = fs::read_to_string(ended["output_csv_path"].as_str().unwrap()).unwrap();
    assert_eq!(table.lines().count(), 100_001);
    assert!(table.lines().last().unwrap().contains(",row-100000,"));
}

#[test]
fn a_worker_that_reports_for_another_item_is_refused() {
    // The worker of row-2 claims to be that of row-1; both end with what is theirs.
    let script = r#"[ "$WAVECREW_TASK" = row-1 ] && echo '{"n": 1}' && exit
        wavecrew report '{"item_id": "row-1", "result": {"n": 13}}' 2> refused
        echo '{"n": 2}'"#;
    let project = with_script("path\na\nb\n", script);
    let answer = connect(&project).call("spawn_agents_on_csv", call(json!({})));
    let results: Vec<String> = output(&answer)
        .1
        .iter()
        .map(|row| row["result_json"].clone())
        .collect();
    assert_eq!(results, [r#"{"n":1}"#, r#"{"n":2}"#]);
    let refused = project.text("refused");
    assert!(refused.contains("is for task `row-1`"), "{refused}");
}

#[test]
fn an_agent_that_we_started_gets_no_client_tools() {
    // Even if it removes all variables about its place.
    let project = with_script(
        "path\na\n",
        r#"printf '%s\n' \
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"w","version":"0"}}}' \
        '{"jsonrpc":"2.0","method":"notifications/initialized"}' \
        '{"jsonrpc":"2.0","id":2,"method":"tools/list"}' \
        > talk; (cat talk; while ! grep -q '"id":2' heard; do sleep 0.05; done) | env -i "$(command -v wavecrew)" mcp > heard
        echo '{}'"#,
    );
    project.write("heard", "");
    let answer = connect(&project).call("spawn_agents_on_csv", call(json!({})));
    assert_eq!(answer["completed_items"], 1, "{answer}");
    let heard = project.text("heard");
    assert!(heard.contains(r#""tools":[]"#), "{heard}");
}

#[test]
fn the_output_table_takes_the_place_of_no_setting_hook_or_link() {
    let project = with_script("path\na\n", ECHO).committed();
    project.write("wavecrew.toml", "agent = \"command:./agent.sh\"\n");
    project.write(".wavecrew/teams/x.toml", "");
    project.write("docs/x.md", "");
    std::os::unix::fs::symlink("wavecrew.toml", project.path("link.csv")).unwrap();
    std::os::unix::fs::symlink(".git", project.path("visible")).unwrap();
    let before = project.files();
    let mut client = connect(&project);
    for path in [
        ".git/config",
        ".git/hooks/pre-commit",
        ".git/hooks/pre-commit.csv",
        "docs/../.git/config",
        "visible/config.csv",
        "wavecrew.toml",
        ".wavecrew/teams/x.toml",
        ".wavecrew/x.csv",
        "link.csv",
        "agent.sh",
    ] {
        let refused = client.tool_error("spawn_agents_on_csv", call(json!({"output_csv_path": path})));
        assert!(refused.contains(path), "{refused}");
    }
    assert_eq!(project.files(), before);
    let done = client.call(
        "spawn_agents_on_csv",
        call(json!({"output_csv_path": "docs/out.csv"})),
    );
    assert_eq!(done["completed_items"], 1, "{done}");
    assert!(project.path("docs/out.csv").is_file());
}

#[test]
fn a_call_that_is_too_long_is_answered_and_the_next_one_works() {
    let project = with_script("path\na\n", ECHO);
    let mut client = connect(&project);
    let long = "x".repeat(20 << 20);
    let answer = client.request(
        "tools/call",
        json!({"name": "spawn_agents_on_csv", "arguments": call(json!({"instruction": long}))}),
    );
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("at most 16777216 are allowed"), "{message}");
    let done = client.call("spawn_agents_on_csv", call(json!({})));
    assert_eq!(done["completed_items"], 1, "{done}");
}

#[test]
fn formulas_and_escapes_of_workers_are_guarded_in_the_output_table() {
    let script = r#"printf '{"item_id":"%s","result":{"f":"=HYPERLINK(1)","n":-5,"e":"a\\u001b[31mb\\u202ec"}}' "$WAVECREW_TASK""#;
    let project = with_script("path\n@cmd\n", script);
    let schema = json!({"type": "object", "properties": {"f": {}, "n": {}, "e": {}}});
    let done = connect(&project).call("spawn_agents_on_csv", call(json!({"output_schema": schema})));
    let (_, rows) = output(&done);
    let cell = |name: &str| rows[0][name].as_str();
    assert_eq!(
        (cell("path"), cell("f"), cell("n"), cell("e")),
        ("'@cmd", "'=HYPERLINK(1)", "-5", "abc"),
        "{rows:?}"
    );
}
