//! JUnit XML as pytest, cargo nextest, vitest and many others write it. Counts the cases, never the summaries: pytest's
//! root element has none.

use std::collections::BTreeMap;
use std::time::Duration;

use super::xml::{self, Node};
use super::{ReportError, duration, message};
use crate::measurement::{TestCase, TestId, TestOutcome};

const FORMAT: &str = "JUnit XML";

#[derive(Default)]
struct Case {
    id: Option<TestId>,
    duration: Duration,
    problem: Option<Problem>,
}

struct Problem {
    kind: Kind,
    type_: String,
    short: String,
    text: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Failure,
    Error,
    Skipped,
}

pub fn parse(report: &[u8]) -> Result<Vec<TestCase>, ReportError> {
    let mut tests = Vec::new();
    let mut suites = 0;
    let mut suite_files: Vec<String> = Vec::new();
    let mut case = Case::default();
    // The current text belongs to a failure, not to a `system-out` beside it.
    let mut in_problem = false;
    xml::walk(report, |node| match node {
        Node::Open { name, mut attributes } => match name.as_str() {
            "testsuites" => suites += 1,
            "testsuite" => {
                suites += 1;
                suite_files.push(attributes.remove("file").unwrap_or_default());
            }
            "testcase" => case = open_case(attributes, suite_files.last()),
            "failure" | "error" | "skipped" => {
                in_problem = true;
                let kind = match name.as_str() {
                    "failure" => Kind::Failure,
                    "error" => Kind::Error,
                    _ => Kind::Skipped,
                };
                // A test that fails and whose teardown fails has both; the first one is the reason.
                if case.problem.is_none() {
                    case.problem = Some(Problem {
                        kind,
                        type_: attributes.remove("type").unwrap_or_default(),
                        short: attributes.remove("message").unwrap_or_default(),
                        text: String::new(),
                    });
                }
            }
            _ => {}
        },
        Node::Text(text) => {
            if in_problem && let Some(problem) = &mut case.problem {
                problem.text.push_str(&text);
            }
        }
        Node::Close { name } => match name.as_str() {
            "failure" | "error" | "skipped" => in_problem = false,
            "testsuite" => {
                suite_files.pop();
            }
            "testcase" => tests.extend(close_case(std::mem::take(&mut case))),
            _ => {}
        },
    })
    .map_err(|e| ReportError::new(FORMAT, e))?;
    if suites == 0 {
        return Err(ReportError::new(FORMAT, "it has no test suite"));
    }
    Ok(join_teardown(tests))
}

fn open_case(mut attributes: BTreeMap<String, String>, suite_file: Option<&String>) -> Case {
    let mut take = |name: &str| attributes.remove(name).unwrap_or_default();
    let (class, name, file) = (take("classname"), take("name"), take("file"));
    let seconds = take("time").parse().unwrap_or(0.0);
    let file = if file.is_empty() {
        suite_file.cloned().unwrap_or_default()
    } else {
        file
    };
    Case {
        id: Some(TestId {
            name: full_name(&class, &name, &file),
            file,
        }),
        duration: duration(seconds),
        problem: None,
    }
}

/// pytest's class names repeat the file, dotted; the rest is the class. Without a file the whole class name stays.
fn full_name(class: &str, name: &str, file: &str) -> String {
    let dotted = file.strip_suffix(".py").unwrap_or(file).replace('/', ".");
    let class = match class.strip_prefix(&dotted) {
        Some(rest) if !file.is_empty() => rest.trim_start_matches('.'),
        // A file that does not load: the name is its module, dotted.
        _ if class.is_empty() && !file.is_empty() && name == dotted => return String::new(),
        _ => class,
    };
    if class.is_empty() || class == file {
        name.to_owned()
    } else {
        format!("{class}::{name}")
    }
}

fn close_case(case: Case) -> Option<TestCase> {
    let id = case.id?;
    let outcome = case.problem.map_or(TestOutcome::Passed, |v| {
        let text = message(if v.text.trim().is_empty() {
            &v.short
        } else {
            &v.text
        });
        match v.kind {
            Kind::Failure => TestOutcome::Failed { message: text },
            Kind::Error if v.short.contains("collection failure") => TestOutcome::Unloaded { message: text },
            Kind::Error => TestOutcome::Error { message: text },
            Kind::Skipped if v.type_ == "pytest.xfail" => TestOutcome::ExpectedFailure {
                reason: message(&v.short),
            },
            Kind::Skipped => TestOutcome::Skipped {
                reason: message(&v.short),
            },
        }
    });
    Some(TestCase {
        id,
        outcome,
        duration: case.duration,
    })
}

/// pytest reports a test that passes and whose teardown fails as two cases in a row: together they are one error.
fn join_teardown(tests: Vec<TestCase>) -> Vec<TestCase> {
    let mut joined: Vec<TestCase> = Vec::with_capacity(tests.len());
    for test in tests {
        match joined.last_mut() {
            Some(last) if last.id == test.id && matches!(test.outcome, TestOutcome::Error { .. }) => {
                if !last.outcome.is_failing() {
                    last.outcome = test.outcome;
                }
            }
            _ => joined.push(test),
        }
    }
    joined
}
