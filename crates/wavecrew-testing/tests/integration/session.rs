//! A session of team Testing on a small project with real frameworks beside it, without any run around it.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use wavecrew_core::check_report::{CheckDetails, CheckReport};
use wavecrew_test_support::sandbox::Sandbox;
use wavecrew_testing::check::{Case, generated_tests, test_run};
use wavecrew_testing::environment::TestEnvironment;
use wavecrew_testing::scope::{self, LayerInScope, MutationEffort, Scope, ScopeRequest};
use wavecrew_testing::snapshot::Snapshot;

pub struct TestSession {
    sandbox: Sandbox,
    pub folder: PathBuf,
    /// For one run of the tests.
    pub run_seconds: u64,
    /// When the worker started whose claims are checked.
    pub began: Cell<SystemTime>,
}

impl Deref for TestSession {
    type Target = Sandbox;

    fn deref(&self) -> &Sandbox {
        &self.sandbox
    }
}

impl TestSession {
    /// A project of these files; `None` when frameworks are skipped.
    pub fn new(files: &[(&str, &str)]) -> Option<Self> {
        let sandbox = Sandbox::with_frameworks()?;
        for (name, text) in files {
            sandbox.write(name, text);
        }
        let folder = sandbox.path(".workflow/.csv-wave/tst-x");
        for name in ["tests/L1-unit", "tests/L2-integration", "results", "analysis"] {
            fs::create_dir_all(folder.join(name)).unwrap();
        }
        Some(Self {
            sandbox,
            folder,
            run_seconds: 60,
            began: Cell::new(SystemTime::now()),
        })
    }

    /// A small shop in Python: two functions, six lines.
    pub fn python() -> Option<Self> {
        Self::new(&[
            ("pyproject.toml", "[tool.pytest.ini_options]\n"),
            (
                "shop/price.py",
                "def total(items, discount=0):\n    if discount > 100:\n        raise ValueError('discount')\n    net = sum(items)\n    return net - net * discount / 100\n\n\ndef is_cheap(price):\n    if price < 10:\n        return True\n    return False\n",
            ),
        ])
    }

    /// A test of the first layer.
    pub fn test(&self, name: &str, text: &str) {
        self.write(self.folder.join("tests/L1-unit").join(name), text);
    }

    /// Begins the session: scope and copies.
    pub fn begin(&self, mutation: MutationEffort) {
        let found = scope::find(self.project(), &ScopeRequest::default()).unwrap();
        let (frameworks, files) = scope::frameworks(self.project(), &found.files);
        let layers = [("L1", "tests/L1-unit"), ("L2", "tests/L2-integration")];
        Scope {
            base: None,
            commit: None,
            how: found.how,
            files,
            frameworks,
            skipped: Vec::new(),
            targets: BTreeMap::from([("L1".to_owned(), 80.0), ("L2".to_owned(), 60.0)]),
            layers: layers
                .map(|(name, folder)| LayerInScope {
                    name: name.to_owned(),
                    folder: folder.into(),
                    ..LayerInScope::default()
                })
                .into(),
            mutation,
            min_effectiveness: scope::min_effectiveness(),
            run_seconds: self.run_seconds,
            seed: 7,
            offline_seconds: None,
        }
        .write(&self.folder)
        .unwrap();
        Snapshot::make(self.project(), &self.folder).unwrap();
        self.began.set(SystemTime::now());
    }

    pub fn environment(&self) -> TestEnvironment {
        TestEnvironment::open(&self.folder, self.folder.join("cache"), None).unwrap()
    }

    fn case<'a>(&'a self, task: &'a str, attempt: u32, claims: &'a [(String, String)]) -> Case<'a> {
        Case {
            session: &self.folder,
            task,
            layer: "L1",
            target: 80.0,
            attempt,
            began: Some(self.began.get()),
            claims,
        }
    }

    pub fn generated(&self, attempt: u32) -> CheckReport {
        generated_tests::check(&mut self.environment(), &self.case("TESTGEN-001", attempt, &[])).unwrap()
    }

    pub fn run(&self, attempt: u32) -> CheckReport {
        self.run_claiming(attempt, &[])
    }

    pub fn run_claiming(&self, attempt: u32, claims: &[(&str, &str)]) -> CheckReport {
        let claims: Vec<(String, String)> = claims
            .iter()
            .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
            .collect();
        test_run::check(
            &mut self.environment(),
            &self.case("TESTRUN-001", attempt, &claims),
        )
        .unwrap()
    }
}

impl Drop for TestSession {
    fn drop(&mut self) {
        let _ = Snapshot::remove(&self.folder);
    }
}

/// The figures of a report, as `pass_rate coverage`.
pub fn figures(report: &CheckReport) -> String {
    match report {
        CheckReport::Confirmed(CheckDetails { measured, .. }) => format!(
            "holds {} {}",
            measured["pass_rate"], measured["coverage_achieved"]
        ),
        CheckReport::Short(CheckDetails { measured, facts, .. }) => format!(
            "short {} of {} {}",
            measured["pass_rate"], facts["delivered_pass_rate"], measured["coverage_achieved"]
        ),
        CheckReport::SendBack { reason } => format!("send back {reason}"),
        CheckReport::Contradicted { reason } => format!("contradicted {reason}"),
    }
}

pub fn feedback(report: &CheckReport) -> &str {
    match report {
        CheckReport::Short(details) => &details.feedback,
        other => panic!("{other:?}"),
    }
}

pub fn at(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}
