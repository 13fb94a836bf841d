//! qwen: its arguments and its output resemble those of claude. By default the model has to search for MCP tools; a setting
//! loads them at once.

use serde_json::{Value, json};

use super::{AcpCommand, AgentCli, Facts, Features, LoginFile, StatePlace};
use crate::launch::{Launch, Request, mcp_servers};
use crate::stream::stream_json::{self, Dialect, SUMMARY};
use crate::stream::tools::ToolArguments;
use crate::stream::{FailKind, ParserState};

#[derive(Debug)]
pub struct Qwen;

static FACTS: Facts = Facts {
    name: "qwen",
    how_to_install: "npm install -g @qwen-code/qwen-code",
    how_to_log_in: "run `qwen` once and choose a login, or set OPENAI_API_KEY",
    tested_version: Some("0.24.4"),
    features: Features {
        schema: true,
        ..Features::BASE
    },
    key_variables: &["OPENAI_API_KEY", "DASHSCOPE_API_KEY"],
    login_files: &[LoginFile::new("QWEN_HOME", ".qwen", "oauth_creds.json")],
    state: &[StatePlace::new(
        "QWEN_HOME",
        ".qwen",
        "",
        "conversations to resume, its login, settings",
    )],
    acp: AcpCommand::Builtin("qwen --acp"),
    ..Facts::BASE
};

static DIALECT: Dialect = Dialect {
    tools: ToolArguments {
        summary: &SUMMARY,
        writers: &[
            ("write_file", "file_path"),
            ("edit", "file_path"),
            ("notebook_edit", "notebook_path"),
        ],
    },
    version: "qwen_code_version",
};

impl AgentCli for Qwen {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn prepare(&self, request: &Request<'_>, launch: &mut Launch) {
        launch.args(["--output-format", "stream-json", "--approval-mode", "yolo"]);
        launch.conversation(request);
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
        launch.folders("--include-directories", request);
        launch.option("--model", request.model);
        if let Some(server) = request.mcp {
            let mut servers = mcp_servers(server);
            servers[&server.name]["trust"] = true.into();
            servers[&server.name]["alwaysLoadTools"] = true.into();
            let file = launch.file(request, "mcp.json", json!({ "mcpServers": servers }).to_string());
            launch.args(["--mcp-config", &file]);
        }
        launch.env([("QWEN_CODE_SUPPRESS_YOLO_WARNING", "1")]);
    }

    fn read(&self, event: &Value, state: &mut ParserState) {
        stream_json::read(&DIALECT, event, state);
    }

    fn exit_failure(&self, code: i32) -> Option<FailKind> {
        match code {
            53 => Some(FailKind::OwnLimit),
            55 => Some(FailKind::OutOfTime),
            _ => None,
        }
    }
}
