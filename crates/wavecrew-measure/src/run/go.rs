//! Go modules: the event stream and the cover profile of `go test`.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use super::cargo::on_path;
use super::error::MeasureError;
use super::scope::WhenMissing;
use super::{Bench, Invocation, Order, option, words};
use crate::report::{CoverageFormat, TestFormat};

pub fn invocation(bench: &Bench<'_>) -> Result<Invocation, MeasureError> {
    if !on_path("go") {
        return Err(MeasureError::NotInstalled {
            what: "go",
            fix: "install Go from https://go.dev/dl, or the package golang-go".to_owned(),
        });
    }
    let events = bench.file("events.jsonl");
    let profile = bench.file("cover.out");
    let mut args = words(["test", "-json"]);
    let covered = bench.wants_coverage();
    if covered {
        args.push("-coverpkg=./...".into());
        args.push(option("-coverprofile", &profile));
    }
    if let Order::Shuffled { seed } = bench.request.order {
        args.push(format!("-shuffle={seed}").into());
    }
    // A result from go's cache is no run.
    args.push("-count=1".into());
    args.extend(functions(bench.request.tests)?);
    args.extend(packages(bench));
    let mut step = bench.step("go", args);
    // The user's own cache of builds stays as it is.
    step.env
        .push(("GOCACHE", bench.runner.cache.join("go-build").into()));
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
fn packages(bench: &Bench<'_>) -> Vec<OsString> {
    let mut packages: Vec<OsString> = bench
        .request
        .tests
        .iter()
        .filter_map(|file| file.parent()?.strip_prefix(bench.root()).ok())
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
