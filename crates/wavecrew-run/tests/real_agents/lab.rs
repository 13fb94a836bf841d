//! A place for one real agent: a home, a project and a model service of its own.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;
use wavecrew_agents::cli::AgentCli;
use wavecrew_agents::launch::{Conversation, Launch, Request, Stdin};
use wavecrew_agents::stream::{
    AgentEvent, End, Expects, FailKind, Outcome, StreamParser, TurnSummary, UsageMeter, outcome,
};
use wavecrew_core::event::{StopReason, TokenUsage};
use wavecrew_test_support::fake_model::FakeModel;
use wavecrew_test_support::fake_model::client::{installed, point, private_folder};

pub const UUID: &str = "6f1c2a52-8f0e-4d0b-9d53-0f6f4d1c7a11";

/// A home, a project and a service of one agent's own.
pub struct Lab {
    pub cli: &'static dyn AgentCli,
    pub bin: PathBuf,
    pub model: FakeModel,
    pub root: TempDir,
    scratch: TempDir,
}

/// What a run of an agent came to.
pub struct Ran {
    pub events: Vec<AgentEvent>,
    pub summary: TurnSummary,
    pub end: End,
    pub stderr: String,
    pub cli: &'static dyn AgentCli,
}

impl Lab {
    pub fn new(cli: &'static dyn AgentCli) -> Option<Self> {
        let bin = installed()?;
        let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        for folder in ["home", "project", "tmp", "session"] {
            std::fs::create_dir(root.path().join(folder)).unwrap();
        }
        Some(Self {
            cli,
            bin,
            model: FakeModel::start().unwrap(),
            root,
            scratch: private_folder().unwrap(),
        })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// For the agent's settings files.
    pub fn scratch(&self) -> PathBuf {
        self.scratch.path().to_owned()
    }

    pub fn project(&self, name: &str) -> PathBuf {
        self.path("project").join(name)
    }

    pub fn run(&self, mode: &str, request: Request) -> Ran {
        self.run_at(&self.model.base(mode), request)
    }

    pub fn run_at(&self, base: &str, request: Request) -> Ran {
        let mut command = Command::new(self.bin.join(self.cli.name()));
        command.envs(point(self.cli.name(), base, &self.path("home")).unwrap());
        let launch = self.cli.launch(&request);
        let output = start(&mut command, &launch, self.root.path());
        let mut stream = StreamParser::new(self.cli);
        let lines = String::from_utf8(output.stdout).unwrap();
        let events: Vec<_> = lines.lines().flat_map(|line| stream.line(line)).collect();
        let mut summary = TurnSummary::default();
        for event in &events {
            summary.on(event);
        }
        let end = output.status.code().map_or(End::Signal(0), End::Exit);
        Ran {
            events,
            summary,
            end,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            cli: self.cli,
        }
    }

    /// A script line that writes a file of the project by the agent's own tool.
    pub fn write_line(&self, path: &Path) -> String {
        let path = path.display();
        match self.cli.name() {
            "codex" => format!(r#"@@tool exec_command {{"cmd":"echo hi > {path}"}}"#),
            "claude" => format!(r#"@@tool Write {{"file_path":"{path}","content":"hi"}}"#),
            "gemini" | "qwen" => {
                format!(r#"@@tool write_file {{"file_path":"{path}","content":"hi"}}"#)
            }
            "opencode" => format!(r#"@@tool write {{"filePath":"{path}","content":"hi"}}"#),
            other => unreachable!("{other} is not among the installed agents"),
        }
    }
}

impl Ran {
    fn judged(&self, expects: Expects) -> Outcome {
        outcome(Some(self.cli), &self.summary, self.end, expects, &self.stderr)
    }

    /// Fails the test with everything the agent said unless it ended so.
    #[track_caller]
    pub fn ends(&self, expects: Expects, reason: StopReason) -> Option<FailKind> {
        let judged = self.judged(expects);
        assert_eq!(
            judged.reason, reason,
            "{judged:?}\n{:?}\n{:#?}\n{}",
            self.end, self.events, self.stderr
        );
        judged.failure.map(|failure| failure.kind)
    }

    pub fn answer(&self) -> &str {
        self.summary.answer.as_ref().map_or("", |(text, _)| text)
    }

    pub fn spent(&self, before: TokenUsage) -> (u64, TokenUsage) {
        let mut meter = UsageMeter::new(before);
        for event in &self.events {
            meter.on(event);
        }
        (meter.spent().output, meter.conversation())
    }
}

/// Starts the process with nothing inherited but what a shell needs, feeds and reads it.
fn start(command: &mut Command, launch: &Launch, root: &Path) -> Output {
    for (path, content) in &launch.files {
        std::fs::write(path, content).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    let kept: Vec<_> = command
        .get_envs()
        .map(|(k, v)| (k.to_owned(), v.map(ToOwned::to_owned)))
        .collect();
    command.env_clear();
    command.envs(
        kept.into_iter()
            .filter_map(|(name, value)| value.map(|value| (name, value))),
    );
    let mut child = command
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", root.join("home"))
        .env("TMPDIR", root.join("tmp"))
        .env("LANG", "C.UTF-8")
        .envs(launch.env.iter().map(|(name, value)| (name, value)))
        .args(&launch.args)
        .current_dir(root.join("project"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let Stdin::Text(text) = &launch.stdin else {
        panic!("these agents read one text")
    };
    stdin.write_all(text.as_bytes()).unwrap();
    drop(stdin);
    child.wait_with_output().unwrap()
}

/// A plain turn, to be changed by the test.
pub fn request<'a>(prompt: &'a str, scratch: &'a Path) -> Request<'a> {
    Request {
        conversation: Conversation::New { id: UUID },
        ..Request::new(prompt, Path::new("."), scratch)
    }
}
