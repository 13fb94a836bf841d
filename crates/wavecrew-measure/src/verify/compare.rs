//! Compares the states of a project before and after a change, test by test where that is known.

use super::{CommandOutcome, ProjectState, SuiteResult, TestResult};
use crate::measurement::TestId;
use serde::Serialize;
use std::collections::BTreeMap;

/// A complaint names this many tests; it only counts the rest.
const NAMED_LIMIT: usize = 10;

/// The difference between two states.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// Passed or did not exist before, and fails now: tests by name, `build`, or a command line.
    pub newly_failing: Vec<Failing>,
    pub fixed: Vec<String>,
    /// Failed before and fails now.
    pub still_failing: Vec<Failing>,
    /// Tests that passed before and no longer run: deleted or skipped.
    pub lost: Vec<String>,
    /// Nothing could be checked.
    pub unverified: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failing {
    pub name: String,
    pub message: String,
}

impl Comparison {
    /// What must be fixed before the change can be accepted, for its author.
    pub fn complaint(&self) -> Option<String> {
        let mut parts = Vec::new();
        if !self.newly_failing.is_empty() {
            parts.push(format!(
                "failing since the change: {}",
                listed(self.newly_failing.iter().map(|f| f.name.as_str()))
            ));
        }
        if !self.lost.is_empty() {
            parts.push(format!(
                "tests that passed before are gone or skipped: {}",
                listed(self.lost.iter().map(String::as_str))
            ));
        }
        if parts.is_empty() {
            return None;
        }
        let example = self
            .newly_failing
            .first()
            .filter(|first| !first.message.is_empty());
        let example = example.map(|first| format!("\n{}:\n{}", first.name, first.message));
        Some(parts.join("; ") + &example.unwrap_or_default())
    }
}

fn listed<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let more = names.len().saturating_sub(NAMED_LIMIT);
    let text = names.take(NAMED_LIMIT).collect::<Vec<_>>().join(", ");
    if more == 0 {
        text
    } else {
        format!("{text} and {more} more")
    }
}

/// Compares a project with itself before a change.
pub fn compare(before: &ProjectState, after: &ProjectState) -> Comparison {
    let mut found = Comparison {
        unverified: !after.has_checks(),
        ..Comparison::default()
    };
    for (name, before, after) in [
        ("setup", &before.setup, &after.setup),
        ("build", &before.build, &after.build),
    ] {
        if let Some(after) = after {
            command(&mut found, name, before.as_ref(), after);
        }
    }
    match (&before.tests, &after.tests) {
        (SuiteResult::Measured { tests: before }, SuiteResult::Measured { tests: after }) => {
            tests(&mut found, before, after);
        }
        (
            SuiteResult::None | SuiteResult::Command { .. } | SuiteResult::NotRun,
            SuiteResult::Measured { tests: after },
        ) => {
            tests(&mut found, &BTreeMap::new(), after);
        }
        (before, SuiteResult::Command { line, outcome }) => {
            let before = match before {
                SuiteResult::Command { outcome, .. } => Some(outcome),
                SuiteResult::None | SuiteResult::Measured { .. } | SuiteResult::NotRun => None,
            };
            command(&mut found, line, before, outcome);
        }
        (SuiteResult::Measured { tests: before }, SuiteResult::None) => {
            let green = before.iter().filter(|(_, result)| **result == TestResult::Passed);
            found.lost.extend(green.map(|(id, _)| id.to_string()));
        }
        // The setup or build failed, which is reported above.
        (_, SuiteResult::NotRun)
        | (SuiteResult::None | SuiteResult::Command { .. } | SuiteResult::NotRun, SuiteResult::None) => {}
    }
    found
}

fn command(found: &mut Comparison, name: &str, before: Option<&CommandOutcome>, after: &CommandOutcome) {
    let was_good = before.is_none_or(CommandOutcome::is_good);
    match after {
        CommandOutcome::Passed if !was_good => found.fixed.push(name.to_owned()),
        CommandOutcome::Passed => {}
        CommandOutcome::Failed { how, output } => {
            let failing = Failing {
                name: name.to_owned(),
                message: format!("{how}\n{output}").trim_end().to_owned(),
            };
            if was_good {
                found.newly_failing.push(failing);
            } else {
                found.still_failing.push(failing);
            }
        }
    }
}

fn tests(
    found: &mut Comparison,
    before: &BTreeMap<TestId, TestResult>,
    after: &BTreeMap<TestId, TestResult>,
) {
    for (id, result) in after {
        let name = id.to_string();
        match (before.get(id), result) {
            (Some(TestResult::Failed { .. }), TestResult::Failed { message }) => {
                found.still_failing.push(Failing {
                    name,
                    message: message.clone(),
                });
            }
            (Some(TestResult::Passed | TestResult::NotCounted) | None, TestResult::Failed { message }) => {
                found.newly_failing.push(Failing {
                    name,
                    message: message.clone(),
                });
            }
            (Some(TestResult::Failed { .. }), TestResult::Passed) => found.fixed.push(name),
            (Some(TestResult::Passed), TestResult::NotCounted) => found.lost.push(name),
            (Some(TestResult::Passed | TestResult::NotCounted) | None, TestResult::Passed)
            | (Some(TestResult::Failed { .. } | TestResult::NotCounted) | None, TestResult::NotCounted) => {}
        }
    }
    let gone = before
        .iter()
        .filter(|(id, result)| **result == TestResult::Passed && !after.contains_key(id));
    found.lost.extend(gone.map(|(id, _)| id.to_string()));
}
