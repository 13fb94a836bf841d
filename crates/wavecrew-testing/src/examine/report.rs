//! The analyst's report: its figures are computed from what was measured, and stand in it whatever was written.

use std::collections::BTreeMap;

use super::Case;
use super::honest::honestly;
use crate::bench::{Bench, Trouble};
use crate::quality::{Data, Score, complete};
use crate::verdict::{Checked, Verdict};

pub fn examine(bench: &mut Bench, case: &Case<'_>) -> Result<Verdict, Trouble> {
    honestly(bench, case, looked_at)
}

fn looked_at(bench: &mut Bench, case: &Case<'_>) -> Result<Verdict, Trouble> {
    let data = Data::read(case.session, &bench.scope)?;
    if data.layers.is_empty() {
        return Ok(Verdict::contradicted(
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
    Ok(Verdict::Holds {
        checked: Checked::Verified,
        measured: BTreeMap::new(),
        facts,
        findings: format!("quality score {total} of 100"),
    })
}
