//! gemini: MCP servers and tool lists come from settings files only; the system's file is the one that neither the
//! user's home nor the project owns, and a variable says where it is.

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
    let mut excluded = vec!["invoke_agent", "enter_plan_mode", "ask_user"];
    if !request.access.writes() {
        excluded.extend(["write_file", "replace", "run_shell_command"]);
    }
    let mut settings = json!({
        "general": { "enableAutoUpdate": false, "enableAutoUpdateNotification": false },
        "tools": { "exclude": excluded },
    });
    if let Some(server) = request.mcp {
        let mut servers = mcp_servers(server);
        servers[&server.name]["trust"] = true.into();
        settings["mcpServers"] = servers;
    }
    let file = launch.file(request, "gemini-settings.json", &settings);
    launch.env([
        ("GEMINI_CLI_SYSTEM_SETTINGS_PATH", &file),
        ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
        // Saves seconds: otherwise it starts itself a second time with more memory.
        ("GEMINI_CLI_NO_RELAUNCH", "true"),
    ]);
}
