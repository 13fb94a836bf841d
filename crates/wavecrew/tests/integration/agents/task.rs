//! One task for one real agent, through `wavecrew run`.

use serde_json::Value;
use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use wavecrew_process::sandbox::Support;
use wavecrew_test_support::sandbox::{AgentSandbox, Outcome, Running, Words};

/// A value that must never be written down.
pub const SECRET: &str = "for-nobodys-eyes-4711";

/// A real agent in its sandbox.
pub struct Agent {
    sandbox: AgentSandbox,
    /// As the tests call it: `codex`, `acp_gemini`.
    pub id: &'static str,
}

impl Deref for Agent {
    type Target = AgentSandbox;

    fn deref(&self) -> &AgentSandbox {
        &self.sandbox
    }
}

/// The one task of a run: how it runs, and its script for the model service.
pub struct Task {
    mode: &'static str,
    description: String,
}

impl Task {
    pub fn one_shot(description: impl Into<String>) -> Self {
        Self {
            mode: "csv-wave",
            description: description.into(),
        }
    }

    pub fn interactive(description: impl Into<String>) -> Self {
        Self {
            mode: "interactive",
            description: description.into(),
        }
    }
}

impl Agent {
    pub fn new(id: &'static str) -> Option<Self> {
        Self::new_below(id, Path::new(env!("CARGO_TARGET_TMPDIR")))
    }

    /// With its home and its project below this folder.
    pub fn new_below(id: &'static str, folder: &Path) -> Option<Self> {
        let sandbox = AgentSandbox::new(id.strip_prefix("acp_").unwrap_or(id), folder)?;
        if Support::detect().missing().is_empty() {
            sandbox.write("wavecrew.toml", "sandbox = \"require\"\n");
        }
        Some(Self { sandbox, id })
    }

    /// Points the agent at another service.
    pub fn service(self, base: &str) -> Self {
        let sandbox = self.sandbox.service(base);
        Self { sandbox, ..self }
    }

    pub fn mode(self, mode: &str) -> Self {
        let base = self.model.base(mode);
        self.service(&base)
    }

    /// Without a folder for the settings files of agents.
    pub fn without_cache(self) -> Self {
        let sandbox = self.sandbox.without_cache();
        Self { sandbox, ..self }
    }

    /// As `--agent` takes it.
    pub fn name(&self) -> &'static str {
        match self.id {
            "acp_gemini" => "acp:gemini --acp --model gemini-2.5-pro",
            "acp_qwen" => "acp:qwen --acp",
            "acp_opencode" => "acp:opencode acp",
            name => name,
        }
    }

    /// Runs a task to its end; then no process may be left.
    pub fn run(&self, task: &Task, flags: impl Words) -> Outcome {
        let outcome = self.start(task, flags).wait();
        self.expect_no_processes();
        outcome
    }

    pub fn start(&self, task: &Task, flags: impl Words) -> Running {
        let description = task.description.replace('"', "\"\"");
        let table = format!("id,description,exec_mode\nA,\"{description}\",{}\n", task.mode);
        self.write("tasks.csv", table);
        let mut command = self.command(&["run", "tasks.csv", "-y", "--agent", self.name()]);
        self.spawn(command.args(flags.list()).env("PROBE_API_KEY", SECRET))
    }

    /// How the task ended.
    #[track_caller]
    pub fn finished(&self) -> Value {
        let finished = self.events("finished").into_iter().next();
        finished.unwrap_or_else(|| panic!("no end in {:#?}", self.journal()))
    }

    pub fn conversations(&self) -> Vec<String> {
        let id = |event: &Value| event["conversation"].as_str().unwrap().to_owned();
        self.events("conversing").iter().map(id).collect()
    }

    /// Fails unless the task ended for this reason.
    #[track_caller]
    pub fn expect_stop(&self, reason: &str) {
        let finished = self.finished();
        assert_eq!(finished["stop"], *reason, "{finished:#}\n{}", self.log());
    }

    /// Fails unless an attempt was postponed for this reason.
    #[track_caller]
    pub fn expect_postponed(&self, reason: &str) {
        let postponed = self.events("postponed");
        let stop = postponed.first().map(|event| &event["stop"]);
        assert_eq!(
            stop,
            Some(&Value::from(reason)),
            "{:#?}\n{}",
            self.journal(),
            self.log()
        );
    }

    /// The logs of all workers.
    pub fn log(&self) -> String {
        let logs = fs::read_dir(self.in_session("logs"))
            .into_iter()
            .flatten()
            .flatten();
        logs.map(|entry| fs::read_to_string(entry.path()).unwrap_or_default())
            .collect()
    }

    /// Every file of the session.
    pub fn session_files(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.session()];
        while let Some(folder) = folders.pop() {
            for path in fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()) {
                if path.is_dir() {
                    folders.push(path);
                } else {
                    found.push(path);
                }
            }
        }
        found
    }

    /// Notes what was seen, for the table in the documentation.
    pub fn note(&self, cell: &str, seen: &str) {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("seen").join(self.id);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(cell), format!("{seen}\n")).unwrap();
    }
}
