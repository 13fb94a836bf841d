//! codex: everything by `-c`, because `exec resume` takes no sandbox options.

use serde_json::Value;

use super::{Conversation, Launch, McpServer, Request, TOOL_PATIENCE};

pub(super) fn prepare(request: &Request, launch: &mut Launch) {
    launch.args(["exec"]);
    if let Conversation::Resume { .. } = request.conversation {
        launch.args(["resume"]);
    }
    launch.args(["--json", "--skip-git-repo-check", "--disable", "multi_agent"]);
    set(launch, "approval_policy", &"never".into());
    let sandbox = if request.writes() {
        "workspace-write"
    } else {
        "read-only"
    };
    set(launch, "sandbox_mode", &sandbox.into());
    if !request.folders.is_empty() {
        let folders = request
            .folders
            .iter()
            .map(|folder| Value::from(folder.to_string_lossy()))
            .collect();
        set(
            launch,
            "sandbox_workspace_write.writable_roots",
            &Value::Array(folders),
        );
    }
    if let Some(model) = request.model {
        launch.args(["--model", model]);
    }
    if let Some(server) = request.mcp {
        mcp(server, launch);
    }
    if let Some(schema) = request.schema {
        let file = launch.file(request, "schema.json", schema.to_string());
        launch.args(["--output-schema", &file]);
    }
    if let Conversation::Resume { id } = request.conversation {
        launch.args([id]);
    }
    // The prompt is on stdin.
    launch.args(["-"]);
}

fn mcp(server: &McpServer, launch: &mut Launch) {
    let mut option =
        |key: &str, value: &Value| set(launch, &format!("mcp_servers.{}.{key}", server.name), value);
    option("command", &server.command.as_str().into());
    option("args", &server.args.clone().into());
    // Without these a server that does not start is ignored, and each call of its tools waits for a person.
    option("required", &true.into());
    option("default_tools_approval_mode", &"approve".into());
    option("tool_timeout_sec", &TOOL_PATIENCE.as_secs().into());
    if !server.env.is_empty() {
        let names: Vec<_> = server.env.iter().map(|(name, _)| name.clone()).collect();
        option("env_vars", &names.into());
        launch.env.extend_from_slice(&server.env);
    }
}

/// Strings, numbers, lists and booleans look the same in JSON and in the TOML that the option takes.
fn set(launch: &mut Launch, key: &str, value: &Value) {
    launch.args(["-c", &format!("{key}={value}")]);
}
