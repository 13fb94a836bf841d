//! Rust packages with cargo nextest, under cargo llvm-cov where it is installed. Builds into the runner's cache: the
//! project's own `target` stays as it is.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use super::{Evidence, FrameworkFacts, Language, Strength, TestFolder, TestFramework, TestNames};
use crate::measurement::{Measurement, NO_COVERAGE, Note};
use crate::mutation::{MutationReport, MutationRun, cargo_mutants};
use crate::report::{CoverageFormat, TestFormat};
use crate::run::scope::WhenMissing;
use crate::run::{Invocation, MeasureError, TestRun, option, os_args};

const FACTS: FrameworkFacts = FrameworkFacts {
    name: "cargo",
    language: Some(Language::Rust),
    is_language_default: true,
    test_pattern: "*.rs",
    test_folder: TestFolder::Flat("tests"),
    test_names: TestNames::CargoBinary,
    inline_tests: Some("#[cfg(test)]"),
    mutants_without_coverage: true,
    build: Some(("Cargo.toml", "cargo build --all-targets")),
    missing_package_prefixes: &["can't find crate for `"],
    process_variables: &[
        "NEXTEST",
        "NEXTEST_EXECUTION_MODE",
        "NEXTEST_PROFILE",
        "NEXTEST_RUN_ID",
    ],
    ..FrameworkFacts::DEFAULT
};

pub struct Cargo;

impl TestFramework for Cargo {
    fn facts(&self) -> &FrameworkFacts {
        &FACTS
    }

    fn evidence(&self, folder: &Path) -> Option<Evidence> {
        let found = is_package(&folder.join("Cargo.toml"));
        found.then(|| Evidence::new(Strength::Settings, "Cargo.toml"))
    }

    fn is_test_file(&self, file: &Path) -> bool {
        file.extension().is_some_and(|ending| ending == "rs") && file.components().count() == 1
    }

    fn measure(&self, run: &TestRun<'_>) -> Result<Measurement, MeasureError> {
        run.perform(invocation(run)?)
    }

    fn mutate(&self, run: &MutationRun<'_>) -> Result<MutationReport, MeasureError> {
        cargo_mutants::mutate(run)
    }

    fn install_hint(&self, _root: &Path, package: &str) -> String {
        format!("cargo add --dev {package}")
    }
}

/// A workspace's own manifest may have no package.
fn is_package(manifest: &Path) -> bool {
    let table = fs::read_to_string(manifest)
        .ok()
        .and_then(|text| text.parse::<toml::Table>().ok());
    table.is_some_and(|table| table.contains_key("package"))
}

fn invocation(run: &TestRun<'_>) -> Result<Invocation, MeasureError> {
    if !on_path("cargo-nextest") {
        return Err(MeasureError::NotInstalled {
            what: "cargo-nextest",
            fix: "cargo install --locked cargo-nextest (`cargo test` writes no machine report)".to_owned(),
        });
    }
    // nextest writes JUnit only if its settings request it; tool settings apply besides the project's own.
    let settings = run.file("nextest.toml");
    let junit = run.file("junit.xml");
    let mut profile = toml::Table::new();
    profile.insert("path".to_owned(), junit.to_string_lossy().into_owned().into());
    let text = format!("[profile.wavecrew]\nfail-fast = false\n[profile.wavecrew.junit]\n{profile}");
    fs::write(&settings, text)?;

    let covered = run.wants_coverage() && on_path("cargo-llvm-cov");
    let mut notes = Vec::new();
    if run.wants_coverage() && !covered {
        notes.push(Note::missing_tool(
            "cargo-llvm-cov is not installed",
            NO_COVERAGE,
            "cargo install --locked cargo-llvm-cov && rustup component add llvm-tools".to_owned(),
        ));
    }
    let report = run.file("coverage.json");
    let mut args = if covered {
        let mut args = os_args(["llvm-cov", "nextest", "--ignore-run-fail", "--json"]);
        args.push(option("--output-path", &report));
        args
    } else {
        os_args(["nextest", "run"])
    };
    args.extend(os_args(["--profile", "wavecrew", "--tool-config-file"]));
    let mut tool = OsString::from("wavecrew:");
    tool.push(&settings);
    args.push(tool);
    // Integration tests are selected by name; tests in `src` always run with the library.
    for name in run
        .request
        .tests
        .iter()
        .filter(|file| file.starts_with(run.root().join("tests")))
    {
        args.push("--test".into());
        args.extend(name.file_stem().map(OsString::from));
    }
    let mut step = run.step("cargo", args);
    step.env
        .push(("CARGO_TARGET_DIR", run.runner.cache.join("cargo-target").into()));
    // With `--locked` a missing lock file is an error; without, it would be written into the project.
    if run.root().join("Cargo.lock").exists() {
        step.args.push("--locked".into());
    }
    Ok(Invocation {
        tests: step,
        test_report: (TestFormat::JUnit, junit),
        then: Vec::new(),
        coverage: covered.then_some((CoverageFormat::LlvmCov, report)),
        when_missing: WhenMissing::NotLoaded,
        notes,
        canaries: None,
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
