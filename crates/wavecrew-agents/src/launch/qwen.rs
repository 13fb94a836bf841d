//! qwen: much like claude on the command line; its MCP tools have to be told not to hide behind a search tool.

use serde_json::json;

use super::{Conversation, Launch, Request, mcp_servers};

pub(super) fn prepare(request: &Request, launch: &mut Launch) {
    launch.args(["--output-format", "stream-json", "--approval-mode", "yolo"]);
    match request.conversation {
        Conversation::New { id } => launch.args(["--session-id", id]),
        Conversation::Resume { id } => launch.args(["--resume", id]),
    }
    launch.args(["--exclude-tools", "agent", "--exclude-tools", "ask_user_question"]);
    if !request.writes() {
        for tool in [
            "write_file",
            "edit",
            "notebook_edit",
            "run_shell_command",
            "monitor",
        ] {
            launch.args(["--exclude-tools", tool]);
        }
    }
    for folder in request.folders {
        launch.args(["--include-directories", &folder.to_string_lossy()]);
    }
    if let Some(model) = request.model {
        launch.args(["--model", model]);
    }
    if let Some(server) = request.mcp {
        let mut servers = mcp_servers(server);
        servers[&server.name]["trust"] = true.into();
        servers[&server.name]["alwaysLoadTools"] = true.into();
        let file = launch.file(request, "mcp.json", json!({ "mcpServers": servers }).to_string());
        launch.args(["--mcp-config", &file]);
    }
    if let Some(schema) = request.schema {
        let file = launch.file(request, "schema.json", schema.to_string());
        launch.args(["--json-schema", &format!("@{file}")]);
    }
    launch.env([("QWEN_CODE_SUPPRESS_YOLO_WARNING", "1")]);
}
