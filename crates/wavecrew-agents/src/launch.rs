//! How to start the process of one turn: arguments, environment, files and stdin. Builds a [`Launch`] and does no I/O.
//! Secrets never become arguments, which every user of the machine can read; they go into the environment or into files of
//! the private folder.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value, json};
use wavecrew_core::id::ExecMode;
use wavecrew_core::team::Access;

use super::interactive::InteractiveProtocol;

/// How long agents wait for our tools, one of which asks a person. Agents without such a setting wait longer.
pub(crate) const TOOL_TIMEOUT: Duration = Duration::from_mins(4);

/// Which conversation a turn belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conversation<'a> {
    /// A new one. The id is a UUID for agents that let us choose it; the others report theirs in
    /// [`Started`](super::stream::AgentEvent::Started).
    New { id: &'a str },
    /// One that an earlier process started.
    Resume { id: &'a str },
}

/// An MCP server for the worker, over stdin and stdout.
#[derive(Debug, Clone)]
pub struct McpServer {
    /// ASCII letters and digits only: it becomes part of the tools' names. goose uses the name of the program instead.
    pub name: String,
    pub command: String,
    pub args: Vec<String>,
    /// For the server only; may contain secrets.
    pub env: Vec<(String, String)>,
}

impl McpServer {
    /// The program and its arguments.
    pub(crate) fn command_line(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.command)
            .chain(&self.args)
            .map(String::as_str)
    }
}

/// One turn of a worker.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    pub prompt: &'a str,
    pub mode: ExecMode,
    /// What its role may change in the project. Agents only distinguish "nothing" and "files here"; checks do the rest.
    pub access: Access,
    pub model: Option<&'a str>,
    pub mcp: Option<&'a McpServer>,
    pub conversation: Conversation<'a>,
    /// The working folder.
    pub project: &'a Path,
    /// The worker's private folder, outside the project.
    pub scratch: &'a Path,
    /// Folders that it may write besides the working folder, whatever its access: the session folder.
    pub folders: &'a [PathBuf],
    /// The guardian confines it: the agent needs no sandbox of its own, and could not make one inside of ours.
    pub confined: bool,
    /// Further arguments, from the person's settings.
    pub extra: &'a [String],
}

impl<'a> Request<'a> {
    /// One turn of a new conversation of a worker that may change the project, with nothing else set.
    pub fn new(prompt: &'a str, project: &'a Path, scratch: &'a Path) -> Self {
        Self {
            prompt,
            mode: ExecMode::CsvWave,
            access: Access::Source,
            model: None,
            mcp: None,
            conversation: Conversation::New { id: "" },
            project,
            scratch,
            folders: &[],
            confined: false,
            extra: &[],
        }
    }

    pub(crate) fn writes_project(&self) -> bool {
        may_change_project(self.access)
    }

    /// Whether it needs tools that write at all. Most agents cannot restrict them to some folders.
    pub(crate) fn writes(&self) -> bool {
        self.writes_project() || !self.folders.is_empty()
    }
}

pub(crate) fn may_change_project(access: Access) -> bool {
    match access {
        Access::ReadOnly => false,
        Access::Tests | Access::Docs | Access::Source => true,
    }
}

/// The stdin of a process.
#[derive(Debug)]
pub enum Stdin {
    /// This text, then the end: some agents read an open stdin for ever.
    Text(String),
    /// It stays open for the messages of a protocol.
    Interactive(Box<dyn InteractiveProtocol>),
}

/// Everything that is needed to start a process.
#[derive(Debug)]
pub struct Launch {
    /// A path, or a name to look up on `PATH`.
    pub program: String,
    pub args: Vec<String>,
    /// Added to the inherited environment.
    pub env: Vec<(String, String)>,
    /// To be written before the start, readable only by the user.
    pub files: Vec<(PathBuf, String)>,
    pub stdin: Stdin,
}

impl Launch {
    /// A program without arguments that reads `prompt` from stdin.
    pub fn new(program: &str, prompt: &str) -> Self {
        Self {
            program: program.to_owned(),
            args: Vec::new(),
            env: Vec::new(),
            files: Vec::new(),
            stdin: Stdin::Text(prompt.to_owned()),
        }
    }

    pub(crate) fn args<const N: usize>(&mut self, args: [&str; N]) {
        self.args.extend(args.map(str::to_owned));
    }

    pub(crate) fn option(&mut self, flag: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.args([flag, value]);
        }
    }

    /// The conversation, in the flags that most agents share.
    pub(crate) fn conversation(&mut self, request: &Request<'_>) {
        match request.conversation {
            Conversation::New { id } => self.args(["--session-id", id]),
            Conversation::Resume { id } => self.args(["--resume", id]),
        }
    }

    /// The folders outside the project, each with this flag.
    pub(crate) fn folders(&mut self, flag: &str, request: &Request<'_>) {
        for folder in request.folders {
            self.args([flag, &folder.to_string_lossy()]);
        }
    }

    pub(crate) fn env<const N: usize>(&mut self, variables: [(&str, &str); N]) {
        self.env
            .extend(variables.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    /// Adds a file to the scratch folder and returns its path.
    pub(crate) fn file(&mut self, request: &Request, name: &str, content: String) -> String {
        let path = request.scratch.join(name);
        let shown = path.to_string_lossy().into_owned();
        self.files.push((path, content));
        shown
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
    use crate::cli::claude::Claude;
    use crate::cli::codex::Codex;
    use crate::cli::gemini::Gemini;
    use crate::cli::goose::Goose;
    use crate::cli::opencode::Opencode;
    use crate::cli::qwen::Qwen;
    use crate::cli::{self, AgentCli};

    const PROMPT: &str = "do it";

    fn with<'a>(cli: &dyn AgentCli, change: impl FnOnce(&mut Request<'a>)) -> Launch {
        let mut request = Request::new(PROMPT, Path::new("/project"), Path::new("/scratch"));
        request.conversation = Conversation::New { id: "conversation-1" };
        change(&mut request);
        cli.launch(&request)
    }

    fn has(launch: &Launch, args: &[&str]) -> bool {
        launch.args.windows(args.len()).any(|window| window == args)
    }

    #[test]
    fn no_prompt_or_secret_is_an_argument() {
        let server = McpServer {
            name: "wavecrew".into(),
            command: "/bin/wavecrew".into(),
            args: vec!["mcp".into(), "--worker".into()],
            env: vec![("WAVECREW_TOKEN".into(), "s3cret".into())],
        };
        for cli in cli::ALL.iter().copied() {
            let launch = with(cli, |request| request.mcp = Some(&server));
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
    fn claude_keeps_its_stdin_open_for_an_interactive_task() {
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
    fn arguments_of_the_settings_come_last() {
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
