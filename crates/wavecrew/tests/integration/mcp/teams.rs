//! Teams, sessions, resources and prompts for clients.

use crate::mcp::jobs::{SERVER, connect, with_script};
use crate::mcp::rpc::{Client, VERSION};
use serde_json::{Value, json};
use wavecrew_test_support::sandbox::Sandbox;

const TABLE: &str = "id,description,deps\nA,do it,\nB,do more,A\n";
const REPORTS: &str = r#"echo "{\"id\":\"$WAVECREW_TASK\",\"status\":\"completed\",\"findings\":\"done\"}""#;

fn project(script: &str) -> Sandbox {
    let project = with_script("a\n1\n", script);
    project.write("tasks.csv", TABLE);
    project
}

#[test]
fn a_plan_is_shown_and_nothing_is_written() {
    let project = project(REPORTS);
    let mut client = connect(&project);
    let plan = client.call("team_plan", json!({"team": "tasks.csv"}));
    assert_eq!(
        (&plan["waves"], &plan["tasks"][1]["id"]),
        (&json!(2), &json!("B"))
    );
    let plan = client.call(
        "team_plan",
        json!({"team": "lifecycle", "request": "implement the parser"}),
    );
    assert_eq!(plan["pipeline"], "impl-only");
    assert!(!project.path(".workflow").exists());
    for (arguments, why) in [
        (json!({"team": "nobody"}), "nobody"),
        (json!({"team": "../tasks.csv"}), "failed to read"),
        (json!({"team": "/etc/passwd.csv"}), "failed to read"),
        (json!({"team": "--version"}), "--version"),
        (json!({}), "missing field `team`"),
    ] {
        let error = client.tool_error("team_plan", arguments.clone());
        assert!(error.contains(why), "{arguments}: {error}");
    }
}

#[test]
fn a_team_runs_and_its_session_can_be_read() {
    let project = project(&format!(
        "wavecrew discover finding '{{\"subject\":\"s\",\"description\":\"d\"}}' >&2\n{REPORTS}"
    ));
    let mut client = connect(&project);
    let done = client.call("team_run", json!({"team": "tasks.csv"}));
    assert_eq!(
        (&done["exit"], &done["counts"]["completed"]),
        (&json!(0), &json!(2)),
        "{done}"
    );
    let session = done["session"].as_str().unwrap().to_owned();
    let status = client.call("team_status", json!({"session": session}));
    assert_eq!(
        (&status["state"], &status["timed_out"]),
        (&json!("completed"), &json!(false))
    );
    let board = client.call("discoveries", json!({"session": session}));
    assert_eq!(
        (&board["total"], &board["discoveries"][0]["type"]),
        (&json!(1), &json!("finding"))
    );
    let sent = client.call("team_msg", json!({"session": session, "summary": "well done"}));
    assert_eq!(sent, json!({"accepted": true}));
    project.expect_read(".msg/messages.jsonl", "well done");

    let listed = client.request("resources/list", json!({}));
    let uris: Vec<&str> = listed["result"]["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|resource| resource["uri"].as_str().unwrap())
        .collect();
    let uri = |file: &str| format!("wavecrew://sessions/{session}/{file}");
    assert_eq!(
        uris,
        [uri("tasks.csv"), uri("context.md"), uri("discoveries.ndjson")]
    );
    let read = client.request("resources/read", json!({"uri": uri("tasks.csv")}));
    assert!(
        read["result"]["contents"][0]["text"]
            .as_str()
            .unwrap()
            .contains("\"do more\"")
    );
    for bad in [
        "wavecrew://sessions/x/tasks.csv",
        "wavecrew://sessions/../../x",
        "file:///etc/passwd",
    ] {
        let answer = client.request("resources/read", json!({"uri": bad}));
        assert!(answer["error"]["message"].is_string(), "{bad}: {answer}");
    }
}

#[test]
fn a_run_in_the_background_is_polled_and_continued() {
    let script = format!("[ \"$WAVECREW_TASK\" = B ] && [ ! -e go ] && exit 1\n{REPORTS}");
    let project = project(&script);
    let mut client = connect(&project);
    let started = client.call("team_run", json!({"team": "tasks.csv", "background": true}));
    let wait = json!({"session": started["session"], "timeout_ms": 120_000});
    assert_eq!(client.call("team_status", wait)["state"], "failed");
    project.write("go", "");
    let again = json!({"session": started["session"], "retry": true});
    let done = client.call("team_continue", again);
    assert_eq!(done["counts"]["completed"], 2, "{done}");
}

#[test]
fn a_question_is_answered_by_a_tool() {
    let project = project(&format!("[ -e go ] || exit 1\n{REPORTS}"));
    let mut client = connect(&project);
    let call = json!({"team": "tasks.csv", "background": true, "ask": true});
    let session = client.call("team_run", call)["session"]
        .as_str()
        .unwrap()
        .to_owned();
    let status = client.call("team_status", json!({"session": session, "timeout_ms": 120_000}));
    assert_eq!(
        status["question"]["options"],
        json!(["retry", "abort"]),
        "{status}"
    );
    let error = client.tool_error("team_answer", json!({"session": session, "answer": "maybe"}));
    assert!(error.contains("retry, abort"), "{error}");
    project.write("go", "");
    client.call("team_answer", json!({"session": session, "answer": "retry"}));
    let status = client.call("team_status", json!({"session": session, "timeout_ms": 120_000}));
    assert_eq!(status["state"], "completed", "{status}");
    let error = client.tool_error("team_answer", json!({"session": session, "answer": "retry"}));
    assert!(error.contains("no open question"), "{error}");
}

#[test]
fn a_question_is_put_to_clients_that_can_ask() {
    let project = project("exit 1");
    let mut client = Client::connect(&mut project.command(SERVER));
    client.initialize_with(VERSION, json!({"elicitation": {}}));
    let id = client.send(
        "tools/call",
        json!({"name": "team_run", "arguments": {"team": "tasks.csv"}}),
    );
    let asked = client.wait_for("elicitation/create");
    let options = &asked["params"]["requestedSchema"]["properties"]["answer"]["enum"];
    assert_eq!(*options, json!(["retry", "abort"]));
    let result = json!({"action": "accept", "content": {"answer": "abort"}});
    client.line(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}).to_string());
    let done = client.answer(id)["result"]["structuredContent"].clone();
    assert_eq!(
        (&done["exit"], &done["counts"]["failed"]),
        (&json!(1), &json!(1)),
        "{done}"
    );
}

#[test]
fn a_run_ends_with_its_call() {
    let project = project("echo $$ > pid; exec sleep 1000");
    let mut client = connect(&project);
    client.send(
        "tools/call",
        json!({"name": "team_run", "arguments": {"team": "tasks.csv"}}),
    );
    project.wait_for_file("pid");
    assert_eq!(client.disconnect(), 0);
    let mut client = connect(&project);
    let status = client.call("team_status", json!({"timeout_ms": 120_000}));
    assert_eq!(status["state"], "stopped", "{status}");
}

#[test]
fn prompts_start_the_built_in_teams() {
    let project = project(REPORTS);
    let mut client = connect(&project);
    let listed = client.request("prompts/list", json!({}));
    let names: Vec<&Value> = listed["result"]["prompts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|prompt| &prompt["name"])
        .collect();
    assert_eq!(names, ["testing", "lifecycle", "planex"]);
    let prompt = client.request(
        "prompts/get",
        json!({"name": "testing", "arguments": {"request": "cover the parser"}}),
    );
    let text = prompt["result"]["messages"][0]["content"]["text"]
        .as_str()
        .unwrap();
    assert!(
        text.contains("cover the parser") && text.contains("team_plan"),
        "{text}"
    );
    let missing = client.request("prompts/get", json!({"name": "testing"}));
    assert!(missing["error"]["message"].as_str().unwrap().contains("request"));
}
