//! The server and the Python client of the protocol, which the project's script installs.

use crate::jobs::Project;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

#[test]
fn the_python_client_runs_a_table() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let installed = Command::new(root.join("../../scripts/install-mcp-client.sh"))
        .output()
        .unwrap();
    assert!(
        installed.status.success(),
        "{}",
        String::from_utf8_lossy(&installed.stderr)
    );
    let python = String::from_utf8(installed.stdout).unwrap();
    if python.trim().is_empty() {
        eprintln!("skipped: WAVECREW_SKIP_MCP_CLIENT is set");
        return;
    }
    let project = Project::new("path\na\nb\n", r#"echo '{"n": 4}'"#);
    let output = Command::new(python.trim())
        .arg(root.join("tests/mcp/client.py"))
        .args([env!("CARGO_BIN_EXE_wavecrew"), "command:./agent.sh"])
        .current_dir(project.path())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
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
