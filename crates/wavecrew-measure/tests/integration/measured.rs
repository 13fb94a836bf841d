//! A project with real frameworks, and what measuring it yields.

use std::ops::Deref;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use wavecrew_measure::detect::{Project, project_of, source_files};
use wavecrew_measure::run::{Collect, MeasureError, Request, Runner, TestOrder};
use wavecrew_measure::{CoverageStatus, FileCoverage, Measurement};
use wavecrew_test_support::frameworks::installed;
use wavecrew_test_support::sandbox::Sandbox;

pub struct MeasureSandbox {
    sandbox: Sandbox,
    pub timeout: Duration,
}

impl Deref for MeasureSandbox {
    type Target = Sandbox;

    fn deref(&self) -> &Sandbox {
        &self.sandbox
    }
}

impl MeasureSandbox {
    pub fn new(sandbox: Sandbox) -> Self {
        Self {
            sandbox,
            timeout: Duration::from_mins(3),
        }
    }

    /// A copy of a project under `tests/projects`.
    pub fn of(project: &str) -> Self {
        let projects = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/projects");
        Self::new(Sandbox::new().with_copy_of(&projects.join(project)))
    }

    /// With pytest and coverage.py.
    pub fn python(files: &[(&str, &str)]) -> Option<Self> {
        let mut sandbox = Sandbox::new().file("pytest.ini", "[pytest]\n");
        for (name, text) in files {
            sandbox = sandbox.file(name, text);
        }
        let sandbox = Self::new(sandbox);
        sandbox.link("venv", ".venv").then_some(sandbox)
    }

    /// Puts a part of the installed frameworks into the project. `false`: tests with frameworks are skipped.
    pub fn link(&self, part: &str, name: &str) -> bool {
        installed().is_some_and(|set| {
            symlink(set.join(part), self.path(name)).unwrap();
            true
        })
    }

    pub fn root(&self) -> &Path {
        self.sandbox.project()
    }

    pub fn project_of(&self, of: &str) -> Project {
        project_of(&self.path(of), self.root()).unwrap()
    }

    pub fn runner(&self) -> Runner {
        Runner {
            progress: None,
            cache: self.beside("cache"),
            writable: Vec::new(),
            timeout: self.timeout,
            python_path: Vec::new(),
            stop: None,
        }
    }

    /// Measures all sources of the project that `of` belongs to.
    pub fn measure(&self, of: &str) -> Result<Measurement, MeasureError> {
        let project = self.project_of(of);
        let scope = source_files(&project, self.root());
        self.runner().measure(&Request {
            project: &project,
            scope: &scope,
            tests: &[],
            coverage: Collect::TestsAndCoverage,
            order: TestOrder::Default,
            canaries: false,
        })
    }

    /// The framework as a person runs it, in a copy of the project.
    pub fn by_hand(&self, program: &str, args: &[&str]) {
        let run = Command::new(self.path(program))
            .args(args)
            .current_dir(self.root())
            .env("CI", "true")
            .output()
            .unwrap();
        assert!(run.status.code().is_some(), "{run:?}");
    }
}

pub fn file<'a>(measurement: &'a Measurement, path: &str) -> &'a FileCoverage {
    let files = measurement.coverage.files();
    files
        .iter()
        .find(|file| file.path == path)
        .unwrap_or_else(|| panic!("no {path} in {files:?}"))
}

/// `path status covered/total` and the same for branches.
pub fn figures(measurement: &Measurement) -> Vec<String> {
    let line = |f: &FileCoverage| {
        let branches = f
            .branches
            .map_or(String::new(), |b| format!(" {}/{}", b.covered, b.total));
        let status = match f.status {
            CoverageStatus::Measured => "",
            CoverageStatus::NotLoaded => " not loaded",
            CoverageStatus::Excluded => " excluded",
            CoverageStatus::Broken => " broken",
        };
        format!(
            "{}{status} {}/{}{branches}",
            f.path, f.lines.covered, f.lines.total
        )
    };
    measurement.coverage.files().iter().map(line).collect()
}

/// Passed and counted.
pub fn rate(measurement: &Measurement) -> (u64, u64) {
    let rate = measurement.pass_rate(&measurement.skipped()).unwrap_or_default();
    (rate.covered, rate.total)
}

/// What the notes advise.
pub fn fixes(measurement: &Measurement) -> String {
    let fixes = measurement.notes.iter().filter_map(|note| note.fix.clone());
    fixes.collect::<Vec<_>>().join("\n")
}
