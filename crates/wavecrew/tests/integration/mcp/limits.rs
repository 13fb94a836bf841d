//! Money, tokens and time that a call allows.

use crate::mcp::jobs::{call, connect, with_script};
use crate::mcp::rpc::Client;
use serde_json::{Value, json};
use wavecrew_test_support::sandbox::Sandbox;

/// Uses what costs half a dollar by these prices, and reports.
const SPENDS: &str = r#"echo '{"model":"m-1","input":1000,"output":500}' > "$WAVECREW_USAGE_FILE"
    echo "{\"id\":\"$WAVECREW_TASK\",\"status\":\"completed\"}""#;
const PRICES: &str = "[prices]\n\"m-1\" = { input = 100, output = 800 }\n";

fn project(settings: &str) -> Sandbox {
    let project = with_script("path\na\nb\nc\n", SPENDS);
    project.write("wavecrew.toml", format!("{PRICES}{settings}"));
    project.write("tasks.csv", "id,description\nA,do\nB,do\nC,do\n");
    project
}

/// A call with a progress token: its answer, and the last progress message.
fn call_with_progress(client: &mut Client, tool: &str, arguments: Value) -> (Value, String) {
    let meta = json!({"progressToken": 1});
    let request = json!({"name": tool, "arguments": arguments, "_meta": meta});
    let answer = client.request("tools/call", request);
    let last = client.notifications.last().unwrap()["params"]["message"].clone();
    (
        answer["result"]["structuredContent"].clone(),
        last.as_str().unwrap().to_owned(),
    )
}

#[test]
fn a_job_stops_at_its_limit_and_resumes_with_a_higher_one() {
    let project = project("");
    let mut client = connect(&project);
    let (stopped, last) = call_with_progress(
        &mut client,
        "spawn_agents_on_csv",
        call(json!({"max_cost": 1.0, "max_workers": 1})),
    );
    let job = stopped["job_id"].as_str().unwrap();
    assert_eq!(
        (&stopped["status"], &stopped["completed_items"]),
        (&json!("stopped"), &json!(2)),
        "{stopped}"
    );
    assert_eq!(
        stopped["job_error"],
        format!(
            "stopped at a limit: $1.00 of $1.00 is used; continue with resume_job_id {job} and max_cost 2.00"
        )
    );
    assert_eq!(last, "2 of 3 done (0 failed), 0 running, $1.00");
    let again = client.call("spawn_agents_on_csv", json!({"resume_job_id": job}));
    assert_eq!(again["status"], "stopped", "the limit stays in force: {again}");
    let done = client.call(
        "spawn_agents_on_csv",
        json!({"resume_job_id": job, "max_cost": 2.0}),
    );
    assert_eq!(
        (&done["status"], &done["completed_items"], &done["cost"]),
        (&json!("completed"), &json!(3), &json!(1.5)),
        "{done}"
    );
}

#[test]
fn project_limits_apply_to_jobs() {
    let project = project("[budget]\nmax_tokens = 1500\n");
    let stopped = connect(&project).call("spawn_agents_on_csv", call(json!({"max_workers": 1})));
    assert_eq!(stopped["completed_items"], 1, "{stopped}");
    let why = stopped["job_error"].as_str().unwrap();
    assert!(
        why.contains("1,500 of 1,500 tokens are used") && why.ends_with(" and max_tokens 3000"),
        "{why}"
    );
}

#[test]
fn a_limit_without_known_prices_is_reported() {
    let project = with_script("path\na\n", SPENDS);
    let done = connect(&project).call("spawn_agents_on_csv", call(json!({"max_cost": 1})));
    let note = done["notes"][0].as_str().unwrap();
    assert!(note.contains("The price of `m-1` is not known"), "{note}");
}

#[test]
fn a_team_stops_at_its_limit_and_resumes_with_a_higher_one() {
    let project = project("");
    let mut client = connect(&project);
    let (stopped, last) = call_with_progress(
        &mut client,
        "team_run",
        json!({"team": "tasks.csv", "max_cost": 1, "max_workers": 1}),
    );
    let session = stopped["session"].as_str().unwrap();
    assert_eq!(
        (&stopped["exit"], &stopped["counts"]["completed"]),
        (&json!(3), &json!(2)),
        "{stopped}"
    );
    assert_eq!(
        stopped["ending"]["go_on"],
        format!("team_continue with session {session} and max_cost 2.00")
    );
    assert_eq!(last, "2 of 3 done (0 failed), 0 running, $1.00");
    let (done, last) = call_with_progress(
        &mut client,
        "team_continue",
        json!({"session": session, "max_cost": 2}),
    );
    assert_eq!(
        (&done["exit"], &done["counts"]["completed"]),
        (&json!(0), &json!(3))
    );
    assert_eq!(last, "3 of 3 done (0 failed), 0 running, $1.50");
}

#[test]
fn limits_that_allow_nothing_are_refused() {
    let project = project("");
    let mut client = connect(&project);
    for (limit, why) in [
        (json!({"max_cost": 0}), "max_cost must be > 0"),
        (json!({"max_tokens": 0}), "max_tokens must be >= 1"),
        (json!({"max_time_seconds": 0}), "max_time_seconds must be >= 1"),
        (json!({"max_costs": 1}), "unknown field `max_costs`"),
    ] {
        let error = client.tool_error("spawn_agents_on_csv", call(limit.clone()));
        assert!(error.contains(why), "{limit}: {error}");
        let mut run = limit.clone();
        run["team"] = json!("tasks.csv");
        let error = client.tool_error("team_run", run);
        assert!(error.contains(why), "{limit}: {error}");
    }
    assert!(!project.path(".workflow").exists());
}
