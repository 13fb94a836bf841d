//! Rust packages with cargo nextest, under cargo llvm-cov where it is installed. Builds into the runner's cache: the
//! project's own `target` stays as it is.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use super::{
    CoverageByTest, Framework, FrameworkFacts, Language, MutantRuns, TestFolder, TestFramework, TestNames,
};
use crate::detect::{Certainty, Project};
use crate::measurement::{NO_COVERAGE, Note};
use crate::report::{CoverageFormat, TestFormat};
use crate::run::MeasureError;
use crate::run::scope::WhenMissing;
use crate::run::{Invocation, TestRun, option, words};

const FACTS: FrameworkFacts = FrameworkFacts {
    name: "cargo",
    language: Some(Language::Rust),
    test_pattern: "*.rs",
    test_folder: TestFolder::Flat("tests"),
    test_names: TestNames::CargoBinary,
    unique_file_names: false,
    measures_without_tests: false,
    warm_mutants: false,
    mutants_without_coverage: true,
    mutants: MutantRuns::CargoMutants,
    coverage_by_test: CoverageByTest::Unknown,
    can_skip_tests: false,
    missing_package_openings: &["can't find crate for `"],
};

pub struct Cargo;

impl TestFramework for Cargo {
    fn facts(&self) -> &'static FrameworkFacts {
        &FACTS
    }

    fn detect(&self, folders: &[&Path]) -> Option<Project> {
        let root = folders
            .iter()
            .find(|folder| is_package(&folder.join("Cargo.toml")))?;
        Some(Project {
            root: (*root).to_owned(),
            framework: Framework::Cargo,
            evidence: "Cargo.toml".to_owned(),
            certainty: Certainty::Found,
        })
    }

    fn is_test_file(&self, file: &Path) -> bool {
        file.extension().is_some_and(|ending| ending == "rs") && file.components().count() == 1
    }

    fn invocation(&self, run: &TestRun<'_>) -> Result<Invocation, MeasureError> {
        invocation(run)
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
    // nextest writes JUnit only by its settings; a tool's settings stand beside the project's own.
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
