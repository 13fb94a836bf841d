//! opencode: configuration in a variable, which overrides the user's and the project's files.

use std::time::Duration;

use serde_json::{Value, json};

use super::{AcpCommand, AgentCli, Facts, Features, LoginFile};
use crate::agent::ResumeBy;
use crate::launch::{Conversation, Launch, Request, TOOL_PATIENCE, environment};
use crate::stream::tools::ToolArguments;
use crate::stream::{AgentEvent, FailKind, Failure, ParserState, Usage, UsageScope, status, text};

#[derive(Debug)]
pub struct Opencode;

static FACTS: Facts = Facts {
    name: "opencode",
    how_to_install: "npm install -g opencode-ai",
    how_to_log_in: "run `opencode auth login`",
    tested_version: Some("1.18.33"),
    features: Features {
        resume: true,
        mcp: true,
        schema: false,
        usage: true,
        cost: false,
        read_only: true,
    },
    resume_by: ResumeBy::ItsId,
    key_variables: &["OPENCODE_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"],
    login_files: &[
        LoginFile {
            variable: "XDG_DATA_HOME",
            home_folder: ".local/share",
            file: "opencode/auth.json",
        },
        LoginFile {
            variable: "XDG_CONFIG_HOME",
            home_folder: ".config",
            file: "opencode/opencode.json",
        },
    ],
    acp: AcpCommand::Builtin("opencode acp"),
    acp_variables: &[(
        // It asks about nothing by itself, and nobody can answer the questions of its model.
        "OPENCODE_CONFIG_CONTENT",
        r#"{"autoupdate":false,"share":"disabled","permission":{"edit":"ask","bash":"ask","task":"deny","question":"deny"}}"#,
    )],
    text_in_pieces: false,
};

impl AgentCli for Opencode {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn prepare(&self, request: &Request<'_>, launch: &mut Launch) {
        prepare(request, launch);
    }

    fn read(&self, event: &Value, state: &mut ParserState) {
        read(event, state);
    }

    fn mcp_tool(&self, server: &str, tool: &str) -> String {
        format!("{server}_{tool}")
    }
}

fn prepare(request: &Request, launch: &mut Launch) {
    launch.args(["run", "--format", "json", "--auto"]);
    if let Conversation::Resume { id } = request.conversation {
        launch.args(["--session", id]);
    }
    if let Some(model) = request.model {
        launch.args(["--model", model]);
    }
    // What is denied stays denied under `--auto`; everything else is approved.
    let mut permission = json!({ "task": "deny", "question": "deny" });
    if !request.writes() {
        permission["edit"] = "deny".into();
        permission["bash"] = "deny".into();
    }
    let mut config = json!({ "autoupdate": false, "share": "disabled", "permission": permission });
    if let Some(server) = request.mcp {
        let command: Vec<_> = std::iter::once(&server.command).chain(&server.args).collect();
        let timeout = u64::try_from(TOOL_PATIENCE.as_millis()).unwrap_or(u64::MAX);
        let entry = json!({
            "type": "local", "command": command, "environment": environment(server), "enabled": true,
            "timeout": timeout,
        });
        config["mcp"] = json!({ &server.name: entry });
    }
    launch.env([
        ("OPENCODE_CONFIG_CONTENT", &config.to_string()),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
    ]);
}

// Its output: `opencode run --format json`: steps, each with its parts and usage. A tool call appears when it ends.

const TOOLS: ToolArguments = ToolArguments {
    summary: &[
        "command",
        "filePath",
        "path",
        "pattern",
        "query",
        "url",
        "description",
    ],
    writers: &[("write", "filePath"), ("edit", "filePath")],
};

fn read(value: &Value, state: &mut ParserState) {
    let session = text(value, "sessionID");
    if !session.is_empty() && state.conversation.as_deref() != Some(session) {
        state.conversation = Some(session.to_owned());
        state.push(AgentEvent::Started {
            conversation: session.to_owned(),
            model: None,
            version: None,
        });
    }
    let part = &value["part"];
    match text(value, "type") {
        "step_start" | "reasoning" => {}
        "text" => state.says(text(part, "text")),
        "tool_use" => {
            let (id, done) = (text(part, "callID"), &part["state"]);
            state.tool_start(&TOOLS, id, text(part, "tool"), &done["input"]);
            let code = done["metadata"]["exit"].as_i64();
            let ok = done["status"] == "completed" && code.unwrap_or(0) == 0;
            let output = if done["error"].is_null() {
                &done["output"]
            } else {
                &done["error"]
            };
            state.tool_end(id, ok, code, output);
            if text(done, "error").contains("rule which prevents you") {
                state.denied(id, text(part, "tool"));
            }
        }
        "step_finish" => step_finish(part, state),
        "error" => state.failed(failure(&value["error"])),
        kind => state.unknown(kind),
    }
}

/// What its service or it itself failed with.
fn failure(error: &Value) -> Failure {
    let data = &error["data"];
    let message = data["message"].as_str().unwrap_or_else(|| text(error, "name"));
    let wait = data["responseHeaders"]["retry-after"]
        .as_str()
        .and_then(|s| s.parse().ok());
    let failure = Failure::new(status(&data["statusCode"]), message);
    failure.after(wait.map(Duration::from_secs))
}

/// What one request used.
fn step_usage(part: &Value) -> Usage {
    let tokens = &part["tokens"];
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    let cached = count(&tokens["cache"]["read"]);
    Usage {
        scope: UsageScope::SinceLast,
        input: count(&tokens["input"]) + count(&tokens["cache"]["write"]) + cached,
        cached,
        output: count(&tokens["output"]) + count(&tokens["reasoning"]),
        // Models without a price cost 0 here, which is not the same as free.
        cost: part["cost"].as_f64().filter(|cost| *cost > 0.0),
    }
}

fn step_finish(part: &Value, state: &mut ParserState) {
    state.push(AgentEvent::Usage(step_usage(part)));
    match text(part, "reason") {
        "tool-calls" => {}
        "stop" => state.answered(None),
        "content-filter" => state.failed(Failure::of_kind(
            FailKind::Declined,
            "the model declined to answer",
        )),
        "length" => state.failed(Failure::of_kind(
            FailKind::OwnLimit,
            "the answer reached the model's output limit",
        )),
        // Seen when the answer breaks off: the step ends, without a reason to go on or to stop.
        reason => state.failed(Failure::of_kind(
            FailKind::Cut,
            &format!("the step ended with reason `{reason}`"),
        )),
    }
}
