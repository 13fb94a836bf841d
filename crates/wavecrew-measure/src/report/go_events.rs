//! The event stream of `go test -json`. Lines that are not events, such as output of build tools, are
//! skipped.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::{ReportError, duration, message};
use crate::measurement::{TestCase, TestId, TestOutcome};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct GoEvent {
    action: String,
    #[serde(default)]
    package: String,
    #[serde(default)]
    test: String,
    #[serde(default)]
    elapsed: f64,
    #[serde(default)]
    output: String,
}

pub fn parse(report: &[u8]) -> Result<Vec<TestCase>, ReportError> {
    let mut outputs: BTreeMap<(String, String), String> = BTreeMap::new();
    let mut started: BTreeSet<(String, String)> = BTreeSet::new();
    let mut build = String::new();
    let mut tests = Vec::new();
    let mut red_packages: BTreeMap<String, bool> = BTreeMap::new();
    let mut events = 0;
    for line in report
        .split(|&b| b == b'\n')
        .filter(|line| line.first() == Some(&b'{'))
    {
        let Ok(event) = serde_json::from_slice::<GoEvent>(line) else {
            continue;
        };
        events += 1;
        let key = (event.package.clone(), event.test.clone());
        match event.action.as_str() {
            "build-output" => build.push_str(&event.output),
            "output" => keep(outputs.entry(key).or_default(), &event.output),
            "run" => {
                started.insert(key);
            }
            "pass" | "fail" | "skip" => {
                started.remove(&key);
                let text = outputs.remove(&key).unwrap_or_default();
                if event.test.is_empty() {
                    red_packages.insert(event.package.clone(), event.action == "fail");
                    if event.action == "fail" {
                        outputs.insert(key, text);
                    }
                    continue;
                }
                let outcome = match event.action.as_str() {
                    "pass" => TestOutcome::Passed,
                    "skip" => TestOutcome::Skipped {
                        reason: message(&text),
                    },
                    _ => TestOutcome::Failed {
                        message: message(&text),
                    },
                };
                tests.push(case(event.package, event.test, outcome, event.elapsed));
            }
            _ => {}
        }
    }
    if events == 0 {
        return Err(ReportError::new("go test event", "it has no events"));
    }
    // A test that began and never ended also ended its package's process.
    for (package, test) in started {
        let text = outputs
            .remove(&(package.clone(), test.clone()))
            .unwrap_or_default();
        tests.push(case(
            package,
            test,
            TestOutcome::Error {
                message: message(&text),
            },
            0.0,
        ));
    }
    // A package that does not build, or dies outside of a test.
    for (package, _) in red_packages.into_iter().filter(|(_, red)| *red) {
        if !tests
            .iter()
            .any(|t| t.id.file == package && t.outcome.is_failing())
        {
            let own = outputs
                .remove(&(package.clone(), String::new()))
                .unwrap_or_default();
            let text = message(&format!("{build}{own}"));
            tests.push(case(
                package,
                String::new(),
                TestOutcome::Unloaded { message: text },
                0.0,
            ));
        }
    }
    Ok(tests)
}

fn case(package: String, name: String, outcome: TestOutcome, seconds: f64) -> TestCase {
    TestCase {
        id: TestId { file: package, name },
        outcome,
        duration: duration(seconds),
    }
}

/// Only the end of what a test prints is kept while reading: it may print without end.
fn keep(output: &mut String, more: &str) {
    const MOST: usize = 64 * 1024;
    output.push_str(more);
    if output.len() > 2 * MOST {
        let cut = output.ceil_char_boundary(output.len() - MOST);
        output.drain(..cut);
    }
}
