//! gemini: permissions by a policy file, MCP servers by a settings file. The system's settings file is neither the user's nor
//! the project's, and a variable sets its path. gemini reads it only if root owns it and nobody else may write the folders
//! above it; otherwise workers report in their final message. In its output, messages arrive in pieces, and a result with the
//! usage of the run ends it.

use serde_json::{Value, json};

use super::{AcpCommand, AgentCli, Facts, LoginFile, StatePlace};
use crate::launch::{Launch, Request, mcp_servers};
use crate::stream::tools::ToolArguments;
use crate::stream::{AgentEvent, FailKind, Failure, ParserState, UsageScope, owned, text, token_counts};

#[derive(Debug)]
pub struct Gemini;

static FACTS: Facts = Facts {
    name: "gemini",
    how_to_install: "npm install -g @google/gemini-cli",
    how_to_log_in: "run `gemini` once and choose a login, or set GEMINI_API_KEY",
    tested_version: Some("0.61.0"),
    key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"],
    login_files: &[LoginFile::new("GEMINI_CLI_HOME", ".gemini", "oauth_creds.json")],
    state: &[StatePlace::new(
        "GEMINI_CLI_HOME",
        ".gemini",
        "",
        "conversations to resume, its login, settings",
    )],
    acp: AcpCommand::Builtin("gemini --acp"),
    acp_variables: &VARIABLES,
    text_in_pieces: true,
    ..Facts::BASE
};

/// Without them it asks whether it may read the folder, and starts itself a second time with more memory, which takes seconds.
const VARIABLES: [(&str, &str); 2] = [
    ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
    ("GEMINI_CLI_NO_RELAUNCH", "true"),
];

/// Without a model, each run asks a router for one first.
const MODEL: &str = "gemini-2.5-pro";

impl AgentCli for Gemini {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn prepare(&self, request: &Request<'_>, launch: &mut Launch) {
        launch.args([
            "--model",
            request.model.unwrap_or(MODEL),
            "--output-format",
            "stream-json",
        ]);
        launch.args(["--approval-mode", "yolo"]);
        launch.conversation(request);
        launch.folders("--include-directories", request);
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
        launch.env(VARIABLES);
    }

    fn read(&self, value: &Value, state: &mut ParserState) {
        match text(value, "type") {
            "init" => state.started(text(value, "session_id"), owned(&value["model"]), None),
            "message" if value["role"] == "user" => {}
            "message" => {
                let piece = text(value, "content");
                if value["delta"] != true {
                    state.text.clear();
                }
                state.text.push_str(piece);
                state.push(AgentEvent::Text(piece.to_owned()));
            }
            "tool_use" => {
                // Text before a tool call is not the answer.
                state.text.clear();
                state.tool_start(
                    &TOOLS,
                    text(value, "tool_id"),
                    text(value, "tool_name"),
                    &value["parameters"],
                );
            }
            "tool_result" => {
                let output = match &value["error"]["message"] {
                    Value::Null => &value["output"],
                    message => message,
                };
                state.tool_end(text(value, "tool_id"), value["status"] == "success", None, output);
            }
            "error" => {
                let message = text(value, "message");
                state.trouble = Some(message.to_owned());
                state.retrying(Failure::new(None, message));
            }
            "result" => result(value, state),
            kind => state.unknown(kind),
        }
    }

    fn exit_failure(&self, code: i32) -> Option<FailKind> {
        match code {
            41 => Some(FailKind::Auth),
            53 => Some(FailKind::OwnLimit),
            // It exits with the HTTP status, of which the system keeps the low eight bits.
            17 => FailKind::of_status(529),
            144..=255 => u16::try_from(code + 256).ok().and_then(FailKind::of_status),
            _ => None,
        }
    }

    fn settings_warning<'a>(&self, stderr: &'a str) -> Option<&'a str> {
        let mut lines = stderr.lines();
        lines.find(|line| line.contains("Skipping system settings file"))
    }
}

const TOOLS: ToolArguments = ToolArguments {
    summary: &[
        "command",
        "file_path",
        "dir_path",
        "pattern",
        "query",
        "prompt",
        "description",
    ],
    writers: &[("write_file", "file_path"), ("replace", "file_path")],
};

fn result(value: &Value, state: &mut ParserState) {
    let keys = ["input_tokens", "cached", "output_tokens"];
    state.used(UsageScope::SinceLast, token_counts(&value["stats"], keys));
    if value["status"] == "success" {
        return state.answered();
    }
    let message = owned(&value["error"]["message"]).or_else(|| state.trouble.take());
    state.failed(Failure::new(
        None,
        &message.unwrap_or_else(|| "no reason given".to_owned()),
    ));
}
