//! Any other framework: a command line of the user's that writes JUnit XML, and LCOV, Cobertura or another known
//! coverage format, into the folder that it is told.

use std::fs;
use std::path::{Path, PathBuf};

use super::{CoverageByTest, Framework, FrameworkFacts, MutantRuns, TestFolder, TestFramework, TestNames};
use crate::detect::Project;
use crate::measurement::{Coverage, Measurement, Note};
use crate::report::{CoverageFormat, HitsByFile, TestFormat};
use crate::run::scope::WhenMissing;
use crate::run::{Invocation, MeasureError, TestRun, diagnose, read, words};

const FACTS: FrameworkFacts = FrameworkFacts {
    name: "command",
    language: None,
    test_pattern: "*",
    test_folder: TestFolder::ByConvention,
    test_names: TestNames::File,
    unique_file_names: false,
    measures_without_tests: false,
    warm_mutants: false,
    mutants_without_coverage: false,
    mutants: MutantRuns::Unsupported,
    coverage_by_test: CoverageByTest::Unknown,
    can_skip_tests: false,
    missing_package_openings: &[
        "No module named '",
        "Cannot find module '",
        "Cannot find package '",
    ],
};

pub struct UserCommand;

impl TestFramework for UserCommand {
    fn facts(&self) -> &'static FrameworkFacts {
        &FACTS
    }

    /// Only a person names a command.
    fn detect(&self, _folders: &[&Path]) -> Option<Project> {
        None
    }

    fn is_test_file(&self, _file: &Path) -> bool {
        true
    }

    /// Which reports a command writes is known after it has run: it has no invocation, see `measure`.
    fn invocation(&self, _run: &TestRun<'_>) -> Result<Invocation, MeasureError> {
        Err(MeasureError::NotInstalled {
            what: "a framework",
            fix: "detect the project's framework, or run its command".to_owned(),
        })
    }

    fn measure(&self, run: &TestRun<'_>) -> Result<Measurement, MeasureError> {
        match &run.request.project.framework {
            Framework::Command { line } => measure(run, line),
            Framework::Pytest | Framework::Vitest | Framework::Jest | Framework::Cargo | Framework::Go => {
                run.perform(self.invocation(run)?)
            }
        }
    }

    fn install_hint(&self, _root: &Path, package: &str) -> String {
        super::pytest::pip_install(package.split('.').next().unwrap_or(package))
    }
}

/// Where the command is to write its reports, under any name.
const REPORTS: &str = "WAVECREW_REPORTS";

fn measure(run: &TestRun<'_>, line: &str) -> Result<Measurement, MeasureError> {
    let folder = run.file("reports");
    fs::create_dir(&folder)?;
    let mut args = words(["-c"]);
    args.push(line.into());
    let mut step = run.step("sh", args);
    step.env.push((REPORTS, folder.clone().into()));
    let ran = run.run(&step)?;

    let mut tests = Vec::new();
    let mut hits = HitsByFile::new();
    let (mut test_reports, mut coverage_reports) = (0, 0);
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)?
        .flatten()
        .map(|entry| entry.path())
        .collect();
    files.sort();
    for file in files.iter().filter(|file| file.is_file()) {
        let Some(bytes) = read(file)? else { continue };
        if let Some(format) = CoverageFormat::guess(&bytes) {
            hits.extend(format.parse(&bytes)?);
            coverage_reports += 1;
        } else if bytes.trim_ascii_start().first() == Some(&b'<') {
            tests.extend(TestFormat::JUnit.parse(&bytes)?);
            test_reports += 1;
        }
    }
    if test_reports == 0 {
        return Err(diagnose::no_report(run.request.project, ran));
    }
    let mut notes = diagnose::notes(run.request.project, &tests, &ran);
    let mut coverage = Coverage::Unknown;
    if coverage_reports > 0 && run.wants_coverage() {
        coverage = run.counted(hits, WhenMissing::NotLoaded, &ran, &mut notes)?;
    } else if run.wants_coverage() {
        notes.push(Note {
            what: "the command wrote no coverage report: only the pass rate is known".to_owned(),
            fix: Some(format!("have it write LCOV or Cobertura XML into ${REPORTS}")),
        });
    }
    Ok(Measurement {
        tests,
        coverage,
        flaky: Vec::new(),
        notes,
    })
}
