//! Checks the analyst's report: its figures are computed from measurements and replace what the analyst wrote.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Case;
use super::integrity::with_integrity;
use crate::environment::{EnvironmentError, TestEnvironment};
use crate::quality::{Data, Score, complete};
use crate::what_changed;
use wavecrew_core::event::Verdict;

use wavecrew_core::check_report::{CheckDetails, CheckReport};

/// For a comparison of the change with its old version.
const COMPARISON: Duration = Duration::from_secs(6);

pub fn check(environment: &mut TestEnvironment, case: &Case<'_>) -> Result<CheckReport, EnvironmentError> {
    with_integrity(environment, case, check_report)
}

fn check_report(environment: &mut TestEnvironment, case: &Case<'_>) -> Result<CheckReport, EnvironmentError> {
    if what_changed::document(case.session).is_none() {
        // The offline agent makes a longer comparison itself, before it writes tests.
        what_changed::compare_with_base(case.session, &environment.scope, COMPARISON, None);
    }
    let data = Data::read(case.session, &environment.scope)?;
    if data.layers.is_empty() {
        return Ok(CheckReport::contradicted(
            "no layer was measured, so that there is nothing to report on",
        ));
    }
    let score = complete(case.session, &data)?;
    let total = Score::shown(score.total);
    let mut facts = BTreeMap::from([("score".to_owned(), total.clone())]);
    for part in &score.parts {
        facts.extend(
            part.points
                .map(|points| (part.name.to_owned(), Score::shown(points))),
        );
    }
    Ok(CheckReport::Confirmed(CheckDetails {
        verdict: Verdict::Verified,
        facts,
        findings: format!("quality score {total} of 100"),
        ..CheckDetails::default()
    }))
}
