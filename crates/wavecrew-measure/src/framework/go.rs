//! Go modules: the event stream and the cover profile of `go test`.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::cargo::on_path;
use super::{
    CoverageByTest, Framework, FrameworkFacts, Language, MutantRuns, TestFolder, TestFramework, TestNames,
};
use crate::detect::{Certainty, Project};
use crate::report::{CoverageFormat, TestFormat};
use crate::run::MeasureError;
use crate::run::scope::WhenMissing;
use crate::run::{Invocation, TestOrder, TestRun, option, words};

const FACTS: FrameworkFacts = FrameworkFacts {
    name: "go",
    language: Some(Language::Go),
    test_pattern: "*_test.go",
    test_folder: TestFolder::Flat(""),
    test_names: TestNames::GoPackage,
    unique_file_names: false,
    measures_without_tests: false,
    warm_mutants: false,
    mutants_without_coverage: false,
    mutants: MutantRuns::Unsupported,
    coverage_by_test: CoverageByTest::Unknown,
    can_skip_tests: false,
    missing_package_openings: &["no required module provides package "],
};

pub struct Go;

impl TestFramework for Go {
    fn facts(&self) -> &'static FrameworkFacts {
        &FACTS
    }

    fn detect(&self, folders: &[&Path]) -> Option<Project> {
        let root = folders.iter().find(|folder| folder.join("go.mod").is_file())?;
        Some(Project {
            root: (*root).to_owned(),
            framework: Framework::Go,
            evidence: "go.mod".to_owned(),
            certainty: Certainty::Found,
        })
    }

    fn is_test_file(&self, file: &Path) -> bool {
        let name = file.file_name().unwrap_or_default();
        name.to_string_lossy().ends_with("_test.go")
    }

    fn invocation(&self, run: &TestRun<'_>) -> Result<Invocation, MeasureError> {
        invocation(run)
    }

    fn install_hint(&self, _root: &Path, package: &str) -> String {
        format!("go get {package}")
    }
}

fn invocation(run: &TestRun<'_>) -> Result<Invocation, MeasureError> {
    if !on_path("go") {
        return Err(MeasureError::NotInstalled {
            what: "go",
            fix: "install Go from https://go.dev/dl, or the package golang-go".to_owned(),
        });
    }
    let events = run.file("events.jsonl");
    let profile = run.file("cover.out");
    let mut args = words(["test", "-json"]);
    let covered = run.wants_coverage();
    if covered {
        args.push("-coverpkg=./...".into());
        args.push(option("-coverprofile", &profile));
    }
    if let TestOrder::Shuffled { seed } = run.request.order {
        args.push(format!("-shuffle={seed}").into());
    }
    // A result from go's cache is no run.
    args.push("-count=1".into());
    args.extend(functions(run.request.tests)?);
    args.extend(packages(run));
    let mut step = run.step("go", args);
    // The user's own cache of builds stays as it is.
    step.env
        .push(("GOCACHE", run.runner.cache.join("go-build").into()));
    step.copy_to = Some(events.clone());
    Ok(Invocation {
        tests: step,
        test_report: (TestFormat::GoEvents, events),
        then: Vec::new(),
        coverage: covered.then_some((CoverageFormat::GoProfile, profile)),
        when_missing: WhenMissing::NotLoaded,
        notes: Vec::new(),
    })
}

/// Go tests packages, not files.
fn packages(run: &TestRun<'_>) -> Vec<OsString> {
    let mut packages: Vec<OsString> = run
        .request
        .tests
        .iter()
        .filter_map(|file| file.parent()?.strip_prefix(run.root()).ok())
        .map(|folder| {
            let mut word = OsString::from("./");
            word.push(folder);
            word
        })
        .collect();
    packages.sort_unstable();
    packages.dedup();
    if packages.is_empty() {
        packages.push("./...".into());
    }
    packages
}

/// Only the tests of these files: their packages may hold others.
fn functions(files: &[PathBuf]) -> Result<Option<OsString>, MeasureError> {
    let mut names = Vec::new();
    for file in files {
        let text = fs::read_to_string(file)?;
        let heads = text.lines().filter_map(|line| line.strip_prefix("func "));
        names.extend(heads.filter_map(|head| {
            let (name, _) = head.split_once('(')?;
            let is_test = ["Test", "Example", "Fuzz"]
                .iter()
                .any(|word| name.starts_with(word));
            (is_test && name.chars().all(|c| c.is_alphanumeric() || c == '_')).then(|| name.to_owned())
        }));
    }
    Ok((!names.is_empty()).then(|| format!("-run=^({})$", names.join("|")).into()))
}
