//! Checks claims of the team's roles: reads files, runs tests, and reports facts. Writes into `results` and `analysis`,
//! and restores files that workers may not change.

mod framework_files;
pub mod generated_tests;
mod integrity;
mod offenders;
mod redundant;
mod selection;
pub mod test_report;
pub mod test_run;
mod text_scan;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use wavecrew_core::engine::Ledger;
use wavecrew_core::id::TaskIx;

use crate::environment::{EnvironmentError, TestEnvironment};
use crate::layer::{self, Kind, NOTHING_NEW, Placed};
use crate::result::RunResult;
use framework_files::interference;
use generated_tests::is_covered_already;
use integrity::weakened_tests;
use wavecrew_core::check_report::{CheckDetails, CheckReport};
use wavecrew_core::event::Verdict;
use wavecrew_core::view::first_few;

/// A claim to check.
#[derive(Debug, Clone)]
pub struct Case<'a> {
    pub session: &'a Path,
    pub task: &'a str,
    pub layer: &'a str,
    /// Percent of the lines in scope.
    pub target: f64,
    /// The number of the attempt at the row.
    pub attempt: u32,
    /// When the worker started; `None` before there is one.
    pub began: Option<SystemTime>,
    /// The columns that the worker reported.
    pub claims: &'a [(String, String)],
}

impl Case<'_> {
    fn claim(&self, column: &str) -> Option<&str> {
        let found = self.claims.iter().find(|(name, _)| name == column)?;
        Some(found.1.trim()).filter(|value| !value.is_empty())
    }

    /// The layer's folder in the session.
    fn folder(&self, environment: &TestEnvironment) -> Result<PathBuf, EnvironmentError> {
        let unknown = || std::io::Error::other(format!("the session has no layer `{}`", self.layer));
        Ok(self
            .session
            .join(environment.scope.folder(self.layer).ok_or_else(unknown)?))
    }
}

/// What a layer's folder holds when its check begins.
enum Delivery {
    /// Nothing that counts, for the reason in this report.
    Refused(CheckReport),
    /// No test, because the tests so far cover enough.
    NothingNew,
    /// No test, without such a reason.
    Missing,
    Tests(Vec<Placed>),
}

fn delivery(
    environment: &TestEnvironment,
    case: &Case<'_>,
    folder: &Path,
    last: Option<&RunResult>,
) -> Result<Delivery, EnvironmentError> {
    if let Some(reason) = weakened_tests(case, folder, last)? {
        return Ok(Delivery::Refused(CheckReport::contradicted(reason)));
    }
    if let Some(reason) = interference(folder)? {
        return Ok(Delivery::Refused(CheckReport::send_back(reason)));
    }
    let placed = layer::place(&environment.scope, case.layer, folder)?;
    Ok(if placed.iter().any(|file| file.kind == Kind::Test) {
        Delivery::Tests(placed)
    } else if folder.join(NOTHING_NEW).is_file() && is_covered_already(case, &environment.scope) {
        Delivery::NothingNew
    } else {
        Delivery::Missing
    })
}

/// The run keeps only the end of the output, and the report has to fit there.
const MAX_TEXT: usize = 40_000;

/// A check of one of the team's claims.
pub type Check = fn(&mut TestEnvironment, &Case<'_>) -> Result<CheckReport, EnvironmentError>;

/// An attempt at a task whose claim is checked.
#[derive(Clone, Copy)]
pub struct Attempt<'a> {
    pub session: &'a Path,
    pub ledger: &'a Ledger,
    pub task: TaskIx,
    pub attempt: u32,
    /// Whether a worker has run: before that, nothing can have been edited.
    pub after_worker: bool,
    /// The columns that the worker reported.
    pub claims: &'a [(String, String)],
}

/// Runs one check in the session's test environment. A broken environment contradicts the claim, because a
/// person has to fix it.
pub fn run_check(environment: &mut TestEnvironment, attempt: &Attempt<'_>, check: Check) -> CheckReport {
    let plan = attempt.ledger.plan();
    let layer = plan.cell(attempt.task, "layer");
    environment.scope = environment.whole.for_layer(layer);
    if environment.scope.files.is_empty() {
        return nothing_to_test(layer);
    }
    let target = plan.cell(attempt.task, "coverage_target").trim().parse().ok();
    let started = attempt.ledger.task(attempt.task).started;
    let began = started.map(|at| UNIX_EPOCH + Duration::from_millis(at.0));
    let case = Case {
        session: attempt.session,
        task: plan.id(attempt.task),
        layer,
        target: target.or_else(|| environment.scope.target(layer)).unwrap_or(0.0),
        attempt: attempt.attempt,
        began: began.filter(|_| attempt.after_worker),
        claims: attempt.claims,
    };
    let report = check(environment, &case)
        .unwrap_or_else(|error| CheckReport::contradicted(format!("{error}. Help: {}", error.help())));
    truncated(report)
}

/// The report on a part whose framework cannot run here.
fn nothing_to_test(layer: &str) -> CheckReport {
    let measured = [
        ("pass_rate", "1.00"),
        ("coverage_achieved", ""),
        ("test_files", ""),
    ];
    CheckReport::Confirmed(CheckDetails {
        verdict: Verdict::Unverified,
        measured: facts(measured),
        findings: format!("no file of {layer} can be tested here: its framework does not run"),
        ..CheckDetails::default()
    })
}

fn truncated(mut report: CheckReport) -> CheckReport {
    let text = match &mut report {
        CheckReport::Short(details) => &mut details.feedback,
        CheckReport::SendBack { reason } | CheckReport::Contradicted { reason } => reason,
        CheckReport::Confirmed(details) => &mut details.findings,
    };
    if text.len() > MAX_TEXT {
        text.truncate(text.floor_char_boundary(MAX_TEXT));
        text.push_str("\n[...] the rest is in the session's results folder");
    }
    report
}

fn facts<const N: usize>(facts: [(&str, impl ToString); N]) -> BTreeMap<String, String> {
    facts
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_string()))
        .collect()
}

/// At most this many items of a list are named.
const NAMED: usize = 10;

/// `a, b and 3 more`.
pub(crate) fn listed(names: &[String]) -> String {
    first_few(names, NAMED)
}
