//! A project in a temporary folder with real frameworks, and `wavecrew testing` on it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use wavecrew_test_support::frameworks;

use serde_json::Value;
use tempfile::TempDir;

/// Nothing here takes this long unless something hangs.
const PATIENCE: Duration = Duration::from_mins(4);

pub struct Lab {
    dir: TempDir,
    pub project: PathBuf,
    /// Answers of the workers, put into a program by the tests.
    agent: PathBuf,
}

/// What a run left behind.
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

pub fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples/testing")
        .canonicalize()
        .unwrap()
}

impl Lab {
    pub fn new(files: &[(&str, &str)]) -> Option<Self> {
        let frameworks = frameworks::installed()?;
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().canonicalize().unwrap().join("project");
        fs::create_dir(&project).unwrap();
        let lab = Self {
            agent: project.parent().unwrap().join("agent.py"),
            project,
            dir,
        };
        for (name, text) in files {
            lab.write(name, text);
        }
        symlink(frameworks.join("venv"), lab.project.join(".venv")).unwrap();
        symlink(frameworks.join("node_modules"), lab.project.join("node_modules")).unwrap();
        Some(lab)
    }

    /// A copy of an example project.
    pub fn example(name: &str) -> Option<Self> {
        let lab = Self::new(&[])?;
        copy(&examples().join(name), &lab.project);
        Some(lab)
    }

    /// A copy of a fixture of the measuring tests.
    pub fn fixture(name: &str) -> Option<Self> {
        let lab = Self::new(&[])?;
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wavecrew-measure/tests/projects");
        copy(&fixtures.join(name), &lab.project);
        Some(lab)
    }

    /// A shop of one module, nine lines.
    pub fn shop() -> Option<Self> {
        Self::new(&[
            ("pyproject.toml", "[tool.pytest.ini_options]\n"),
            (
                "shop/price.py",
                "def total(items, discount=0):\n    if discount > 100:\n        raise ValueError('discount')\n    net = sum(items)\n    return net - net * discount / 100\n\n\ndef is_cheap(price):\n    if price < 10:\n        return True\n    return False\n",
            ),
        ])
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.project.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn git(&self, words: &[&str]) -> &Self {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@b"];
        let done = Command::new("git")
            .args(identity)
            .args(words)
            .current_dir(&self.project)
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
        self
    }

    /// What workers do, in Python, with `session`, `layer` (its folder), `task`, `attempt`, `turn` and `text`, a function
    /// that writes a file, at hand. The strategist's document is written for it.
    pub fn agent(&self, body: &str) -> &Self {
        let head = r###"#!/usr/bin/env python3
import json, os, pathlib, sys
prompt = sys.stdin.read()
session = pathlib.Path(os.environ["WAVECREW_SESSION_DIR"])
task, attempt, turn = os.environ["WAVECREW_TASK"], int(os.environ["WAVECREW_ATTEMPT"]), int(os.environ["WAVECREW_TURN"])
layer = session / "tests/L1-unit"
report = {"id": task, "status": "completed", "findings": "done"}
with open(session.parent / "started", "a") as log:
    log.write(f"{task}.{attempt}.{turn}\n")

def text(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)

if task == "STRATEGY-001":
    headings = ["Scope", "Framework", "Layers and targets", "Priorities", "Risks"]
    text(session / "strategy/test-strategy.md", "".join(f"## {h}\n\nsomething\n\n" for h in headings))
if task == "TESTANA-001":
    headings = ["Score", "Coverage", "Defect patterns", "Loop effectiveness", "Recommendations"]
    text(session / "analysis/quality-report.md", "".join(f"## {h}\n\nall is perfect, 100 of 100\n\n" for h in headings))
"###;
        fs::write(
            &self.agent,
            format!("{head}\n{body}\nprint(json.dumps(report))\n"),
        )
        .unwrap();
        fs::set_permissions(&self.agent, fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    /// `wavecrew testing -y` with the agent of this lab.
    pub fn run(&self, words: &[&str]) -> Ran {
        let agent = self.agent_flag();
        self.wavecrew(&[&["testing", "-y", "--agent", &agent], words].concat())
    }

    /// What `--agent` calls the workers of this lab.
    pub fn agent_flag(&self) -> String {
        format!("command:{}", self.agent.display())
    }

    pub fn wavecrew(&self, words: &[&str]) -> Ran {
        let Output {
            status,
            stdout,
            stderr,
        } = self.command(words).output().unwrap();
        Ran {
            code: status.code(),
            out: String::from_utf8_lossy(&stdout).into_owned(),
            err: String::from_utf8_lossy(&stderr).into_owned(),
        }
    }

    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wavecrew"));
        command
            .args(words)
            .current_dir(&self.project)
            .env("XDG_CACHE_HOME", self.cache())
            .env("TMPDIR", self.dir.path())
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null());
        command
    }

    /// The only session.
    pub fn session(&self) -> PathBuf {
        let folder = self.project.join(".workflow/.csv-wave");
        let mut found: Vec<PathBuf> = fs::read_dir(folder)
            .unwrap()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.is_dir())
            .collect();
        found.sort();
        found.pop().expect("a session")
    }

    pub fn read(&self, name: &str) -> String {
        let path = self.session().join(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    pub fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    /// A row of the table, by column.
    pub fn row(&self, id: &str) -> BTreeMap<String, String> {
        let text = self.read("tasks.csv");
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let header = reader.headers().unwrap().clone();
        let row = reader
            .records()
            .map(Result::unwrap)
            .find(|row| &row[0] == id)
            .expect("the row is there");
        header
            .iter()
            .zip(row.iter())
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
            .collect()
    }

    /// `pass_rate coverage_achieved` of a row.
    pub fn figures(&self, id: &str) -> String {
        let row = self.row(id);
        format!("{} {}", row["pass_rate"], row["coverage_achieved"])
    }

    /// The project's files but for what links and sessions hold.
    pub fn sources(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.project.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                let kind = entry.file_type().unwrap();
                if kind.is_dir() && entry.file_name() != ".workflow" {
                    folders.push(entry.path());
                } else if kind.is_file() {
                    found.insert(entry.path(), fs::read(entry.path()).unwrap());
                }
            }
        }
        found
    }

    /// Processes that were started from this lab, found by a variable that only it sets.
    pub fn running(&self) -> Vec<String> {
        let mark = format!("XDG_CACHE_HOME={}", self.cache().display());
        let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
        let ours = processes.filter(|process| {
            let environment = fs::read(process.join("environ")).unwrap_or_default();
            environment
                .split(|byte| *byte == 0)
                .any(|variable| variable == mark.as_bytes())
        });
        ours.map(|process| fs::read_to_string(process.join("cmdline")).unwrap_or_default())
            .collect()
    }

    fn cache(&self) -> PathBuf {
        self.dir.path().join("cache")
    }

    pub fn until(&self, what: &str, mut holds: impl FnMut() -> bool) {
        let started = Instant::now();
        while !holds() {
            assert!(
                started.elapsed() < PATIENCE,
                "waited too long until {what}: {:#?}",
                self.running()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Tasks whose workers were started, with attempt and turn.
    pub fn started(&self) -> Vec<String> {
        let text = fs::read_to_string(self.project.join(".workflow/.csv-wave/started")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

impl Ran {
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}\n{}", self.out, self.err);
        self
    }

    #[track_caller]
    pub fn says(self, part: &str) -> Self {
        let said = format!("{}{}", self.out, self.err);
        assert!(said.contains(part), "no `{part}` in:\n{said}");
        self
    }
}

pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        // What somebody who tried the example left there is not of it.
        if entry.file_name().to_string_lossy().starts_with('.') || entry.file_name() == "node_modules" {
            continue;
        }
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
