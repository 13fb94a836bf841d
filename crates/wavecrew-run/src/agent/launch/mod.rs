//! How each agent command line is started: its words, its environment, files it wants and what goes to its stdin.
//! Pure: builds a [`Launch`] and starts, writes and reads nothing. Secrets never become words of a command line,
//! which every user of the machine can read; they travel in the environment or in files of the private folder.

mod claude;
mod codex;
mod gemini;
mod goose;
mod opencode;
mod outer;
mod qwen;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

pub use outer::OUTER_MARKERS;

use super::Cli;

/// What the role of a worker may change. Agents know only "nothing" and "files here"; the engine checks the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    ReadOnly,
    Tests,
    Docs,
    Source,
}

impl Access {
    fn writes(self) -> bool {
        match self {
            Self::ReadOnly => false,
            Self::Tests | Self::Docs | Self::Source => true,
        }
    }
}

/// Which conversation a turn belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conversation<'a> {
    /// A new one. Its id is a UUID that agents with an option for it take over, so that it is known before the first
    /// event; the others name theirs in [`Started`](super::stream::AgentEvent::Started).
    New { id: &'a str },
    /// One that a former process began.
    Resume { id: &'a str },
}

/// A server of tools for the worker, spoken to over stdin and stdout.
#[derive(Debug, Clone)]
pub struct McpServer {
    /// ASCII letters and digits only: it becomes part of the tools' names.
    pub name: String,
    pub command: String,
    pub args: Vec<String>,
    /// For the server alone; may hold secrets.
    pub env: Vec<(String, String)>,
}

/// One turn of a worker.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    pub prompt: &'a str,
    pub access: Access,
    pub model: Option<&'a str>,
    pub mcp: Option<&'a McpServer>,
    /// The JSON Schema of the last message, for agents that take one ([`Cli::takes_schema`]).
    pub schema: Option<&'a Value>,
    pub conversation: Conversation<'a>,
    /// An empty folder of this worker that nobody else reads, outside of the project.
    pub scratch: &'a Path,
    /// Folders besides the working folder that it may use.
    pub folders: &'a [PathBuf],
    /// Words that the user's configuration adds.
    pub extra: &'a [String],
}

/// Everything needed to start a process. Its stdin gets `stdin` and is then closed: agents wait on an open one for ever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    pub program: &'static str,
    pub args: Vec<String>,
    /// Added to the inherited environment, from which [`OUTER_MARKERS`] are taken.
    pub env: Vec<(String, String)>,
    /// Written, readable by the user alone, before the start.
    pub files: Vec<(PathBuf, String)>,
    pub stdin: String,
}

/// Builds the start of one turn.
#[must_use]
pub fn launch(cli: Cli, request: &Request) -> Launch {
    let mut launch = Launch {
        program: cli.name(),
        args: Vec::new(),
        env: Vec::new(),
        files: Vec::new(),
        stdin: request.prompt.to_owned(),
    };
    match cli {
        Cli::Codex => codex::prepare(request, &mut launch),
        Cli::Claude => claude::prepare(request, &mut launch),
        Cli::Gemini => gemini::prepare(request, &mut launch),
        Cli::Qwen => qwen::prepare(request, &mut launch),
        Cli::Opencode => opencode::prepare(request, &mut launch),
        Cli::Goose => goose::prepare(request, &mut launch),
    }
    launch.args.extend_from_slice(request.extra);
    launch
}

impl Cli {
    /// Whether the agent can be made to answer in a schema.
    pub const fn takes_schema(self) -> bool {
        match self {
            Self::Codex | Self::Claude | Self::Qwen => true,
            Self::Gemini | Self::Opencode | Self::Goose => false,
        }
    }

    /// The name under which the model sees a tool of an MCP server, for use in instructions.
    pub fn mcp_tool(self, server: &str, tool: &str) -> String {
        match self {
            Self::Codex | Self::Claude | Self::Qwen => format!("mcp__{server}__{tool}"),
            Self::Gemini => format!("mcp_{server}_{tool}"),
            Self::Opencode => format!("{server}_{tool}"),
            Self::Goose => format!("{server}__{tool}"),
        }
    }
}

impl Launch {
    fn args<const N: usize>(&mut self, words: [&str; N]) {
        self.args.extend(words.map(str::to_owned));
    }

    fn env<const N: usize>(&mut self, variables: [(&str, &str); N]) {
        self.env
            .extend(variables.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    /// Adds a file to the scratch folder and returns its path as a word.
    fn file(&mut self, request: &Request, name: &str, content: &Value) -> String {
        let path = request.scratch.join(name);
        let word = path.to_string_lossy().into_owned();
        self.files.push((path, content.to_string()));
        word
    }
}

/// The configuration of an MCP server in the form that most agents share.
fn mcp_servers(server: &McpServer) -> Value {
    let mut entry = json!({ "command": server.command, "args": server.args });
    if !server.env.is_empty() {
        entry["env"] = environment(server);
    }
    json!({ &server.name: entry })
}

fn environment(server: &McpServer) -> Value {
    let pairs = server
        .env
        .iter()
        .map(|(name, value)| (name.clone(), Value::from(value.as_str())));
    Value::Object(pairs.collect::<Map<_, _>>())
}
