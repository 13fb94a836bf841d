use crate::mcp::rpc::Client;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use wavecrew_test_support::sandbox::{Sandbox, wait_for};

/// The server with the script as its agent.
pub const SERVER: &str = "mcp --agent command:./agent.sh";

/// A project with a table `in.csv` and a shell script that does its rows.
pub fn with_script(csv: &str, script: &str) -> Sandbox {
    Sandbox::new()
        .file("in.csv", csv)
        .script("agent.sh", &format!("#!/bin/sh\ncat > /dev/null\n{script}\n"))
}

/// A client of a server that uses the script.
pub fn connect(sandbox: &Sandbox) -> Client {
    Client::start(&mut sandbox.command(SERVER))
}

/// The output table: one map per row, and its header.
pub fn output(answer: &Value) -> (Vec<String>, Vec<HashMap<String, String>>) {
    let path = PathBuf::from(answer["output_csv_path"].as_str().unwrap());
    let mut reader = csv::Reader::from_path(path).unwrap();
    let header: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let rows = reader.deserialize().map(Result::unwrap).collect();
    (header, rows)
}

pub const ECHO: &str = r#"echo "{\"job_id\":\"$(basename "$WAVECREW_SESSION_DIR")\",\"item_id\":\"$WAVECREW_TASK\",\"result\":{\"n\":1}}""#;

pub fn call(extra: Value) -> Value {
    let mut call = json!({"csv_path": "in.csv", "instruction": "Look at {path}"});
    for (name, value) in extra.as_object().unwrap() {
        call[name] = value.clone();
    }
    call
}

#[test]
fn one_worker_per_row_and_a_table_of_results() {
    let project = with_script(
        "path,status\na.rs,open\nb.rs,open\nc d.rs,open\n",
        r#"case "$WAVECREW_TASK.$WAVECREW_TURN" in
            a.rs.*) echo '{"score": 1, "note": "x, \"y\""}';;
            b.rs.1) echo '{"score": "two"}';;
            b.rs.2) echo '{"score": 2, "note": null}';;
            *) echo 'out of paper' >&2; exit 3;;
        esac"#,
    );
    let mut client = connect(&project);
    let schema = json!({
        "type": "object",
        "properties": {"score": {"type": "integer"}, "note": {"type": ["string", "null"]}},
        "required": ["score"],
    });
    let answer = client.call(
        "spawn_agents_on_csv",
        call(json!({"id_column": "path", "output_schema": schema})),
    );
    let counts = ["total_items", "completed_items", "failed_items"].map(|name| answer[name].clone());
    assert_eq!(counts, [3, 2, 1]);
    assert_eq!(answer["status"], "completed");
    assert_eq!(answer["job_error"], Value::Null);
    let error = "The worker exited with code 3: out of paper";
    assert_eq!(
        answer["failed_item_errors"],
        json!([{"item_id": "c d.rs", "source_id": "c d.rs", "last_error": error}])
    );
    let (header, rows) = output(&answer);
    assert_eq!(
        header.join(","),
        "path,status,job_id,item_id,row_index,source_id,job_status,attempt_count,last_error,result_json,\
         reported_at,completed_at,note,score"
    );
    let column = |name: &str| rows.iter().map(|row| row[name].as_str()).collect::<Vec<_>>();
    assert_eq!(column("path"), ["a.rs", "b.rs", "c d.rs"]);
    assert_eq!(column("status"), ["open", "open", "open"]);
    assert_eq!(column("job_status"), ["completed", "completed", "failed"]);
    assert_eq!(column("row_index"), ["0", "1", "2"]);
    assert_eq!(column("attempt_count"), ["1", "1", "1"]);
    assert_eq!(column("last_error"), ["", "", error]);
    assert_eq!(column("score"), ["1", "2", ""]);
    assert_eq!(column("note"), ["x, \"y\"", "", ""]);
    assert_eq!(rows[0]["job_id"], answer["job_id"].as_str().unwrap());
    let result: Value = serde_json::from_str(&rows[0]["result_json"]).unwrap();
    assert_eq!(result["score"], 1);
    let name = answer["output_csv_path"]
        .as_str()
        .unwrap()
        .rsplit('/')
        .next()
        .unwrap();
    assert!(
        name.starts_with("in.agent-job-") && name.len() == "in.agent-job-XXXXXXXX.csv".len(),
        "{name}"
    );
}

#[test]
fn a_property_fills_the_column_of_its_name() {
    let project = with_script(
        "path,status\na,open\nb,open\n",
        r#"[ "$WAVECREW_TASK" = row-1 ] && echo '{"status":"merged"}'"#,
    );
    let schema = json!({"properties": {"status": {"type": "string"}}, "required": ["status"]});
    let answer = connect(&project).call("spawn_agents_on_csv", call(json!({"output_schema": schema})));
    let (header, rows) = output(&answer);
    assert_eq!(header.iter().filter(|name| *name == "status").count(), 1);
    let column = |name: &str| rows.iter().map(|row| row[name].as_str()).collect::<Vec<_>>();
    assert_eq!(column("status"), ["merged", "failed"]);
    assert_eq!(column("job_status"), ["completed", "failed"]);
    assert_eq!(column("item_id"), ["row-1", "row-2"]);
}

#[test]
fn clients_get_progress_when_they_ask_for_it() {
    let project = with_script("path\na\nb\n", ECHO);
    let mut client = connect(&project);
    let answer = client.request(
        "tools/call",
        json!({"name": "spawn_agents_on_csv", "arguments": call(json!({})), "_meta": {"progressToken": 7}}),
    );
    assert_eq!(answer["result"]["structuredContent"]["completed_items"], 2);
    let last = client.notifications.last().unwrap();
    assert_eq!(last["method"], "notifications/progress");
    assert_eq!(
        (&last["params"]["progress"], &last["params"]["total"]),
        (&json!(2.0), &json!(2.0))
    );
}

/// The current version has no `initialize` request: every request names the client and the protocol.
#[test]
fn the_current_and_earlier_protocol_versions_work() {
    let project = with_script("path\na\nb\n", ECHO);
    let mut client = Client::connect(&mut project.command(SERVER));
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": 1,
    });
    let found = client.request("server/discover", json!({"_meta": meta}));
    let versions = found["result"]["supportedVersions"].as_array().unwrap();
    for version in ["2026-07-28", "2025-11-25"] {
        assert!(versions.contains(&json!(version)), "{versions:?}");
    }
    let request = json!({"name": "spawn_agents_on_csv", "arguments": call(json!({})), "_meta": meta});
    let answer = client.request("tools/call", request);
    assert_eq!(
        answer["result"]["structuredContent"]["completed_items"], 2,
        "{answer}"
    );
    let notification = client.notifications.last().unwrap();
    assert_eq!(
        notification["params"]["message"],
        "2 of 2 done (0 failed), 0 running"
    );
    for version in ["2025-11-25", "2025-06-18"] {
        let mut client = Client::connect(&mut project.command(SERVER));
        assert_eq!(client.initialize(version)["protocolVersion"], version);
        let answer = client.call("spawn_agents_on_csv", call(json!({})));
        assert_eq!(answer["completed_items"], 2);
    }
}

#[test]
fn a_job_in_the_background_outlives_its_client() {
    // The worker waits for a file that only appears after the client is gone.
    let project = with_script(
        "path\na\n",
        &format!("while [ ! -e go ]; do sleep 0.05; done\n{ECHO}"),
    );
    let mut client = connect(&project);
    let started = client.call("spawn_agents_on_csv", call(json!({"background": true})));
    let job = json!({"job_id": started["job_id"], "timeout_ms": 0});
    assert_eq!(client.call("wait_agent_job", job)["timed_out"], true);
    assert_eq!(client.disconnect(), 0);
    project.write("go", "");
    let ended = connect(&project).call(
        "wait_agent_job",
        json!({"job_id": started["job_id"], "timeout_ms": 120_000}),
    );
    assert_eq!(
        (&ended["status"], &ended["timed_out"]),
        (&json!("completed"), &json!(false))
    );
    assert_eq!(output(&ended).1[0]["result_json"], r#"{"n":1}"#);
}

#[test]
fn a_job_is_cancelled_with_its_workers() {
    let project = with_script("path\na\nb\n", "echo $$ > pid-$WAVECREW_TASK; exec sleep 1000");
    let mut client = connect(&project);
    let started = client.call("spawn_agents_on_csv", call(json!({"background": true})));
    let pids = ["row-1", "row-2"].map(|row| (row, wait_for_line(&project, &format!("pid-{row}"))));
    let ended = client.call("cancel_agent_job", json!({"job_id": started["job_id"]}));
    assert_eq!(ended["status"], "cancelled");
    for (row, pid) in pids {
        assert!(!project.is_worker_alive(&pid), "{row} lives on");
    }
}

#[test]
fn an_abandoned_call_stops_and_can_be_resumed() {
    let script = format!(
        "[ \"$WAVECREW_TASK\" = row-1 ] || while [ ! -e go ]; do touch waiting; sleep 0.05; done\n{ECHO}"
    );
    let project = with_script("path\na\nb\n", &script);
    let mut client = connect(&project);
    client.send(
        "tools/call",
        json!({"name": "spawn_agents_on_csv", "arguments": call(json!({"max_workers": 1}))}),
    );
    project.wait_for_file("waiting");
    assert_eq!(client.disconnect(), 0);
    let job = project.session_id();
    let mut client = connect(&project);
    let stopped = client.call("wait_agent_job", json!({"job_id": job, "timeout_ms": 120_000}));
    assert_eq!(
        (&stopped["status"], &stopped["completed_items"]),
        (&json!("stopped"), &json!(1))
    );
    project.write("go", "");
    let ended = client.call("spawn_agents_on_csv", json!({"resume_job_id": job}));
    assert_eq!(
        (&ended["status"], &ended["completed_items"]),
        (&json!("completed"), &json!(2))
    );
    let attempts: Vec<String> = output(&ended)
        .1
        .iter()
        .map(|row| row["attempt_count"].clone())
        .collect();
    assert_eq!(attempts, ["1", "2"]);
}

#[test]
fn a_worker_may_stop_the_job_unless_the_caller_forbids_it() {
    let script = r#"[ "$WAVECREW_TASK" = row-1 ] && stop=true || stop=false
        echo "{\"item_id\":\"$WAVECREW_TASK\",\"result\":{},\"stop\":$stop}""#;
    for (allow, status, done) in [(true, "cancelled", 1), (false, "completed", 3)] {
        let project = with_script("path\nsrc/a\nsrc/b\nsrc/c\n", script);
        let answer = connect(&project).call(
            "spawn_agents_on_csv",
            call(json!({"max_workers": 1, "allow_stop": allow, "id_column": "path"})),
        );
        if allow {
            assert_eq!(answer["job_error"], "the worker of src/a stopped the job");
            assert!(
                (done..3).contains(&answer["completed_items"].as_u64().unwrap()),
                "{answer}"
            );
        } else {
            assert_eq!(answer["completed_items"], done);
        }
        assert_eq!(answer["status"], status);
    }
}

#[test]
fn two_conversations_at_once_do_not_disturb_each_other() {
    let project = with_script("path\na\nb\n", ECHO);
    let (mut one, mut two) = (connect(&project), connect(&project));
    let ask = |client: &mut Client| {
        client.send(
            "tools/call",
            json!({"name": "spawn_agents_on_csv", "arguments": call(json!({}))}),
        )
    };
    let (first, second) = (ask(&mut one), ask(&mut two));
    let answers =
        [one.answer(first), two.answer(second)].map(|answer| answer["result"]["structuredContent"].clone());
    assert_ne!(answers[0]["job_id"], answers[1]["job_id"]);
    assert_ne!(answers[0]["output_csv_path"], answers[1]["output_csv_path"]);
    for answer in &answers {
        assert_eq!(answer["completed_items"], 2, "{answer}");
    }
}

#[test]
fn inside_a_worker_only_worker_tools_exist() {
    let project = with_script(
        "path\na\n",
        r#"printf '%s\n' \
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"w","version":"0"}}}' \
        '{"jsonrpc":"2.0","method":"notifications/initialized"}' \
        '{"jsonrpc":"2.0","id":2,"method":"tools/list"}' \
        '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"report_agent_job_result","arguments":{"item_id":"row-1","result":{"ok":true}}}}' \
        > talk; (cat talk; while ! grep -q '"id":3' heard; do sleep 0.05; done) | wavecrew mcp > heard"#,
    );
    project.write("heard", "");
    let answer = connect(&project).call("spawn_agents_on_csv", call(json!({})));
    assert_eq!(answer["completed_items"], 1, "{answer}");
    let heard = project.text("heard");
    assert!(
        heard.contains("read_discoveries") && !heard.contains("spawn_agents_on_csv"),
        "{heard}"
    );
    assert_eq!(output(&answer).1[0]["result_json"], r#"{"ok":true}"#);
}

/// Waits for a whole line: a shell makes the file before it writes to it.
pub fn wait_for_line(sandbox: &Sandbox, name: &str) -> String {
    wait_for(name, || {
        let text = fs::read_to_string(sandbox.path(name)).ok()?;
        Some(text.split_once('\n')?.0.to_owned())
    })
}
