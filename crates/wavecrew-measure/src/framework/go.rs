//! Go modules: the event stream and the cover profile of `go test`.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::cargo::on_path;
use super::{Evidence, FrameworkFacts, Language, Strength, TestFolder, TestFramework, TestNames};
use crate::measurement::Measurement;
use crate::report::{CoverageFormat, TestFormat};
use crate::run::scope::WhenMissing;
use crate::run::{Invocation, MeasureError, TestOrder, TestRun, option, os_args};

const FACTS: FrameworkFacts = FrameworkFacts {
    name: "go",
    language: Some(Language::Go),
    is_language_default: true,
    test_pattern: "*_test.go",
    test_folder: TestFolder::Flat(""),
    test_names: TestNames::GoPackage,
    tests_beside_source: true,
    build: Some(("go.mod", "go build ./...")),
    missing_package_prefixes: &["no required module provides package "],
    ..FrameworkFacts::DEFAULT
};

pub struct Go;

impl TestFramework for Go {
    fn facts(&self) -> &FrameworkFacts {
        &FACTS
    }

    fn evidence(&self, folder: &Path) -> Option<Evidence> {
        let found = folder.join("go.mod").is_file();
        found.then(|| Evidence::new(Strength::Settings, "go.mod"))
    }

    fn is_test_file(&self, file: &Path) -> bool {
        let name = file.file_name().unwrap_or_default();
        name.to_string_lossy().ends_with("_test.go")
    }

    fn measure(&self, run: &TestRun<'_>) -> Result<Measurement, MeasureError> {
        run.perform(invocation(run)?)
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
    let mut args = os_args(["test", "-json"]);
    let covered = run.wants_coverage();
    if covered {
        args.push("-coverpkg=./...".into());
        args.push(option("-coverprofile", &profile));
    }
    if let TestOrder::Shuffled { seed } = run.request.order {
        args.push(format!("-shuffle={seed}").into());
    }
    // Do not use results from go's cache.
    args.push("-count=1".into());
    args.extend(run_option(run.request.tests)?);
    args.extend(packages(run));
    let mut step = run.step("go", args);
    // The user's own build cache stays as it is.
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
        canaries: None,
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
            let mut package = OsString::from("./");
            package.push(folder);
            package
        })
        .collect();
    packages.sort_unstable();
    packages.dedup();
    if packages.is_empty() {
        packages.push("./...".into());
    }
    packages
}

/// Selects the tests of these files: their packages may hold others.
fn run_option(files: &[PathBuf]) -> Result<Option<OsString>, MeasureError> {
    let mut names = Vec::new();
    for file in files {
        let text = fs::read_to_string(file)?;
        let heads = text.lines().filter_map(|line| line.strip_prefix("func "));
        names.extend(heads.filter_map(|head| {
            let (name, _) = head.split_once('(')?;
            let is_test = ["Test", "Example", "Fuzz"]
                .iter()
                .any(|prefix| name.starts_with(prefix));
            (is_test && name.chars().all(|c| c.is_alphanumeric() || c == '_')).then(|| name.to_owned())
        }));
    }
    Ok((!names.is_empty()).then(|| format!("-run=^({})$", names.join("|")).into()))
}
