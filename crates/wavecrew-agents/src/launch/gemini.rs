//! gemini: permissions by a policy file. MCP servers come from settings files only; the system's is the one that is
//! neither the user's nor the project's, and a variable says where it is. gemini takes it only if root owns it and
//! nobody else may write the folders above, so other users' workers report by their last message, or speak ACP.

use serde_json::json;

use super::{Conversation, Launch, Request, mcp_servers};

/// A model by name: left to itself, each run asks a router first.
const MODEL: &str = "gemini-2.5-pro";

pub(super) fn prepare(request: &Request, launch: &mut Launch) {
    launch.args([
        "--model",
        request.model.unwrap_or(MODEL),
        "--output-format",
        "stream-json",
    ]);
    launch.args(["--approval-mode", "yolo"]);
    match request.conversation {
        Conversation::New { id } => launch.args(["--session-id", id]),
        Conversation::Resume { id } => launch.args(["--resume", id]),
    }
    for folder in request.folders {
        launch.args(["--include-directories", &folder.to_string_lossy()]);
    }
    let mut denied = vec!["invoke_agent", "enter_plan_mode", "ask_user"];
    if !request.writes() {
        denied.extend(["write_file", "replace", "run_shell_command"]);
    }
    let policy = format!(
        "[[rule]]\ntoolName = {}\ndecision = \"deny\"\npriority = 999\n",
        json!(denied)
    );
    let file = launch.file(request, "policy.toml", policy);
    launch.args(["--policy", &file]);
    if let Some(server) = request.mcp {
        let mut servers = mcp_servers(server);
        servers[&server.name]["trust"] = true.into();
        let file = launch.file(
            request,
            "settings.json",
            json!({ "mcpServers": servers }).to_string(),
        );
        launch.env([("GEMINI_CLI_SYSTEM_SETTINGS_PATH", &file)]);
    }
    launch.env([
        ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
        // Saves seconds: otherwise it starts itself a second time with more memory.
        ("GEMINI_CLI_NO_RELAUNCH", "true"),
    ]);
}
