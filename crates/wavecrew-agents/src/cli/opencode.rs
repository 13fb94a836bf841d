//! opencode: configured by a variable, which overrides the user's and the project's files. Its output has steps, each with its
//! parts and its usage. A tool call appears when it has ended.

use std::time::Duration;

use serde_json::{Value, json};
use wavecrew_core::event::TokenUsage;

use super::{AcpCommand, AgentCli, Facts, LoginFile, StatePlace};
use crate::agent::ResumeBy;
use crate::launch::{Conversation, Launch, Request, TOOL_TIMEOUT, environment};
use crate::stream::tools::ToolArguments;
use crate::stream::{FailKind, Failure, ParserState, UsageScope, status, text};

#[derive(Debug)]
pub struct Opencode;

static FACTS: Facts = Facts {
    name: "opencode",
    how_to_install: "npm install -g opencode-ai",
    how_to_log_in: "run `opencode auth login`",
    tested_version: Some("1.18.33"),
    resume_by: ResumeBy::ItsId,
    key_variables: &["OPENCODE_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"],
    login_files: &[
        LoginFile::new("XDG_DATA_HOME", ".local/share", "opencode/auth.json"),
        LoginFile::new("XDG_CONFIG_HOME", ".config", "opencode/opencode.json"),
    ],
    state: &[
        StatePlace::new(
            "XDG_DATA_HOME",
            ".local/share",
            "opencode",
            "conversations to resume, its login, logs",
        ),
        StatePlace::new(
            "XDG_CONFIG_HOME",
            ".config",
            "opencode",
            "plugins that it installs at the start",
        ),
        StatePlace::new(
            "XDG_STATE_HOME",
            ".local/state",
            "opencode",
            "locks between its processes",
        ),
        StatePlace::new(
            "XDG_CACHE_HOME",
            ".cache",
            "opencode",
            "the list of models, language servers",
        ),
    ],
    acp: AcpCommand::Builtin("opencode acp"),
    acp_variables: &[(
        // By default it asks for no permissions, and its model's questions could not be answered.
        "OPENCODE_CONFIG_CONTENT",
        r#"{"autoupdate":false,"share":"disabled","permission":{"edit":"ask","bash":"ask","task":"deny","question":"deny"}}"#,
    )],
    ..Facts::BASE
};

impl AgentCli for Opencode {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn prepare(&self, request: &Request<'_>, launch: &mut Launch) {
        launch.args(["run", "--format", "json", "--auto"]);
        if let Conversation::Resume { id } = request.conversation {
            launch.args(["--session", id]);
        }
        launch.option("--model", request.model);
        // What is denied stays denied under `--auto`; everything else is approved.
        let mut permission = json!({ "task": "deny", "question": "deny" });
        if !request.writes() {
            permission["edit"] = "deny".into();
            permission["bash"] = "deny".into();
        }
        let mut config = json!({ "autoupdate": false, "share": "disabled", "permission": permission });
        if let Some(server) = request.mcp {
            let command: Vec<&str> = server.command_line().collect();
            let timeout = u64::try_from(TOOL_TIMEOUT.as_millis()).unwrap_or(u64::MAX);
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

    fn read(&self, value: &Value, state: &mut ParserState) {
        let session = text(value, "sessionID");
        if !session.is_empty() && state.conversation.as_deref() != Some(session) {
            state.conversation = Some(session.to_owned());
            state.started(session, None, None);
        }
        let part = &value["part"];
        match text(value, "type") {
            "step_start" | "reasoning" => {}
            "text" => state.add_message(text(part, "text")),
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
}

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

/// The failure of its service, or its own.
fn failure(error: &Value) -> Failure {
    let data = &error["data"];
    let message = data["message"].as_str().unwrap_or_else(|| text(error, "name"));
    let wait = data["responseHeaders"]["retry-after"]
        .as_str()
        .and_then(|s| s.parse().ok());
    let failure = Failure::new(status(&data["statusCode"]), message);
    failure.after(wait.map(Duration::from_secs))
}

/// The usage of one request.
fn step_usage(part: &Value) -> TokenUsage {
    let tokens = &part["tokens"];
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    let cached = count(&tokens["cache"]["read"]);
    TokenUsage {
        input: count(&tokens["input"]) + count(&tokens["cache"]["write"]) + cached,
        cached,
        output: count(&tokens["output"]) + count(&tokens["reasoning"]),
        // 0 also stands for a model without a known price.
        cost: part["cost"].as_f64().filter(|cost| *cost > 0.0),
    }
}

fn step_finish(part: &Value, state: &mut ParserState) {
    state.used(UsageScope::SinceLast, step_usage(part));
    match text(part, "reason") {
        "tool-calls" => {}
        "stop" => state.answered(),
        "content-filter" => state.failed(Failure::of_kind(
            FailKind::Declined,
            "the model declined to answer",
        )),
        "length" => state.failed(Failure::of_kind(
            FailKind::OwnLimit,
            "the answer reached the model's output limit",
        )),
        // When the answer breaks off, the step ends with another reason.
        reason => state.failed(Failure::of_kind(
            FailKind::Cut,
            &format!("the step ended with reason `{reason}`"),
        )),
    }
}
