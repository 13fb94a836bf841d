//! How each agent command line is started: its words, its environment, files it wants and what goes to its stdin.
//! Pure: builds a [`Launch`] and starts, writes and reads nothing. Secrets never become words of a command line,
//! which every user of the machine can read; they travel in the environment or in files of the private folder.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value, json};
use wavecrew_core::id::ExecMode;
use wavecrew_core::team::Access;

use super::interactive::InteractiveProtocol;

/// How long agents are to wait for a tool of ours: one of them asks people. Where nothing is set, they wait longer.
pub(crate) const TOOL_PATIENCE: Duration = Duration::from_mins(4);

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
    /// ASCII letters and digits only: it becomes part of the tools' names. goose takes the name of the program instead.
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
    /// Whether it is talked to once or held open.
    pub mode: ExecMode,
    /// What of the project its role may change. Agents know "nothing" and "files here"; the engine checks the rest.
    pub access: Access,
    pub model: Option<&'a str>,
    pub mcp: Option<&'a McpServer>,
    /// The JSON Schema of the last message, for agents that take one ([`Features::schema`](crate::cli::Features::schema)).
    pub schema: Option<&'a Value>,
    pub conversation: Conversation<'a>,
    /// The working folder.
    pub project: &'a Path,
    /// An empty folder of this worker that nobody else reads, outside of the project.
    pub scratch: &'a Path,
    /// Folders besides the working folder that it may write, whatever its access: the session's own.
    pub folders: &'a [PathBuf],
    /// Words that the user's configuration adds.
    pub extra: &'a [String],
}

impl Request<'_> {
    pub(crate) fn writes_project(&self) -> bool {
        match self.access {
            Access::ReadOnly => false,
            Access::Tests | Access::Docs | Access::Source => true,
        }
    }

    /// Whether it needs tools that write at all. Most agents cannot fence them in to some folders.
    pub(crate) fn writes(&self) -> bool {
        self.writes_project() || !self.folders.is_empty()
    }
}

/// What a process gets to read.
#[derive(Debug)]
pub enum Stdin {
    /// This, and then its end: agents wait on an open one for ever.
    Text(String),
    /// It stays open, and what comes through it is agreed on by talking.
    Interactive(Box<dyn InteractiveProtocol>),
}

/// Everything needed to start a process.
#[derive(Debug)]
pub struct Launch {
    /// A path, or a name that is looked up on `PATH`.
    pub program: String,
    pub args: Vec<String>,
    /// Added to the inherited environment.
    pub env: Vec<(String, String)>,
    /// Written, readable by the user alone, before the start.
    pub files: Vec<(PathBuf, String)>,
    pub stdin: Stdin,
}

impl Launch {
    pub(crate) fn args<const N: usize>(&mut self, words: [&str; N]) {
        self.args.extend(words.map(str::to_owned));
    }

    pub(crate) fn env<const N: usize>(&mut self, variables: [(&str, &str); N]) {
        self.env
            .extend(variables.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    /// Adds a file to the scratch folder and returns its path as a word.
    pub(crate) fn file(&mut self, request: &Request, name: &str, content: String) -> String {
        let path = request.scratch.join(name);
        let word = path.to_string_lossy().into_owned();
        self.files.push((path, content));
        word
    }
}

/// The configuration of an MCP server in the form that most agents share.
pub(crate) fn mcp_servers(server: &McpServer) -> Value {
    let mut entry = json!({ "command": server.command, "args": server.args });
    if !server.env.is_empty() {
        entry["env"] = environment(server);
    }
    json!({ &server.name: entry })
}

pub(crate) fn environment(server: &McpServer) -> Value {
    let pairs = server
        .env
        .iter()
        .map(|(name, value)| (name.clone(), Value::from(value.as_str())));
    Value::Object(pairs.collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{self, AgentCli, Claude, Codex, Gemini, Goose, Opencode, Qwen};

    const PROMPT: &str = "do it";

    fn with<'a>(cli: &dyn AgentCli, change: impl FnOnce(&mut Request<'a>)) -> Launch {
        let mut request = Request {
            prompt: PROMPT,
            mode: ExecMode::CsvWave,
            access: Access::Source,
            model: None,
            mcp: None,
            schema: None,
            conversation: Conversation::New { id: "conversation-1" },
            project: Path::new("/project"),
            scratch: Path::new("/scratch"),
            folders: &[],
            extra: &[],
        };
        change(&mut request);
        cli.launch(&request)
    }

    fn has(launch: &Launch, words: &[&str]) -> bool {
        launch.args.windows(words.len()).any(|window| window == words)
    }

    #[test]
    fn prompts_and_secrets_are_on_no_command_line() {
        let server = McpServer {
            name: "wavecrew".into(),
            command: "/bin/wavecrew".into(),
            args: vec!["mcp".into(), "--worker".into()],
            env: vec![("WAVECREW_TOKEN".into(), "s3cret".into())],
        };
        let schema = json!({ "type": "object" });
        for cli in cli::ALL.iter().copied() {
            let launch = with(cli, |request| {
                request.mcp = Some(&server);
                request.schema = Some(&schema);
            });
            let words = launch.args.join(" ");
            assert!(
                !words.contains("s3cret") && !words.contains(PROMPT),
                "{}: {words}",
                cli.name()
            );
            assert!(matches!(&launch.stdin, Stdin::Text(text) if text == PROMPT));
            let known = |text: &String| text.contains("s3cret");
            let carried = launch
                .env
                .iter()
                .map(|(_, value)| value)
                .chain(launch.files.iter().map(|(_, text)| text));
            assert_eq!(carried.filter(|text| known(text)).count(), 1, "{}", cli.name());
            assert!(launch.files.iter().all(|(path, _)| path.starts_with("/scratch")));
        }
    }

    #[test]
    fn conversations_are_named_or_resumed() {
        let resumed: &[(&dyn AgentCli, &[&str])] = &[
            (&Codex, &["conversation-2", "-"]),
            (&Claude, &["--resume", "conversation-2"]),
            (&Gemini, &["--resume", "conversation-2"]),
            (&Qwen, &["--resume", "conversation-2"]),
            (&Opencode, &["--session", "conversation-2"]),
            (&Goose, &["--name", "conversation-2", "--resume"]),
        ];
        for (cli, words) in resumed {
            let launch = with(*cli, |request| {
                request.conversation = Conversation::Resume { id: "conversation-2" }
            });
            assert!(has(&launch, words), "{}: {:?}", cli.name(), launch.args);
        }
        let named = |cli| has(&with(cli, |_| {}), &["--session-id", "conversation-1"]);
        assert_eq!(
            cli::ALL.iter().copied().map(named).collect::<Vec<_>>(),
            [false, true, true, true, false, false]
        );
    }

    #[test]
    fn claude_is_held_open_for_interactive_work() {
        let launch = with(&Claude, |request| request.mode = ExecMode::Interactive);
        let words = [
            "--input-format",
            "stream-json",
            "--permission-prompt-tool",
            "stdio",
        ];
        assert!(has(&launch, &words), "{:?}", launch.args);
        assert!(matches!(launch.stdin, Stdin::Interactive(_)));
    }

    #[test]
    fn the_user_has_the_last_word() {
        let extra = ["--flag".to_owned()];
        for cli in cli::ALL.iter().copied() {
            let launch = with(cli, |request| {
                request.extra = &extra;
                request.model = Some("model-1");
            });
            assert_eq!(launch.args.last(), Some(&extra[0]), "{}", cli.name());
            assert!(has(&launch, &["--model", "model-1"]), "{}", cli.name());
        }
    }

    #[test]
    fn access_becomes_the_permissions_of_the_agent() {
        let read_only = |cli| with(cli, |request| request.access = Access::ReadOnly);
        assert!(has(&read_only(&Codex), &["-c", "sandbox_mode=\"read-only\""]));
        assert!(has(
            &with(&Codex, |_| {}),
            &["-c", "sandbox_mode=\"workspace-write\""]
        ));
        assert!(has(&read_only(&Claude), &["--permission-mode", "dontAsk"]));
        assert!(has(&read_only(&Qwen), &["--exclude-tools", "write_file"]));
        assert!(read_only(&Gemini).files[0].1.contains("write_file"));
        assert!(read_only(&Opencode).env[0].1.contains(r#""edit":"deny""#));

        let folders = [PathBuf::from("/session")];
        let launch = with(&Claude, |request| {
            request.access = Access::ReadOnly;
            request.folders = &folders;
        });
        assert!(
            has(&launch, &["--allowedTools", "Edit(//session/**)"]),
            "{:?}",
            launch.args
        );
    }
}
