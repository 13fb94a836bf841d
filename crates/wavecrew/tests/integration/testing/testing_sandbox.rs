//! A sandbox for team Testing: a project with real frameworks, and workers that are one Python program.

use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use wavecrew_test_support::sandbox::{Outcome, Running, Sandbox, Words};

/// What every worker begins with.
const AGENT: &str = r###"#!/usr/bin/env python3
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

pub struct TestingSandbox(Sandbox);

impl Deref for TestingSandbox {
    type Target = Sandbox;

    fn deref(&self) -> &Sandbox {
        &self.0
    }
}

/// A path among the examples for team Testing.
pub fn example(name: &str) -> PathBuf {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/testing");
    examples.canonicalize().unwrap().join(name)
}

impl TestingSandbox {
    /// A project of these files; `None` when tests with frameworks are skipped.
    pub fn new(files: &[(&str, &str)]) -> Option<Self> {
        let mut sandbox = Sandbox::with_frameworks()?;
        for (name, text) in files {
            sandbox = sandbox.file(name, text);
        }
        let root = sandbox.beside("");
        Some(Self(sandbox.env("TMPDIR", root)))
    }

    /// A copy of an example project.
    pub fn example(name: &str) -> Option<Self> {
        Some(Self(Self::new(&[])?.0.with_copy_of(&example(name))))
    }

    /// A copy of a project of the measuring tests.
    pub fn fixture(name: &str) -> Option<Self> {
        let projects = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wavecrew-measure/tests/projects");
        Some(Self(Self::new(&[])?.0.with_copy_of(&projects.join(name))))
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

    /// What workers do, in Python, with `session`, `layer` (its folder), `task`, `attempt`, `turn` and `text`, a function
    /// that writes a file, at hand. The strategist's document is written for it.
    pub fn workers(&self, body: &str) -> &Self {
        let script = format!("{AGENT}\n{body}\nprint(json.dumps(report))\n");
        self.write_script("../agent.py", &script);
        self
    }

    /// The workers, as `--agent` takes them.
    pub fn agent(&self) -> String {
        format!("command:{}", self.beside("agent.py").display())
    }

    /// `wavecrew testing -y` with the workers of this sandbox.
    pub fn test(&self, flags: impl Words) -> Outcome {
        self.start_test(flags).wait()
    }

    pub fn start_test(&self, flags: impl Words) -> Running {
        let mut command = self.command(&format!("testing -y --agent {}", self.agent()));
        self.spawn(command.args(flags.list()))
    }

    /// `pass_rate coverage_achieved` of a row.
    pub fn figures(&self, id: &str) -> String {
        let row = self.row(id);
        format!("{} {}", row["pass_rate"], row["coverage_achieved"])
    }

    /// Tasks whose workers were started, with attempt and turn.
    pub fn started(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path(".workflow/.csv-wave/started")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}
