//! One turn of a real agent, launched and read as workers are.

use std::fs;
use std::ops::Deref;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use wavecrew_agents::cli::AgentCli;
use wavecrew_agents::launch::{Conversation, Request, Stdin};
use wavecrew_agents::stream::{
    AgentEvent, End, Expects, FailKind, Outcome, StreamParser, TurnSummary, UsageMeter, outcome,
};
use wavecrew_core::event::{StopReason, TokenUsage};
use wavecrew_test_support::sandbox::AgentSandbox;

pub const UUID: &str = "6f1c2a52-8f0e-4d0b-9d53-0f6f4d1c7a11";

/// An agent in its sandbox.
pub struct Agent {
    sandbox: AgentSandbox,
    cli: &'static dyn AgentCli,
}

impl Deref for Agent {
    type Target = AgentSandbox;

    fn deref(&self) -> &AgentSandbox {
        &self.sandbox
    }
}

/// The result of one turn.
pub struct Turn {
    pub events: Vec<AgentEvent>,
    pub summary: TurnSummary,
    pub end: End,
    pub stderr: String,
    cli: &'static dyn AgentCli,
}

impl Agent {
    pub fn new(cli: &'static dyn AgentCli) -> Option<Self> {
        let sandbox = AgentSandbox::new(cli.name(), Path::new(env!("CARGO_TARGET_TMPDIR")))?;
        fs::create_dir(sandbox.beside("session")).unwrap();
        Some(Self { sandbox, cli })
    }

    /// Runs a turn against this mode of the model service.
    pub fn run(&self, mode: &str, request: Request) -> Turn {
        self.run_at(&self.model.base(mode), request)
    }

    pub fn run_at(&self, base: &str, request: Request) -> Turn {
        let launch = self.cli.launch(&request);
        for (path, content) in &launch.files {
            fs::write(path, content).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
        }
        let Stdin::Text(text) = &launch.stdin else {
            panic!("these agents read one text")
        };
        let stdin = self.beside("stdin");
        fs::write(&stdin, text).unwrap();
        let mut command = Command::new(self.bin.join(self.cli.name()));
        self.prepare(&mut command);
        command
            .args(&launch.args)
            .envs(self.settings(base))
            .envs(launch.env.iter().map(|(name, value)| (name, value)))
            .stdin(fs::File::open(stdin).unwrap());
        let ended = self.spawn(&mut command).wait();
        let mut stream = StreamParser::new(self.cli);
        let events: Vec<_> = ended.stdout.lines().flat_map(|line| stream.line(line)).collect();
        let mut summary = TurnSummary::default();
        for event in &events {
            summary.on(event);
        }
        Turn {
            events,
            summary,
            end: ended.code.map_or(End::Signal(0), End::Exit),
            stderr: ended.stderr,
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

impl Turn {
    fn outcome(&self, expects: Expects) -> Outcome {
        outcome(Some(self.cli), &self.summary, self.end, expects, &self.stderr)
    }

    /// Fails unless the turn ended for this reason.
    #[track_caller]
    pub fn expect_end(&self, expects: Expects, reason: StopReason) -> Option<FailKind> {
        let outcome = self.outcome(expects);
        assert_eq!(
            outcome.reason, reason,
            "{outcome:?}\n{:?}\n{:#?}\n{}",
            self.end, self.events, self.stderr
        );
        outcome.failure.map(|failure| failure.kind)
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

/// A plain turn, to be changed by the test.
pub fn request<'a>(prompt: &'a str, scratch: &'a Path) -> Request<'a> {
    Request {
        conversation: Conversation::New { id: UUID },
        ..Request::new(prompt, Path::new("."), scratch)
    }
}
