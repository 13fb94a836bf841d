//! Reads the JSON report of a run, which vitest and jest write in the same format.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use wavecrew_measure::report::json;

/// Full titles of the tests that passed.
pub fn passed(report: &Path) -> BTreeSet<String> {
    titles(report, "passed")
}

/// Full titles of the tests that failed.
pub fn failed(report: &Path) -> BTreeSet<String> {
    titles(report, "failed")
}

fn titles(report: &Path, status: &str) -> BTreeSet<String> {
    let cases = cases(report).unwrap_or_default().into_iter();
    cases
        .filter(|case| case.status == status)
        .map(|case| case.full_name.trim().to_owned())
        .collect()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Case {
    pub full_name: String,
    pub status: String,
    #[serde(default)]
    pub failure_messages: Vec<String>,
}

/// The tests of a report.
pub fn cases(report: &Path) -> Option<Vec<Case>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Report {
        test_results: Vec<File>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct File {
        assertion_results: Vec<Case>,
    }
    let report: Report = json::from_slice(&fs::read(report).ok()?).ok()?;
    let files = report.test_results.into_iter();
    Some(files.flat_map(|file| file.assertion_results).collect())
}
