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
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Case {
        full_name: String,
        status: String,
    }
    let report: Option<Report> = fs::read(report)
        .ok()
        .and_then(|bytes| json::from_slice(&bytes).ok());
    let files = report.map(|report| report.test_results).unwrap_or_default();
    let cases = files.into_iter().flat_map(|file| file.assertion_results);
    cases
        .filter(|case| case.status == status)
        .map(|case| case.full_name.trim().to_owned())
        .collect()
}
