//! Any other framework: a command line of the user that writes JUnit XML, and LCOV, Cobertura or another known coverage
//! format, into the folder `$WAVECREW_REPORTS`.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Evidence, Framework, FrameworkFacts, TestFramework};
use crate::measurement::{Coverage, Measurement, Note};
use crate::report::{CoverageFormat, HitsByFile, TestFormat};
use crate::run::scope::WhenMissing;
use crate::run::{MeasureError, TestRun, diagnose, read};

const FACTS: FrameworkFacts = FrameworkFacts {
    name: "command",
    missing_package_prefixes: &[
        "No module named '",
        "Cannot find module '",
        "Cannot find package '",
    ],
    syntax_error_marks: &[
        "SyntaxError: ",
        "IndentationError: ",
        "TabError: ",
        "Transform failed with",
        "PARSE_ERROR",
    ],
    ..FrameworkFacts::DEFAULT
};

pub struct UserCommand;

impl TestFramework for UserCommand {
    fn facts(&self) -> &FrameworkFacts {
        &FACTS
    }

    /// Only a person names a command.
    fn evidence(&self, _folder: &Path) -> Option<Evidence> {
        None
    }

    fn is_test_file(&self, _file: &Path) -> bool {
        true
    }

    fn measure(&self, run: &TestRun<'_>) -> Result<Measurement, MeasureError> {
        match &run.request.project.framework {
            Framework::Command { line } => measure(run, line),
            other => other.adapter().measure(run),
        }
    }

    fn install_hint(&self, root: &Path, package: &str) -> String {
        super::python_environment::install_command(root, &[package.split('.').next().unwrap_or(package)])
    }
}

/// The folder for the reports of the command; their names do not matter.
const REPORTS: &str = "WAVECREW_REPORTS";

fn measure(run: &TestRun<'_>, line: &str) -> Result<Measurement, MeasureError> {
    let folder = run.file("reports");
    fs::create_dir(&folder)?;
    let mut step = run.step("sh", vec!["-c".into(), line.into()]);
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
        coverage = run.count_coverage(hits, WhenMissing::NotLoaded, &ran, &mut notes)?;
    } else if run.wants_coverage() {
        notes.push(Note {
            what: "the command wrote no coverage report: only the pass rate is known".to_owned(),
            fix: Some(format!("make it write LCOV or Cobertura XML into ${REPORTS}")),
        });
    }
    Ok(Measurement {
        tests,
        coverage,
        flaky: Vec::new(),
        notes,
        tampering: Vec::new(),
    })
}
