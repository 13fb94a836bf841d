//! Coverage of passing tests only: a test that fails on its last line has run the rest without checking it.

use super::{Focus, MeasureError, Request, Runner, TestRun};
use crate::measurement::{Coverage, Measurement, Note, TestCase, TestId, TestOutcome};

impl Runner {
    /// Runs the suite again without the tests that did not pass, and replaces the coverage. Does nothing when all passed or
    /// coverage is unknown.
    pub fn measure_passing_coverage(
        &self,
        request: &Request<'_>,
        measurement: &mut Measurement,
    ) -> Result<(), MeasureError> {
        let flaky = measurement.flaky.iter().map(|flaky| &flaky.id);
        let failing = measurement.tests.iter().filter(|test| did_not_pass(test));
        let mut skip: Vec<TestId> = failing.map(|test| &test.id).chain(flaky).cloned().collect();
        skip.sort();
        skip.dedup();
        if skip.is_empty() || measurement.coverage == Coverage::Unknown {
            return Ok(());
        }
        if !request.project.framework.facts().can_skip_tests {
            measurement.notes.push(Note {
                what: "coverage includes what failing tests ran".to_owned(),
                fix: Some("fix the failing tests".to_owned()),
            });
            return Ok(());
        }
        let focus = Focus {
            skip: &skip,
            ..Focus::default()
        };
        measurement.coverage = self.measure_with(request, focus)?.coverage;
        Ok(())
    }
}

fn did_not_pass(test: &TestCase) -> bool {
    match test.outcome {
        TestOutcome::Failed { .. }
        | TestOutcome::Error { .. }
        | TestOutcome::Unloaded { .. }
        | TestOutcome::ExpectedFailure { .. } => true,
        // A skipped test covers nothing.
        TestOutcome::Passed | TestOutcome::Skipped { .. } => false,
    }
}

impl TestRun<'_> {
    /// The tests to skip as pytest names them, without files that do not load.
    pub(crate) fn skipped_ids(&self) -> Vec<String> {
        let named = self.focus.skip.iter().filter(|test| !test.name.is_empty());
        named.map(TestId::node_id).collect()
    }

    pub(crate) fn skipped_files(&self) -> impl Iterator<Item = &str> {
        let unnamed = self.focus.skip.iter().filter(|test| test.name.is_empty());
        unnamed.map(|test| test.file.as_str())
    }

    /// A pattern that matches the names of all other tests: jest and vitest join suites and tests with a space.
    pub(crate) fn skip_pattern(&self) -> Option<String> {
        let named = self.focus.skip.iter().filter(|test| !test.name.is_empty());
        let patterns: Vec<String> = named.map(|test| escaped(&test.name)).collect();
        (!patterns.is_empty()).then(|| format!("^(?!(?:{})$)", patterns.join("|")))
    }
}

fn escaped(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        if r"\^$.*+?()[]{}|/".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    // A title may itself contain the separator of a report.
    out.replace(" > ", " (?:> )?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_names_are_escaped() {
        assert_eq!(
            escaped("total > is 5 (or [6])?"),
            r"total (?:> )?is 5 \(or \[6\]\)\?"
        );
    }
}
