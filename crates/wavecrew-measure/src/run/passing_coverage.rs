//! Coverage of the tests that pass, and of no others: a test that fails on its last line has run the rest without checking it.

use super::{Focus, MeasureError, Request, Runner, TestRun};
use crate::measurement::{Coverage, Measurement, Note, TestCase, TestId, TestOutcome};

impl Runner {
    /// Runs the suite again without the tests that did not pass, and takes coverage from that. Does nothing when all passed, or
    /// when coverage is not known.
    pub fn measure_passing_coverage(
        &self,
        request: &Request<'_>,
        measurement: &mut Measurement,
    ) -> Result<(), MeasureError> {
        let flaky = measurement.flaky.iter().map(|flaky| &flaky.id);
        let failing = measurement.tests.iter().filter(|test| counts_for_nothing(test));
        let mut without: Vec<TestId> = failing.map(|test| &test.id).chain(flaky).cloned().collect();
        without.sort();
        without.dedup();
        if without.is_empty() || measurement.coverage == Coverage::Unknown {
            return Ok(());
        }
        if !request.project.framework.facts().can_skip_tests {
            measurement.notes.push(Note {
                what: "coverage includes what failing tests ran".to_owned(),
                fix: Some("repair the tests that fail".to_owned()),
            });
            return Ok(());
        }
        let focus = Focus {
            without: &without,
            ..Focus::default()
        };
        measurement.coverage = self.measure_with(request, focus)?.coverage;
        Ok(())
    }
}

fn counts_for_nothing(test: &TestCase) -> bool {
    match test.outcome {
        TestOutcome::Failed { .. }
        | TestOutcome::Error { .. }
        | TestOutcome::Unloaded { .. }
        | TestOutcome::ExpectedFailure { .. } => true,
        // What is skipped runs nothing.
        TestOutcome::Passed | TestOutcome::Skipped { .. } => false,
    }
}

impl TestRun<'_> {
    /// The tests to leave out as pytest names them; files that do not load have no name in them.
    pub(crate) fn skipped_ids(&self) -> Vec<String> {
        let named = self.focus.without.iter().filter(|test| !test.name.is_empty());
        named.map(TestId::node_id).collect()
    }

    pub(crate) fn skipped_files(&self) -> impl Iterator<Item = &str> {
        let unnamed = self.focus.without.iter().filter(|test| test.name.is_empty());
        unnamed.map(|test| test.file.as_str())
    }

    /// A pattern of names that all others match: jest and vitest join the names of suites and tests with a space.
    pub(crate) fn skip_pattern(&self) -> Option<String> {
        let named = self.focus.without.iter().filter(|test| !test.name.is_empty());
        let patterns: Vec<String> = named.map(|test| pattern(&test.name)).collect();
        (!patterns.is_empty()).then(|| format!("^(?!(?:{})$)", patterns.join("|")))
    }
}

fn pattern(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        if r"\^$.*+?()[]{}|/".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    // A title may itself hold what parts the titles in a report.
    out.replace(" > ", " (?:> )?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_as_they_are() {
        assert_eq!(
            pattern("total > is 5 (or [6])?"),
            r"total (?:> )?is 5 \(or \[6\]\)\?"
        );
    }
}
