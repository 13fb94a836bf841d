//! Claims about tests: those that were written, how they run, and the report on them.

use super::{Args, Stage};
use crate::exit::Failure;
use crate::launch::testing;
use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};
use wavecrew_core::id::TaskIx;
use wavecrew_session::SessionView;
use wavecrew_testing::bench::{Bench, Trouble};
use wavecrew_testing::examine::{Case, broken};
use wavecrew_testing::verdict::Verdict;

pub use wavecrew_testing::examine::generated::examine as generated;
pub use wavecrew_testing::examine::report::examine as report;
pub use wavecrew_testing::examine::run::examine as run;

/// The line is read from the end of what is printed, and has to fit there.
const FEEDBACK: usize = 40_000;

pub fn examine(
    args: &Args,
    view: &SessionView,
    task: TaskIx,
    look: fn(&mut Bench, &Case<'_>) -> Result<Verdict, Trouble>,
) -> Result<Verdict, Failure> {
    let plan = view.ledger.plan();
    let text = std::fs::read(&args.report).unwrap_or_default();
    let claims: BTreeMap<String, String> = serde_json::from_slice(&text).unwrap_or_default();
    let claims: Vec<(String, String)> = claims.into_iter().collect();
    let mut bench: Bench = testing::bench(&args.session)?;
    let layer = plan.cell(task, "layer");
    let target = plan.cell(task, "coverage_target").trim().parse().ok();
    let started = view.ledger.task(task).started;
    let began = started.map(|at| UNIX_EPOCH + Duration::from_millis(at.0));
    let case = Case {
        session: &args.session,
        task: &args.task,
        layer,
        target: target.or_else(|| bench.scope.target(layer)).unwrap_or(0.0),
        attempt: args.attempt,
        began: began.filter(|_| args.stage == Stage::After),
        claims: &claims,
    };
    Ok(shortened(
        look(&mut bench, &case).unwrap_or_else(|trouble| broken(&trouble)),
    ))
}

fn shortened(mut verdict: Verdict) -> Verdict {
    let text = match &mut verdict {
        Verdict::Short { feedback, .. } => feedback,
        Verdict::Mend { reason } | Verdict::Contradicted { reason } => reason,
        Verdict::Holds { findings, .. } => findings,
    };
    if text.len() > FEEDBACK {
        text.truncate(text.floor_char_boundary(FEEDBACK));
        text.push_str("\n[...] the rest is in the session's results folder");
    }
    verdict
}
