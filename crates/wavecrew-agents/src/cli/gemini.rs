//! gemini: permissions by a policy file. MCP servers come from settings files only; the system's is the one that is
//! neither the user's nor the project's, and a variable says where it is. gemini reads it only if root owns it and
//! nobody else may write the folders above. Where it does not, workers report by their last message, or speak ACP.

use serde_json::{Value, json};

use super::{AcpCommand, AgentCli, Facts, Features, LoginFile};
use crate::agent::ResumeBy;
use crate::launch::{Conversation, Launch, Request, mcp_servers};
use crate::stream::tools::ToolArguments;
use crate::stream::{AgentEvent, FailKind, Failure, ParserState, Usage, UsageScope, owned, text};

#[derive(Debug)]
pub struct Gemini;

static FACTS: Facts = Facts {
    name: "gemini",
    how_to_install: "npm install -g @google/gemini-cli",
    how_to_log_in: "run `gemini` once and choose a login, or set GEMINI_API_KEY",
    tested_version: Some("0.61.0"),
    features: Features {
        resume: true,
        mcp: true,
        schema: false,
        usage: true,
        cost: false,
        read_only: true,
    },
    resume_by: ResumeBy::OurId,
    key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"],
    login_files: &[LoginFile {
        variable: "GEMINI_CLI_HOME",
        home_folder: ".gemini",
        file: "oauth_creds.json",
    }],
    acp: AcpCommand::Builtin("gemini --acp"),
    acp_variables: &[
        // It would ask whether it may read the folder, and start itself a second time.
        ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
        ("GEMINI_CLI_NO_RELAUNCH", "true"),
    ],
    text_in_pieces: true,
};

impl AgentCli for Gemini {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn prepare(&self, request: &Request<'_>, launch: &mut Launch) {
        prepare(request, launch);
    }

    fn read(&self, event: &Value, state: &mut ParserState) {
        read(event, state);
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

    fn mcp_tool(&self, server: &str, tool: &str) -> String {
        format!("mcp_{server}_{tool}")
    }
}

/// A model by name: left to itself, each run asks a router first.
const MODEL: &str = "gemini-2.5-pro";

fn prepare(request: &Request, launch: &mut Launch) {
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

// Its output: `gemini -o stream-json`: messages arrive in pieces, a result with the run's usage ends it.

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

fn read(value: &Value, state: &mut ParserState) {
    match text(value, "type") {
        "init" => state.push(AgentEvent::Started {
            conversation: text(value, "session_id").to_owned(),
            model: owned(&value["model"]),
            version: None,
        }),
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
            // What was said before a call is not the answer.
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

fn result(value: &Value, state: &mut ParserState) {
    let count = |key: &str| value["stats"][key].as_u64().unwrap_or(0);
    state.push(AgentEvent::Usage(Usage {
        scope: UsageScope::SinceLast,
        input: count("input_tokens"),
        cached: count("cached"),
        output: count("output_tokens"),
        cost: None,
    }));
    if value["status"] == "success" {
        return state.answered(None);
    }
    let message = owned(&value["error"]["message"]).or_else(|| state.trouble.take());
    state.failed(Failure::new(
        None,
        &message.unwrap_or_else(|| "no reason given".to_owned()),
    ));
}
