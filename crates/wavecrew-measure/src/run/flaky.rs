//! Finds tests whose outcome changes between runs of the same code.

use std::collections::BTreeMap;

use super::{Collect, MeasureError, Request, Runner, TestOrder};
use crate::measurement::{Flaky, Measurement, TestId, TestOutcome};

impl Runner {
    /// Runs the suite again, every second time shuffled, and records in `measurement` the tests whose outcome changes.
    pub fn find_flaky(
        &self,
        request: &Request<'_>,
        reruns: u32,
        measurement: &mut Measurement,
    ) -> Result<(), MeasureError> {
        let mut others = Vec::new();
        for seed in 1..=reruns {
            let order = if seed % 2 == 1 {
                TestOrder::Shuffled { seed }
            } else {
                TestOrder::Default
            };
            let request = Request {
                coverage: Collect::TestsOnly,
                order,
                ..request.clone()
            };
            others.push(self.measure(&request)?);
        }
        measurement.flaky = flaky_tests(measurement, &others);
        Ok(())
    }
}

fn flaky_tests(first: &Measurement, others: &[Measurement]) -> Vec<Flaky> {
    let mut outcomes: BTreeMap<&TestId, Vec<&TestOutcome>> = BTreeMap::new();
    for test in [first].into_iter().chain(others).flat_map(|m| &m.tests) {
        outcomes.entry(&test.id).or_default().push(&test.outcome);
    }
    let changed = |outcomes: &[&TestOutcome]| outcomes.iter().any(|o| o.kind() != outcomes[0].kind());
    outcomes
        .into_iter()
        .filter(|(_, outcomes)| changed(outcomes))
        .map(|(id, outcomes)| Flaky {
            id: id.clone(),
            runs: outcomes.len(),
            passed: outcomes.iter().filter(|o| ***o == TestOutcome::Passed).count(),
        })
        .collect()
}
