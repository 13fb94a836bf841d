//! Rust packages with cargo nextest, under cargo llvm-cov where it is installed. Builds into the runner's cache: the
//! project's own `target` stays as it is.

use std::env;
use std::ffi::OsString;
use std::fs;

use super::error::MeasureError;
use super::scope::WhenMissing;
use super::{Bench, Invocation, option, words};
use crate::measurement::{NO_COVERAGE, Note};
use crate::report::{CoverageFormat, TestFormat};

pub fn invocation(bench: &Bench<'_>) -> Result<Invocation, MeasureError> {
    if !on_path("cargo-nextest") {
        return Err(MeasureError::NotInstalled {
            what: "cargo-nextest",
            fix: "cargo install --locked cargo-nextest (`cargo test` writes no machine report)".to_owned(),
        });
    }
    // nextest writes JUnit only by its settings; a tool's settings stand beside the project's own.
    let settings = bench.file("nextest.toml");
    let junit = bench.file("junit.xml");
    let mut profile = toml::Table::new();
    profile.insert("path".to_owned(), junit.to_string_lossy().into_owned().into());
    let text = format!("[profile.wavecrew]\nfail-fast = false\n[profile.wavecrew.junit]\n{profile}");
    fs::write(&settings, text)?;

    let covered = bench.wants_coverage() && on_path("cargo-llvm-cov");
    let mut notes = Vec::new();
    if bench.wants_coverage() && !covered {
        notes.push(Note::missing_tool(
            "cargo-llvm-cov is not installed",
            NO_COVERAGE,
            "cargo install --locked cargo-llvm-cov && rustup component add llvm-tools".to_owned(),
        ));
    }
    let report = bench.file("coverage.json");
    let mut args = if covered {
        let mut args = words(["llvm-cov", "nextest", "--ignore-run-fail", "--json"]);
        args.push(option("--output-path", &report));
        args
    } else {
        words(["nextest", "run"])
    };
    args.extend(words(["--profile", "wavecrew", "--tool-config-file"]));
    let mut tool = OsString::from("wavecrew:");
    tool.push(&settings);
    args.push(tool);
    // Integration tests are chosen by their name; what is in `src` always belongs to the library's tests.
    for name in bench
        .request
        .tests
        .iter()
        .filter(|file| file.starts_with(bench.root().join("tests")))
    {
        args.push("--test".into());
        args.extend(name.file_stem().map(OsString::from));
    }
    let mut step = bench.step("cargo", args);
    step.env
        .push(("CARGO_TARGET_DIR", bench.runner.cache.join("cargo-target").into()));
    // With `--locked` a missing lock file is an error; without, it would be written into the project.
    if bench.root().join("Cargo.lock").exists() {
        step.args.push("--locked".into());
    }
    Ok(Invocation {
        tests: step,
        test_report: (TestFormat::JUnit, junit),
        then: Vec::new(),
        coverage: covered.then_some((CoverageFormat::LlvmCov, report)),
        when_missing: WhenMissing::NotLoaded,
        notes,
    })
}

/// A subcommand of cargo is a program of that name on `PATH`.
pub fn on_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let home = env::home_dir().map(|home| home.join(".cargo/bin"));
    env::split_paths(&path)
        .chain(home)
        .any(|folder| folder.join(program).is_file())
}
