//! Any other framework: a command line of the user's that writes JUnit XML, and LCOV, Cobertura or another known
//! coverage format, into the folder that it is told.

use std::fs;
use std::path::PathBuf;

use super::scope::WhenMissing;
use super::{Bench, diagnose, error::MeasureError, read, words};
use crate::measurement::{Coverage, Measurement, Note};
use crate::report::{CoverageFormat, HitsByFile, TestFormat};

/// Where the command is to write its reports, under any name.
const REPORTS: &str = "WAVECREW_REPORTS";

pub fn measure(bench: &Bench<'_>, line: &str) -> Result<Measurement, MeasureError> {
    let folder = bench.file("reports");
    fs::create_dir(&folder)?;
    let mut args = words(["-c"]);
    args.push(line.into());
    let mut step = bench.step("sh", args);
    step.env.push((REPORTS, folder.clone().into()));
    let ran = bench.run(&step)?;

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
        return Err(diagnose::no_report(bench.request.project, ran));
    }
    let mut notes = diagnose::notes(bench.request.project, &tests, &ran);
    let mut coverage = Coverage::Unknown;
    if coverage_reports > 0 && bench.wants_coverage() {
        coverage = bench.counted(hits, WhenMissing::NotLoaded, &ran, &mut notes)?;
    } else if bench.wants_coverage() {
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
