//! claude: `-p` with `stream-json`. For a one-shot task, the permission mode and lists of tools decide everything, so that it
//! never asks; an interactive worker asks us.

mod interactive;

use interactive::ClaudeProtocol;
use serde_json::{Value, json};
use wavecrew_core::id::ExecMode;

use super::{AcpCommand, AgentCli, Facts, Features, LoginFile, StatePlace};
use crate::launch::{Launch, Request, Stdin, mcp_servers};
use crate::stream::ParserState;
use crate::stream::stream_json::{self, Dialect, SUMMARY};
use crate::stream::tools::ToolArguments;

#[derive(Debug)]
pub struct Claude;

static FACTS: Facts = Facts {
    name: "claude",
    how_to_install: "npm install -g @anthropic-ai/claude-code",
    how_to_log_in: "run `claude` and type /login, or set ANTHROPIC_API_KEY",
    tested_version: Some("2.1.325"),
    features: Features {
        schema: true,
        cost: true,
        ..Features::BASE
    },
    key_variables: &[
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CODE_USE_BEDROCK",
        "CLAUDE_CODE_USE_VERTEX",
    ],
    login_files: &[LoginFile::new(
        "CLAUDE_CONFIG_DIR",
        ".claude",
        ".credentials.json",
    )],
    state: &[
        StatePlace::new(
            "CLAUDE_CONFIG_DIR",
            ".claude",
            "",
            "conversations to resume, its login, settings",
        ),
        StatePlace::new(
            "",
            ".claude.json",
            "",
            "counts of starts and accepted terms; read at every start",
        ),
    ],
    acp: AcpCommand::Program("claude-agent-acp"),
    ..Facts::BASE
};

static DIALECT: Dialect = Dialect {
    tools: ToolArguments {
        summary: &SUMMARY,
        writers: &[
            ("Write", "file_path"),
            ("Edit", "file_path"),
            ("NotebookEdit", "notebook_path"),
        ],
    },
    version: "claude_code_version",
};

/// Tools that start other agents, wait for a person, or leave something running.
const NEVER: &str = "Task,EnterPlanMode,EnterWorktree,Workflow,CronCreate,ScheduleWakeup";
const WRITERS: &str = "Edit,Write,NotebookEdit";

impl AgentCli for Claude {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn prepare(&self, request: &Request<'_>, launch: &mut Launch) {
        launch.args(["-p", "--output-format", "stream-json", "--verbose"]);
        let asks_us = request.mode == ExecMode::Interactive;
        if asks_us {
            launch.args([
                "--input-format",
                "stream-json",
                "--permission-prompt-tool",
                "stdio",
            ]);
            launch.stdin = Stdin::Interactive(Box::new(ClaudeProtocol::new(request)));
        }
        launch.conversation(request);
        // claude refuses to bypass all checks for root.
        let mut allowed: Vec<String> = request
            .mcp
            .iter()
            .map(|server| format!("mcp__{}", server.name))
            .collect();
        if request.writes_project() {
            allowed.push("Bash".to_owned());
            launch.args(["--permission-mode", "acceptEdits"]);
        } else {
            // The second slash marks the path as absolute.
            allowed.extend(
                request
                    .folders
                    .iter()
                    .map(|folder| format!("Edit(/{}/**)", folder.display())),
            );
            // `dontAsk` denies what claude would have to ask about.
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
        launch.folders("--add-dir", request);
        launch.option("--model", request.model);
        if let Some(server) = request.mcp {
            let file = launch.file(
                request,
                "mcp.json",
                json!({ "mcpServers": mcp_servers(server) }).to_string(),
            );
            launch.args(["--mcp-config", &file, "--strict-mcp-config"]);
        }
        // Without the first, the model has to search for MCP tools.
        launch.env([("ENABLE_TOOL_SEARCH", "false"), ("DISABLE_AUTOUPDATER", "1")]);
    }

    fn read(&self, event: &Value, state: &mut ParserState) {
        stream_json::read(&DIALECT, event, state);
    }
}
