//! A place for one real agent: a home, a project, a model service of its own, and `wavecrew` to run it.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use wavecrew_test_support::fake_model::FakeModel;
use wavecrew_test_support::fake_model::client::{installed, point, private_folder};

/// A value that must never be written down.
pub const SECRET: &str = "for-nobodys-eyes-4711";
/// Nothing here takes this long unless something hangs.
const PATIENCE: Duration = Duration::from_mins(4);

pub struct Lab {
    pub agent: &'static str,
    pub model: FakeModel,
    bin: PathBuf,
    root: TempDir,
    cache: TempDir,
}

/// One run of `wavecrew` on a table of one task.
pub struct Ran {
    pub code: Option<i32>,
    pub said: String,
    pub events: Vec<Value>,
    session: PathBuf,
}

impl Lab {
    pub fn new(agent: &'static str) -> Option<Self> {
        Self::new_below(agent, Path::new(env!("CARGO_TARGET_TMPDIR")))
    }

    /// With its home and its projects below this folder.
    pub fn new_below(agent: &'static str, folder: &Path) -> Option<Self> {
        let bin = installed()?;
        let root = tempfile::tempdir_in(folder).unwrap();
        for folder in ["home", "tmp"] {
            fs::create_dir(root.path().join(folder)).unwrap();
        }
        Some(Self {
            agent,
            model: FakeModel::start().unwrap(),
            bin,
            root,
            cache: private_folder().unwrap(),
        })
    }

    /// The program behind it.
    pub fn program(&self) -> &'static str {
        self.agent.strip_prefix("acp_").unwrap_or(self.agent)
    }

    /// What `--agent` calls it.
    pub fn name(&self) -> &'static str {
        match self.agent {
            "acp_gemini" => "acp:gemini --acp --model gemini-2.5-pro",
            "acp_qwen" => "acp:qwen --acp",
            "acp_opencode" => "acp:opencode acp",
            name => name,
        }
    }

    /// A project of its own, made when first asked for.
    pub fn project(&self, name: &str) -> PathBuf {
        let folder = self.root.path().join(name);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// `wavecrew` in a project, with the agent pointed at `base` and nothing inherited but what a shell needs.
    pub fn wavecrew(&self, project: &str, base: &str) -> Command {
        self.start(Path::new(env!("CARGO_BIN_EXE_wavecrew")), project, base)
    }

    /// The agent itself, in the same way.
    pub fn client(&self, project: &str, base: &str) -> Command {
        self.start(&self.bin.join(self.agent), project, base)
    }

    /// Any program, in the same way.
    pub fn start(&self, program: &Path, project: &str, base: &str) -> Command {
        let home = self.root.path().join("home");
        let mut path = vec![self.bin.clone()];
        path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap()));
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::join_paths(path).unwrap())
            .env("HOME", &home)
            .env("XDG_CACHE_HOME", self.cache.path())
            .env("TMPDIR", self.root.path().join("tmp"))
            .env("LANG", "C.UTF-8")
            .env("WAVECREW_STATE_DIR", self.state(project))
            .env("PROBE_API_KEY", SECRET)
            .envs(point(self.program(), base, &home).unwrap())
            .current_dir(self.project(project))
            .stdin(Stdio::null());
        command
    }

    /// Where runs in this project remember services: what one project met with is nothing to the others.
    pub fn state(&self, project: &str) -> PathBuf {
        self.root.path().join("state").join(project)
    }

    /// A run of one task, ready to start.
    pub fn command(&self, project: &str, base: &str, row: &Row, words: &[&str]) -> Command {
        let quoted = row.description.replace('"', "\"\"");
        let table = format!("id,description,exec_mode\nA,\"{quoted}\",{}\n", row.mode);
        fs::write(self.project(project).join("tasks.csv"), table).unwrap();
        let mut command = self.wavecrew(project, base);
        command
            .args(["run", "tasks.csv", "-y", "--agent", self.name()])
            .args(words);
        command
    }

    pub fn run(&self, project: &str, base: &str, row: &Row, words: &[&str]) -> Ran {
        self.finish(project, self.command(project, base, row, words))
    }

    /// Runs to the end; then nothing may be left of it.
    pub fn finish(&self, project: &str, mut command: Command) -> Ran {
        let output = command.output().unwrap();
        Ran {
            said: String::from_utf8_lossy(&output.stderr).into_owned(),
            ..self.ran(project, output.status.code())
        }
    }

    /// What came of a run that is over.
    pub fn ran(&self, project: &str, code: Option<i32>) -> Ran {
        self.nothing_runs();
        Ran {
            code,
            said: String::new(),
            events: self.journal(project),
            session: self.session(project).expect("a session"),
        }
    }

    /// Kills the coordinator alone, as the system would when it runs out of memory.
    pub fn kill(&self, mut child: Child) {
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(9));
        self.until("everything is ended", || self.running().is_empty());
    }

    pub fn journal(&self, project: &str) -> Vec<Value> {
        let file = self
            .session(project)
            .map(|session| session.join("journal.ndjson"));
        let text = file
            .and_then(|file| fs::read_to_string(file).ok())
            .unwrap_or_default();
        let lines = text.lines().filter_map(|line| line.split_once(' '));
        lines
            .filter_map(|(_, json)| serde_json::from_str(json).ok())
            .collect()
    }

    pub fn session(&self, project: &str) -> Option<PathBuf> {
        let sessions = fs::read_dir(self.project(project).join(".workflow/.csv-wave")).ok()?;
        sessions
            .flatten()
            .map(|entry| entry.path())
            .find(|path| path.is_dir())
    }

    pub fn until(&self, what: &str, mut holds: impl FnMut() -> bool) {
        let started = Instant::now();
        while !holds() {
            assert!(
                started.elapsed() < PATIENCE,
                "{}: waited too long until {what}",
                self.agent
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Where wavecrew keeps the settings files of agents.
    pub fn agent_files(&self) -> PathBuf {
        self.cache.path().join("wavecrew/agent-files")
    }

    pub fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    pub fn is_quiet(&self) -> bool {
        self.running().is_empty()
    }

    pub fn nothing_runs(&self) {
        let left = self.running();
        assert!(left.is_empty(), "{} left behind: {left:#?}", self.agent);
    }

    /// Processes that have this lab's home in their environment.
    fn running(&self) -> Vec<String> {
        let home = format!("HOME={}", self.root.path().join("home").display());
        let pids = fs::read_dir("/proc").unwrap().flatten();
        let pids = pids.filter(|entry| entry.file_name().as_encoded_bytes()[0].is_ascii_digit());
        let ours = pids.filter(|entry| {
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            environment
                .split(|byte| *byte == 0)
                .any(|variable| variable == home.as_bytes())
        });
        ours.map(|entry| {
            fs::read_to_string(entry.path().join("cmdline"))
                .unwrap_or_default()
                .replace('\0', " ")
        })
        .collect()
    }

    /// Notes what was seen, for the table in the documentation.
    pub fn note(&self, cell: &str, seen: &str) {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join("seen")
            .join(self.agent);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(cell), format!("{seen}\n")).unwrap();
    }
}

/// The one task of a run.
pub struct Row {
    pub description: String,
    pub mode: &'static str,
}

impl Row {
    pub fn one_shot(description: impl Into<String>) -> Self {
        Self {
            description: description.into(),
            mode: "csv-wave",
        }
    }

    pub fn interactive(description: impl Into<String>) -> Self {
        Self {
            description: description.into(),
            mode: "interactive",
        }
    }
}

impl Ran {
    /// The events of one kind.
    pub fn events<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.events.iter().filter(move |event| event["e"] == kind)
    }

    pub fn finished(&self) -> &Value {
        let mut finished = self.events("finished");
        finished
            .next()
            .unwrap_or_else(|| panic!("no end in {:#?}\n{}", self.events, self.said))
    }

    pub fn conversations(&self) -> Vec<&str> {
        self.events("conversing")
            .map(|event| event["conversation"].as_str().unwrap())
            .collect()
    }

    /// Fails the test with everything there is unless the task ended so.
    #[track_caller]
    pub fn ends(&self, reason: &str) {
        let finished = self.finished();
        assert_eq!(
            finished["stop"],
            *reason,
            "{finished:#}\n{}\n{}",
            self.said,
            self.log()
        );
    }

    /// Fails the test unless an attempt was put off for this reason.
    #[track_caller]
    pub fn is_postponed(&self, reason: &str) {
        let put_off = self.events("postponed").next();
        assert_eq!(
            put_off.map(|event| &event["stop"]),
            Some(&Value::from(reason)),
            "{:#?}\n{}\n{}",
            self.events,
            self.said,
            self.log()
        );
    }

    pub fn log(&self) -> String {
        let logs = fs::read_dir(self.session.join("logs"))
            .into_iter()
            .flatten()
            .flatten();
        logs.map(|entry| fs::read_to_string(entry.path()).unwrap_or_default())
            .collect()
    }

    /// Everything that the session keeps, file by file.
    pub fn kept(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        let mut folders = vec![self.session.clone()];
        while let Some(folder) = folders.pop() {
            for path in fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()) {
                if path.is_dir() {
                    folders.push(path);
                } else {
                    found.push((path.clone(), fs::read(&path).unwrap()));
                }
            }
        }
        found
    }
}
