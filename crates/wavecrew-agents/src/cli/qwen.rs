//! qwen: much like claude on the command line and in its output. Its MCP tools hide behind a search tool unless it is
//! configured otherwise.

use serde_json::{Value, json};

use super::{AcpCommand, AgentCli, Facts, Features, LoginFile};
use crate::agent::ResumeBy;
use crate::launch::{Conversation, Launch, Request, mcp_servers};
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
        resume: true,
        mcp: true,
        schema: true,
        usage: true,
        cost: false,
        read_only: true,
    },
    resume_by: ResumeBy::OurId,
    key_variables: &["OPENAI_API_KEY", "DASHSCOPE_API_KEY"],
    login_files: &[LoginFile {
        variable: "QWEN_HOME",
        home_folder: ".qwen",
        file: "oauth_creds.json",
    }],
    acp: AcpCommand::Builtin("qwen --acp"),
    acp_variables: &[],
    text_in_pieces: false,
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
    structured: "structured_result",
};

impl AgentCli for Qwen {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn prepare(&self, request: &Request<'_>, launch: &mut Launch) {
        prepare(request, launch);
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

fn prepare(request: &Request, launch: &mut Launch) {
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
