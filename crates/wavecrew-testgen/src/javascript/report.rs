//! What vitest and jest say of a run, in the report that both write.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde::Deserialize;

/// Titles of the tests that passed, with their groups, as both frameworks report them.
pub fn passed(report: &Path) -> BTreeSet<String> {
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
        .and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let files = report.map(|report| report.test_results).unwrap_or_default();
    let cases = files.into_iter().flat_map(|file| file.assertion_results);
    cases
        .filter(|case| case.status == "passed")
        .map(|case| case.full_name.trim().to_owned())
        .collect()
}
