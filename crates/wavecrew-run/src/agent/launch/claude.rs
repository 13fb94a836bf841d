//! claude: `-p` with its event stream, permissions settled by mode and lists so that nothing is left to ask.

use serde_json::json;

use super::super::claude_talk::ClaudeTalk;
use super::{Conversation, ExecMode, Launch, Request, Stdin, mcp_servers};

/// Tools that start other agents, ask a person, or leave something running behind.
const NEVER: &str = "Task,AskUserQuestion,EnterPlanMode,EnterWorktree,Workflow,CronCreate,ScheduleWakeup";
const WRITERS: &str = "Edit,Write,NotebookEdit";

pub(super) fn prepare(request: &Request, launch: &mut Launch) {
    launch.args(["-p", "--output-format", "stream-json", "--verbose"]);
    if request.mode == ExecMode::Interactive {
        launch.args(["--input-format", "stream-json"]);
        launch.stdin = Stdin::Spoken(Box::new(ClaudeTalk::new()));
    }
    match request.conversation {
        Conversation::New { id } => launch.args(["--session-id", id]),
        Conversation::Resume { id } => launch.args(["--resume", id]),
    }
    // What would be asked is denied, for nobody is there to answer. Bypassing all checks is refused for root.
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
        launch.args(["--permission-mode", "dontAsk"]);
    }
    let never = if request.writes() {
        NEVER.to_owned()
    } else {
        format!("{NEVER},{WRITERS}")
    };
    launch.args(["--disallowedTools", &never]);
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
