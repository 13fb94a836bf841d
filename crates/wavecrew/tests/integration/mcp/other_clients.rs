//! The server and clients of other makes, which the project's script installs.

use crate::mcp::jobs::with_script;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// How the client is started; nothing where these clients are passed over.
fn installed(client: &str) -> Option<PathBuf> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/install-mcp-clients.sh");
    let path = output_of(Command::new(script).arg(client));
    if path.trim().is_empty() {
        eprintln!("skipped: WAVECREW_SKIP_MCP_CLIENT is set");
        return None;
    }
    Some(path.trim().into())
}

/// What a command printed; it has to succeed.
fn output_of(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_python_client_runs_a_table() {
    let Some(python) = installed("python") else { return };
    let project = with_script("path\na\nb\n", r#"echo '{"n": 4}'"#);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/integration/mcp/client.py");
    let printed = output_of(
        Command::new(python)
            .arg(script)
            .args([env!("CARGO_BIN_EXE_wavecrew"), "command:./agent.sh"])
            .current_dir(project.project()),
    );
    let seen: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(seen["server"], "wavecrew");
    let tools = seen["tools"].as_array().unwrap();
    for name in [
        "spawn_agents_on_csv",
        "wait_agent_job",
        "cancel_agent_job",
        "spawn_agent",
        "team_run",
    ] {
        assert!(tools.contains(&json!(name)), "{name} is missing in {tools:?}");
    }
    assert_eq!(seen["done"]["completed_items"], 2, "{seen}");
    assert_eq!(seen["wrong"], true);
    assert_eq!(seen["progress"], json!([2.0, 2.0]));
}

/// The protocol's own inspector, run by the node that comes with the agents.
#[test]
fn the_inspector_runs_a_table() {
    let (Some(entry), Some(bin)) = (
        installed("inspector"),
        wavecrew_test_support::fake_model::client::installed(),
    ) else {
        return;
    };
    let project = with_script("path\na\nb\n", "exit 1");
    let inspect = |words: &[&str]| -> Value {
        let printed = output_of(
            Command::new(bin.join("node"))
                .arg(&entry)
                .args(["--cli", env!("CARGO_BIN_EXE_wavecrew"), "mcp"])
                .args(["--agent", "command:echo '{\"n\":4}'"])
                .args(words)
                .current_dir(project.project()),
        );
        serde_json::from_str(&printed).unwrap()
    };
    let listed = inspect(&["--method", "tools/list"]);
    let names: Vec<&str> = listed["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert!(
        names.contains(&"spawn_agents_on_csv") && names.contains(&"team_answer"),
        "{names:?}"
    );
    let call = ["--method", "tools/call", "--tool-name", "spawn_agents_on_csv"];
    let arguments = [
        "--tool-arg",
        "csv_path=in.csv",
        "--tool-arg",
        "instruction=Count {path}",
    ];
    let done = inspect(&[&call[..], &arguments].concat());
    assert_eq!(done["structuredContent"]["completed_items"], 2, "{done}");
    let prompts = inspect(&["--method", "prompts/list"]);
    assert_eq!(prompts["prompts"][0]["name"], "testing");
    let resources = inspect(&["--method", "resources/list"]);
    assert!(
        resources["resources"][0]["uri"]
            .as_str()
            .unwrap()
            .starts_with("wavecrew://sessions/run-in-")
    );
}
