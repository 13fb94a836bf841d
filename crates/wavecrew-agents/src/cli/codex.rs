//! codex: `exec --json`, with all settings by `-c`, because `exec resume` has no sandbox options. Its output is a thread of
//! items. An item of type `error` is a warning; only `turn.failed` fails a turn.

use serde_json::Value;

use super::{AcpCommand, AgentCli, Facts, Features, LoginFile, StatePlace};
use crate::agent::ResumeBy;
use crate::launch::{Conversation, Launch, McpServer, Request, TOOL_TIMEOUT};
use crate::stream::tools::{ToolArguments, brief};
use crate::stream::{AgentEvent, Failure, ParserState, UsageScope, items, text, token_counts};

#[derive(Debug)]
pub struct Codex;

static FACTS: Facts = Facts {
    name: "codex",
    how_to_install: "npm install -g @openai/codex",
    how_to_log_in: "run `codex login`, or set OPENAI_API_KEY",
    tested_version: Some("0.166.0"),
    features: Features {
        schema: true,
        ..Features::BASE
    },
    resume_by: ResumeBy::ItsId,
    key_variables: &["OPENAI_API_KEY", "CODEX_API_KEY"],
    login_files: &[
        LoginFile::new("CODEX_HOME", ".codex", "auth.json"),
        LoginFile::new("CODEX_HOME", ".codex", "config.toml"),
    ],
    state: &[StatePlace::new(
        "CODEX_HOME",
        ".codex",
        "",
        "conversations to resume, its login, logs",
    )],
    acp: AcpCommand::Program("codex-acp"),
    ..Facts::BASE
};

impl AgentCli for Codex {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn prepare(&self, request: &Request<'_>, launch: &mut Launch) {
        launch.args(["exec"]);
        if let Conversation::Resume { .. } = request.conversation {
            launch.args(["resume"]);
        }
        launch.args(["--json", "--skip-git-repo-check", "--disable", "multi_agent"]);
        set(launch, "approval_policy", &"never".into());
        let sandbox = if request.confined {
            "danger-full-access"
        } else if request.writes() {
            "workspace-write"
        } else {
            "read-only"
        };
        set(launch, "sandbox_mode", &sandbox.into());
        if !request.folders.is_empty() {
            let folders: Vec<_> = request
                .folders
                .iter()
                .map(|folder| folder.to_string_lossy())
                .collect();
            set(launch, "sandbox_workspace_write.writable_roots", &folders.into());
        }
        launch.option("--model", request.model);
        if let Some(server) = request.mcp {
            mcp(server, launch);
        }
        if let Conversation::Resume { id } = request.conversation {
            launch.args([id]);
        }
        // The prompt is on stdin.
        launch.args(["-"]);
    }

    fn read(&self, value: &Value, state: &mut ParserState) {
        match text(value, "type") {
            "thread.started" => state.started(text(value, "thread_id"), None, None),
            "turn.started" | "item.updated" => {}
            "item.started" => item(&value["item"], state, Phase::Started),
            "item.completed" => item(&value["item"], state, Phase::Completed),
            "turn.completed" => {
                let keys = ["input_tokens", "cached_input_tokens", "output_tokens"];
                state.used(UsageScope::Conversation, token_counts(&value["usage"], keys));
                state.answered();
            }
            // Comes before each retry and once more before `turn.failed`.
            "error" => state.retrying(Failure::new(None, text(value, "message"))),
            "turn.failed" => state.failed(Failure::new(None, text(&value["error"], "message"))),
            kind => state.unknown(kind),
        }
    }
}

fn mcp(server: &McpServer, launch: &mut Launch) {
    let mut option =
        |key: &str, value: &Value| set(launch, &format!("mcp_servers.{}.{key}", server.name), value);
    option("command", &server.command.as_str().into());
    option("args", &server.args.clone().into());
    // Without these, codex ignores a server that does not start, and asks a person about each call of its tools.
    option("required", &true.into());
    option("default_tools_approval_mode", &"approve".into());
    option("tool_timeout_sec", &TOOL_TIMEOUT.as_secs().into());
    if !server.env.is_empty() {
        let names: Vec<_> = server.env.iter().map(|(name, _)| name.clone()).collect();
        option("env_vars", &names.into());
        launch.env.extend_from_slice(&server.env);
    }
}

/// Strings, numbers, lists and booleans are the same in JSON and in TOML, which the option expects.
fn set(launch: &mut Launch, key: &str, value: &Value) {
    launch.args(["-c", &format!("{key}={value}")]);
}

const TOOLS: ToolArguments = ToolArguments {
    summary: &["command", "query"],
    writers: &[],
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Started,
    Completed,
}

fn item(item: &Value, state: &mut ParserState, phase: Phase) {
    let id = text(item, "id");
    let completed = phase == Phase::Completed;
    match text(item, "type") {
        "agent_message" if completed => state.add_message(text(item, "text")),
        "command_execution" if completed => {
            let code = item["exit_code"].as_i64();
            state.tool_end(id, code == Some(0), code, &item["aggregated_output"]);
        }
        "command_execution" => state.tool_start(&TOOLS, id, "shell", item),
        "mcp_tool_call" if completed => {
            let failed = !item["error"].is_null() || item["status"] == "failed";
            let output = match &item["error"]["message"] {
                Value::Null => &item["result"]["content"],
                message => message,
            };
            state.tool_end(id, !failed, None, output);
        }
        "mcp_tool_call" => {
            let name = format!("{}.{}", text(item, "server"), text(item, "tool"));
            state.push(AgentEvent::ToolStart {
                id: id.to_owned(),
                name,
                summary: brief(&item["arguments"].to_string()),
            });
        }
        "file_change" if completed && item["status"] != "failed" => {
            for change in items(item, "changes") {
                state.push(AgentEvent::FileChange {
                    path: text(change, "path").to_owned(),
                });
            }
        }
        "web_search" if completed => {
            state.tool_start(&TOOLS, id, "web_search", item);
            state.tool_end(id, true, None, &Value::Null);
        }
        "agent_message" | "file_change" | "web_search" | "reasoning" | "todo_list" | "error" => {}
        kind => state.unknown(kind),
    }
}
