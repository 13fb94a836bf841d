//! A sandbox for team Testing: a project with real frameworks, and workers that are one Python program.

use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use wavecrew_test_support::frameworks;
use wavecrew_test_support::sandbox::{Outcome, Running, Sandbox, Words};

/// What every worker begins with.
const AGENT: &str = r###"#!/usr/bin/env python3
import json, os, pathlib, sys
prompt = sys.stdin.read()
session = pathlib.Path(os.environ["WAVECREW_SESSION_DIR"])
task, attempt, turn = os.environ["WAVECREW_TASK"], int(os.environ["WAVECREW_ATTEMPT"]), int(os.environ["WAVECREW_TURN"])
layer = session / "tests/L1-unit"
report = {"id": task, "status": "completed", "findings": "done"}
traces = pathlib.Path(os.environ["TRACES"])
with open(traces / "started", "a") as log:
    log.write(f"{task}.{attempt}.{turn}\n")

def text(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)

def document(path, sections):
    text(session / path, "".join(f"## {name}\n\n{words}\n\n" for name, words in sections.items()))

if task == "STRATEGY-001":
    document("strategy/test-strategy.md", {
        "Scope": "The prices of the shop.",
        "Framework": "pytest, with coverage.py for the figures.",
        "Layers and targets": "Unit tests cover 80 % of the lines in scope.",
        "Priorities": "Totals first, then what counts as cheap.",
        "Risks": "Nothing says how discounts are rounded.",
    })
if task == "TESTANA-001":
    document("analysis/quality-report.md", {
        "Score": "100 of 100, by my own count.",
        "Coverage": "Every line of the shop is covered.",
        "Defect patterns": "No defect was found in the prices.",
        "Loop effectiveness": "One round was enough to reach the target.",
        "Recommendations": "Add tests for discounts above 100 percent.",
    })
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
        let (root, traces) = (sandbox.beside(""), sandbox.beside("traces"));
        fs::create_dir(&traces).unwrap();
        let sandbox = sandbox.with_writable(&traces).env("TRACES", &traces);
        Some(Self(sandbox.env("TMPDIR", root)))
    }

    /// A copy of an example project.
    pub fn example(name: &str) -> Option<Self> {
        let sandbox = Self::new(&[])?.0.requiring_confinement();
        Some(Self(sandbox.with_copy_of(&example(name))))
    }

    /// A copy of a package as its registry delivers it.
    pub fn package(name: &str) -> Option<Self> {
        let packages = frameworks::installed()?.join("packages");
        Some(Self(Self::new(&[])?.0.with_copy_of(&packages.join(name))))
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

    /// What workers do, in Python, with `session`, `layer` (its folder), `traces`, `task`, `attempt`, `turn` and `text`, a function
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

    /// What a worker wrote into `traces`.
    pub fn trace(&self, name: &str) -> String {
        fs::read_to_string(self.beside("traces").join(name)).unwrap()
    }

    /// Tasks whose workers were started, with attempt and turn.
    pub fn started(&self) -> Vec<String> {
        let text = fs::read_to_string(self.beside("traces/started")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}
