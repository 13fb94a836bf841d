//! The JSON of `jest --json`, which vitest's JSON reporter shares. A file that does not load is an entry without tests
//! and in vitest in no count: it becomes a test of its own here.

use serde::Deserialize;

use super::{ReportError, duration, json, message};
use crate::measurement::{TestCase, TestId, TestOutcome};

const FORMAT: &str = "jest JSON";
/// The status of tests that vitest did not get to, because their process ended. In jest it is that of skipped ones.
const PENDING: &str = "pending";
/// Why such a test counts as skipped.
pub(crate) const NEVER_RAN: &str = "never ran";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    test_results: Vec<File>,
    /// Only jest has it.
    #[serde(default)]
    num_runtime_error_test_suites: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    name: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    assertion_results: Vec<Assertion>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Assertion {
    #[serde(default)]
    ancestor_titles: Vec<String>,
    title: String,
    status: String,
    #[serde(default)]
    duration: Option<f64>,
    #[serde(default)]
    failure_messages: Option<Vec<String>>,
}

pub fn parse(report: &[u8]) -> Result<Vec<TestCase>, ReportError> {
    let report: Report = json::from_slice(report).map_err(|e| ReportError::new(FORMAT, e))?;
    let is_vitest = report.num_runtime_error_test_suites.is_none();
    let mut tests = Vec::new();
    for file in report.test_results {
        let red = file.status == "failed";
        let mut seen_red = false;
        for test in file.assertion_results {
            let outcome = if is_vitest && test.status == PENDING {
                TestOutcome::Skipped {
                    reason: NEVER_RAN.to_owned(),
                }
            } else {
                outcome(&test)
            };
            seen_red |= outcome.is_failing();
            tests.push(TestCase {
                id: TestId {
                    file: file.name.clone(),
                    name: name(&test),
                },
                outcome,
                duration: duration(test.duration.unwrap_or(0.0) / 1000.0),
            });
        }
        // Also a hook of the whole file that throws: every test of it may be listed as skipped or even passed.
        if red && !seen_red {
            tests.push(TestCase {
                id: TestId {
                    file: file.name,
                    name: String::new(),
                },
                outcome: TestOutcome::Unloaded {
                    message: message(file.message.as_deref().unwrap_or_default()),
                },
                duration: duration(0.0),
            });
        }
    }
    Ok(tests)
}

fn name(test: &Assertion) -> String {
    let titles = test.ancestor_titles.iter().filter(|t| !t.is_empty());
    let words: Vec<&str> = titles.chain([&test.title]).map(String::as_str).collect();
    words.join(" > ")
}

fn outcome(test: &Assertion) -> TestOutcome {
    match test.status.as_str() {
        "passed" => TestOutcome::Passed,
        "failed" => TestOutcome::Failed {
            message: message(&test.failure_messages.as_deref().unwrap_or_default().join("\n")),
        },
        other => TestOutcome::Skipped {
            reason: other.to_owned(),
        },
    }
}
