//! goose: the prompt from stdin by `-i -`, sessions under a name of our choice, MCP servers as extensions that are named
//! after their program. It has no read-only mode, so every role gets the same tools.

use serde_json::Value;

use super::{AcpCommand, AgentCli, Facts, Features, LoginFile};
use crate::agent::ResumeBy;
use crate::launch::{Conversation, Launch, Request};
use crate::stream::tools::ToolArguments;
use crate::stream::{AgentEvent, Failure, ParserState, Usage, UsageScope, items, text};

#[derive(Debug)]
pub struct Goose;

static FACTS: Facts = Facts {
    name: "goose",
    how_to_install: "see https://block.github.io/goose for an installer",
    how_to_log_in: "run `goose configure`",
    tested_version: None,
    features: Features {
        resume: true,
        mcp: true,
        schema: false,
        usage: true,
        cost: false,
        read_only: false,
    },
    resume_by: ResumeBy::OurId,
    key_variables: &["GOOSE_PROVIDER"],
    login_files: &[LoginFile {
        variable: "XDG_CONFIG_HOME",
        home_folder: ".config",
        file: "goose/config.yaml",
    }],
    acp: AcpCommand::Builtin("goose acp"),
    acp_variables: &[],
    text_in_pieces: false,
};

impl AgentCli for Goose {
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
        format!("{server}__{tool}")
    }
}

fn prepare(request: &Request, launch: &mut Launch) {
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
    if let Some(model) = request.model {
        launch.args(["--model", model]);
    }
    if let Some(server) = request.mcp {
        let words = std::iter::once(&server.command)
            .chain(&server.args)
            .map(String::as_str);
        let command = shlex::try_join(words).unwrap_or_else(|_| server.command.clone());
        launch.args(["--with-extension", &command]);
        launch.env.extend_from_slice(&server.env);
    }
    launch.args(["-i", "-"]);
    launch.env([("GOOSE_MODE", "auto")]);
}

// Its output: `goose run --output-format stream-json`: messages of two sides and a last line with the usage.

const TOOLS: ToolArguments = ToolArguments {
    summary: &["command", "path", "query"],
    writers: &[("write", "path"), ("edit", "path")],
};

fn read(value: &Value, state: &mut ParserState) {
    match text(value, "type") {
        "message" => items(&value["message"], "content")
            .iter()
            .for_each(|part| content(part, state)),
        "complete" => {
            let count = |key: &str| value[key].as_u64().unwrap_or(0);
            state.push(AgentEvent::Usage(Usage {
                scope: UsageScope::Conversation,
                input: count("input_tokens"),
                cached: count("cache_read_input_tokens"),
                output: count("output_tokens"),
                cost: None,
            }));
            state.answered(None);
        }
        "error" => state.failed(Failure::new(None, text(value, "error"))),
        kind => state.unknown(kind),
    }
}

fn content(part: &Value, state: &mut ParserState) {
    let id = text(part, "id");
    match text(part, "type") {
        "text" => state.says(text(part, "text")),
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
