//! goose: reads the prompt from stdin (`-i -`), names sessions as we choose, and names an MCP server after its program. It
//! has no read-only mode, so every role gets the same tools. Its output has the messages of both sides and ends with a line
//! about the usage.

use serde_json::Value;

use super::{AcpCommand, AgentCli, Facts, Features, LoginFile, StatePlace};
use crate::launch::{Conversation, Launch, Request};
use crate::stream::tools::ToolArguments;
use crate::stream::{Failure, ParserState, UsageScope, items, text, token_counts};

#[derive(Debug)]
pub struct Goose;

static FACTS: Facts = Facts {
    name: "goose",
    how_to_install: "see https://block.github.io/goose for an installer",
    how_to_log_in: "run `goose configure`",
    features: Features {
        read_only: false,
        ..Features::BASE
    },
    key_variables: &["GOOSE_PROVIDER"],
    login_files: &[LoginFile::new("XDG_CONFIG_HOME", ".config", "goose/config.yaml")],
    state: &[
        StatePlace::new("XDG_CONFIG_HOME", ".config", "goose", "its settings and login"),
        StatePlace::new(
            "XDG_DATA_HOME",
            ".local/share",
            "goose",
            "conversations to resume",
        ),
        StatePlace::new("XDG_STATE_HOME", ".local/state", "goose", "logs and history"),
    ],
    acp: AcpCommand::Builtin("goose acp"),
    ..Facts::BASE
};

impl AgentCli for Goose {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn prepare(&self, request: &Request<'_>, launch: &mut Launch) {
        launch.args([
            "run",
            "-q",
            "--output-format",
            "stream-json",
            "--with-builtin",
            "developer",
        ]);
        match request.conversation {
            Conversation::New { id } => launch.args(["--name", id]),
            Conversation::Resume { id } => launch.args(["--name", id, "--resume"]),
        }
        launch.option("--model", request.model);
        if let Some(server) = request.mcp {
            let command = shlex::try_join(server.command_line()).unwrap_or_else(|_| server.command.clone());
            launch.args(["--with-extension", &command]);
            launch.env.extend_from_slice(&server.env);
        }
        launch.args(["-i", "-"]);
        launch.env([("GOOSE_MODE", "auto")]);
    }

    fn read(&self, value: &Value, state: &mut ParserState) {
        match text(value, "type") {
            "message" => items(&value["message"], "content")
                .iter()
                .for_each(|part| content(part, state)),
            "complete" => {
                let keys = ["input_tokens", "cache_read_input_tokens", "output_tokens"];
                state.used(UsageScope::Conversation, token_counts(value, keys));
                state.answered();
            }
            "error" => state.failed(Failure::new(None, text(value, "error"))),
            kind => state.unknown(kind),
        }
    }
}

const TOOLS: ToolArguments = ToolArguments {
    summary: &["command", "path", "query"],
    writers: &[("write", "path"), ("edit", "path")],
};

fn content(part: &Value, state: &mut ParserState) {
    let id = text(part, "id");
    match text(part, "type") {
        "text" => state.add_message(text(part, "text")),
        "toolRequest" => {
            let call = &part["toolCall"]["value"];
            state.tool_start(&TOOLS, id, text(call, "name"), &call["arguments"]);
        }
        "toolResponse" => {
            let result = &part["toolResult"];
            state.tool_end(
                id,
                result["status"] == "success" && result["value"]["isError"] != true,
                None,
                &result["value"]["content"],
            );
        }
        "thinking" => {}
        kind => state.unknown(kind),
    }
}
