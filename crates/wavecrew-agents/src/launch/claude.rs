//! claude: `-p` with its event stream. One that is told once has its permissions settled by mode and lists, so that nothing
//! is left to ask; one that is held open asks us.

use serde_json::json;

use super::super::claude_talk::ClaudeTalk;
use super::{Conversation, ExecMode, Launch, Request, Stdin, mcp_servers};

/// Tools that start other agents, wait for a person's word, or leave something running behind.
const NEVER: &str = "Task,EnterPlanMode,EnterWorktree,Workflow,CronCreate,ScheduleWakeup";
const WRITERS: &str = "Edit,Write,NotebookEdit";

pub(super) fn prepare(request: &Request, launch: &mut Launch) {
    launch.args(["-p", "--output-format", "stream-json", "--verbose"]);
    let asks_us = request.mode == ExecMode::Interactive;
    if asks_us {
        launch.args([
            "--input-format",
            "stream-json",
            "--permission-prompt-tool",
            "stdio",
        ]);
        launch.stdin = Stdin::Spoken(Box::new(ClaudeTalk::new(request)));
    }
    match request.conversation {
        Conversation::New { id } => launch.args(["--session-id", id]),
        Conversation::Resume { id } => launch.args(["--resume", id]),
    }
    // Bypassing all checks is refused for root.
    let mut allowed: Vec<String> = request
        .mcp
        .iter()
        .map(|server| format!("mcp__{}", server.name))
        .collect();
    if request.writes_project() {
        allowed.push("Bash".to_owned());
        launch.args(["--permission-mode", "acceptEdits"]);
    } else {
        // One more slash marks the path as absolute.
        allowed.extend(
            request
                .folders
                .iter()
                .map(|folder| format!("Edit(/{}/**)", folder.display())),
        );
        // What would be asked is denied where nobody can answer.
        launch.args(["--permission-mode", if asks_us { "default" } else { "dontAsk" }]);
    }
    let mut never = vec![NEVER];
    if !asks_us {
        never.push("AskUserQuestion");
    }
    if !request.writes() {
        never.push(WRITERS);
    }
    launch.args(["--disallowedTools", &never.join(",")]);
    if !allowed.is_empty() {
        launch.args(["--allowedTools", &allowed.join(",")]);
    }
    for folder in request.folders {
        launch.args(["--add-dir", &folder.to_string_lossy()]);
    }
    if let Some(model) = request.model {
        launch.args(["--model", model]);
    }
    if let Some(server) = request.mcp {
        let file = launch.file(
            request,
            "mcp.json",
            json!({ "mcpServers": mcp_servers(server) }).to_string(),
        );
        launch.args(["--mcp-config", &file, "--strict-mcp-config"]);
    }
    if let Some(schema) = request.schema {
        launch.args(["--json-schema", &schema.to_string()]);
    }
    // Without the first, MCP tools hide behind a search tool.
    launch.env([("ENABLE_TOOL_SEARCH", "false"), ("DISABLE_AUTOUPDATER", "1")]);
}
