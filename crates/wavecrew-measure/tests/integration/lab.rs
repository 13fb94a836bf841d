//! A copy of a fixture project with real frameworks beside it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;
use wavecrew_measure::detect::{Project, project_of, source_files};
use wavecrew_measure::run::{Collect, MeasureError, Request, Runner, TestOrder};
use wavecrew_measure::{CoverageStatus, FileCoverage, Measurement};

use wavecrew_test_support::frameworks::installed;

pub struct Lab {
    dir: TempDir,
    pub root: PathBuf,
    pub timeout: Duration,
}

impl Lab {
    pub fn empty() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("project");
        fs::create_dir(&root).unwrap();
        Self {
            dir,
            root,
            timeout: Duration::from_mins(3),
        }
    }

    /// A copy of a project under `tests/projects`.
    pub fn of(project: &str) -> Self {
        let lab = Self::empty();
        let from = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/projects")
            .join(project);
        copy(&from, &lab.root);
        lab
    }

    /// With pytest and coverage.py.
    pub fn python(files: &[(&str, &str)]) -> Option<Self> {
        let lab = Self::empty();
        lab.write("pytest.ini", "[pytest]\n");
        for (name, text) in files {
            lab.write(name, text);
        }
        lab.link("venv", ".venv").then_some(lab)
    }

    /// Puts a part of the installed frameworks into the project. `false`: they are to be passed over.
    pub fn link(&self, part: &str, name: &str) -> bool {
        installed().is_some_and(|set| {
            symlink(set.join(part), self.root.join(name)).unwrap();
            true
        })
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A folder beside the project.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn project(&self, of: &str) -> Project {
        project_of(&self.root.join(of), &self.root).unwrap()
    }

    pub fn runner(&self) -> Runner {
        Runner {
            cache: self.beside("cache"),
            timeout: self.timeout,
            python_path: Vec::new(),
            stop: None,
        }
    }

    /// Measures all sources of the project that `of` belongs to.
    pub fn measure(&self, of: &str) -> Result<Measurement, MeasureError> {
        let project = self.project(of);
        let scope = source_files(&project, &self.root);
        self.runner().measure(&Request {
            project: &project,
            scope: &scope,
            tests: &[],
            coverage: Collect::TestsAndCoverage,
            order: TestOrder::Default,
        })
    }

    /// The framework as a person runs it, in a copy of the project.
    pub fn by_hand(&self, program: &str, args: &[&str]) {
        let run = Command::new(self.root.join(program))
            .args(args)
            .current_dir(&self.root)
            .env("CI", "true")
            .output()
            .unwrap();
        assert!(run.status.code().is_some(), "{run:?}");
    }

    /// Every file of the project but the frameworks, with its content.
    pub fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                let kind = entry.file_type().unwrap();
                if kind.is_dir() {
                    folders.push(entry.path());
                } else if kind.is_file() {
                    found.insert(entry.path(), fs::read(entry.path()).unwrap());
                }
            }
        }
        found
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir(&target).unwrap();
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
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
