//! Runs and measures a layer's tests: the figures of the row and of the loop, which tests are kept, and the
//! feedback. Claimed figures are mentioned only if they differ from the measured ones.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use wavecrew_measure::Ratio;
use wavecrew_measure::run::Collect;

use super::integrity::{changed_by_tests, with_integrity};
use super::selection::measure;
use super::{Case, Delivery, delivery, facts, listed};
use crate::baseline::Baseline;
use crate::coverage_figures::{lines, percent, rate};
use crate::effectiveness::Effectiveness;
use crate::environment::{EnvironmentError, TestEnvironment};
use crate::feedback;
use crate::layer;
use crate::result::{LayerCoverage, RunResult, SuiteFigures};
use crate::rounds;
use crate::scope::Scope;
use crate::select::DropReason;
use crate::summary::Summary;
use wavecrew_core::check_report::{CheckDetails, CheckReport};
use wavecrew_core::event::Verdict;
use wavecrew_session::SessionPaths;

/// A round of the offline agent that gains fewer points of coverage is its last one.
const LEAST_GAIN: f64 = 1.0;

pub fn check(environment: &mut TestEnvironment, case: &Case<'_>) -> Result<CheckReport, EnvironmentError> {
    with_integrity(environment, case, check_run)
}

fn check_run(environment: &mut TestEnvironment, case: &Case<'_>) -> Result<CheckReport, EnvironmentError> {
    let folder = case.folder(environment)?;
    let before = RunResult::read(case.session, case.layer).ok();
    match delivery(environment, case, &folder, before.as_ref())? {
        Delivery::Refused(report) => return Ok(report),
        Delivery::NothingNew => {
            let result = without_new_tests(case, &environment.scope);
            result.write(case.session)?;
            Summary::write(case.session, &environment.whole)?;
            let text = feedback::write(environment, case, &folder, &result)?;
            return verdict(environment, case, &result, text);
        }
        Delivery::Missing => {
            let why = format!("there is no test of {} to run", case.layer);
            return Ok(CheckReport::contradicted(why));
        }
        Delivery::Tests(_) => {}
    }
    if let Some(result) = before
        .as_ref()
        .filter(|result| is_measured(case, &folder, result))
    {
        let text = feedback::write(environment, case, &folder, result)?;
        return verdict(environment, case, result, text);
    }
    let result = measure(environment, case, &folder, before.as_ref())?;
    // For tests that change source only in another order, or only with mutants.
    let _: Option<String> = changed_by_tests(environment)?;
    result.write(case.session)?;
    Summary::write(case.session, &environment.whole)?;
    rounds::save_checked(case.session, case.layer, &folder)?;
    rounds::save_round(
        case.session,
        case.layer,
        case.task,
        case.attempt,
        &environment.scope,
    )?;
    quarantine(case, &folder, &result)?;
    let text = feedback::write(environment, case, &folder, &result)?;
    verdict(environment, case, &result, text)
}

/// Whether the result is that of the same tests in the same attempt: the worker has changed nothing.
fn is_measured(case: &Case<'_>, folder: &Path, result: &RunResult) -> bool {
    let fingerprint = |folder: &Path| rounds::fingerprint(folder).ok();
    let checked = rounds::checked_tests(case.session, case.layer);
    let same = || fingerprint(folder).is_some_and(|now| Some(now) == fingerprint(&checked));
    result.task == case.task && result.attempt == case.attempt && case.began.is_some() && same()
}

/// The result of a layer for which the project's own tests are enough: their coverage counts.
fn without_new_tests(case: &Case<'_>, scope: &Scope) -> RunResult {
    let files = Baseline::read(case.session)
        .unwrap_or_default()
        .coverage_of(scope);
    let none = || SuiteFigures {
        tests: 0,
        passed: 0,
        pass_rate: "1.00".to_owned(),
    };
    RunResult {
        layer: case.layer.to_owned(),
        task: case.task.to_owned(),
        attempt: case.attempt,
        pass_rate: "1.00".to_owned(),
        coverage_achieved: Some(percent(lines(&files))),
        target: case.target,
        delivered: none(),
        kept: none(),
        coverage: Some(LayerCoverage {
            lines: lines(&files),
            files,
        }),
        dropped: Vec::new(),
        suspected_defects: Vec::new(),
        mutation: None,
        notes: Vec::new(),
        tests: Vec::new(),
    }
}

/// Copies tests that may show a defect into quarantine.
fn quarantine(case: &Case<'_>, folder: &Path, result: &RunResult) -> Result<(), EnvironmentError> {
    let to = rounds::quarantined_tests(case.session, case.layer);
    rounds::make_empty(&to)?;
    let files: BTreeSet<&str> = result.faulty().map(|test| test.id.file.as_str()).collect();
    for file in files {
        let target = to.join(file);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        if folder.join(file).is_file() {
            fs::copy(folder.join(file), target)?;
        }
    }
    Ok(())
}

fn verdict(
    environment: &mut TestEnvironment,
    case: &Case<'_>,
    result: &RunResult,
    feedback: String,
) -> Result<CheckReport, EnvironmentError> {
    let mut measured = BTreeMap::from([
        ("pass_rate".to_owned(), result.pass_rate.clone()),
        (
            "coverage_achieved".to_owned(),
            result.coverage_achieved.clone().unwrap_or_default(),
        ),
    ]);
    let folder = environment
        .scope
        .folder(case.layer)
        .map(|folder| folder.display().to_string())
        .unwrap_or_default();
    let mut files: Vec<&str> = result.tests.iter().map(|test| test.id.file.as_str()).collect();
    files.sort_unstable();
    files.dedup();
    let files: Vec<String> = files.iter().map(|file| format!("{folder}/{file}")).collect();
    measured.insert("test_files".to_owned(), files.join(";"));
    let kill_rate = result.mutation.as_ref().filter(|m| m.total > 0).map(|m| {
        rate(Ratio {
            covered: m.killed,
            total: m.total,
        })
    });
    let mut facts = facts([
        ("delivered_pass_rate", result.delivered.pass_rate.clone()),
        ("tests", result.delivered.tests.to_string()),
        ("kept", result.kept.tests.to_string()),
        ("add_nothing", result.redundant().count().to_string()),
    ]);
    facts.extend(kill_rate.map(|rate| ("kill_rate".to_owned(), rate)));
    let covered = result
        .coverage_achieved
        .as_ref()
        .and_then(|text| text.parse::<f64>().ok());
    let min_effectiveness = environment.scope.min_effectiveness;
    let effectiveness = Effectiveness::of(result, min_effectiveness);
    let mut findings = findings(case, result);
    let mut doubt = String::new();
    match &effectiveness {
        Effectiveness::Enough => {}
        Effectiveness::Weak { killed, total } => {
            doubt = format!("weak tests, {killed} of {total} mutants killed");
            findings.insert_str(
                0,
                &format!(
                    "weak tests: {killed} of {total} mutants killed, {min_effectiveness} % are needed; "
                ),
            );
        }
        Effectiveness::Unknown { reason } => {
            findings.push_str(&format!("; unverified: effectiveness unknown, {reason}"));
        }
    }
    let weak = matches!(effectiveness, Effectiveness::Weak { .. });
    if weak {
        let target = f64::from(min_effectiveness) / 100.0;
        facts.insert("kill_rate_target".to_owned(), target.to_string());
    }
    facts.extend(exhausted(case, result, covered, weak).map(|why| ("exhausted".to_owned(), why)));
    let good =
        result.delivered.pass_rate == "1.00" && covered.is_none_or(|covered| covered >= case.target) && !weak;
    if !good {
        return Ok(CheckReport::Short(CheckDetails {
            measured,
            facts,
            findings,
            feedback,
            doubt,
            ..CheckDetails::default()
        }));
    }
    if let Some(reason) = newly_red(environment, case)? {
        return Ok(CheckReport::contradicted(reason));
    }
    Ok(CheckReport::Confirmed(CheckDetails {
        verdict: match effectiveness {
            Effectiveness::Enough => Verdict::Verified,
            Effectiveness::Weak { .. } | Effectiveness::Unknown { .. } => Verdict::Unverified,
        },
        measured,
        facts,
        findings,
        ..CheckDetails::default()
    }))
}

/// Why the offline agent's next round would gain almost nothing: its search found little in the last one.
fn exhausted(case: &Case<'_>, result: &RunResult, covered: Option<f64>, weak: bool) -> Option<String> {
    let searched = SessionPaths::at(case.session).generated_modules(case.layer);
    let earlier = rounds::history(case.session, case.layer, case.task, case.attempt);
    // More tests may kill more mutants.
    if !searched.is_file() || (weak && earlier.last()?.delivered.tests < result.delivered.tests) {
        return None;
    }
    let figure = |run: &RunResult| run.coverage_achieved.as_ref()?.parse::<f64>().ok();
    let gain = covered? - earlier.iter().filter_map(figure).reduce(f64::max)?;
    (gain < LEAST_GAIN).then(|| format!("the last round gained {:.1} points", gain.max(0.0)))
}

/// Runs the project's own tests together with the new ones: what passed before must still pass.
fn newly_red(environment: &TestEnvironment, case: &Case<'_>) -> Result<Option<String>, EnvironmentError> {
    let Ok(baseline) = Baseline::read(case.session) else {
        return Ok(None);
    };
    if baseline.tests() == 0 {
        return Ok(None);
    }
    let kept = rounds::kept_tests(case.session, case.layer);
    let placed = layer::place(&environment.scope, case.layer, &kept)?;
    let _overlay = layer::overlay(environment.tree(), &kept, &placed, &environment.snapshot.manifest)?;
    environment.progress.begin("the project's own tests");
    for framework in &environment.scope.frameworks {
        let Ok(now) = environment.run_own_tests(framework, baseline.files(framework), Collect::TestsOnly)
        else {
            continue;
        };
        let red: Vec<String> = baseline
            .newly_red(framework, &now)
            .iter()
            .map(ToString::to_string)
            .collect();
        if !red.is_empty() {
            return Ok(Some(format!(
                "together with the new tests, these tests of the project fail: {}",
                listed(&red)
            )));
        }
    }
    Ok(None)
}

/// The measured figures, and the wrong ones of the claim, in one sentence.
fn findings(case: &Case<'_>, result: &RunResult) -> String {
    let mut text = format!(
        "{} of {} tests kept, pass rate {}",
        result.kept.tests, result.delivered.tests, result.delivered.pass_rate
    );
    if let Some(covered) = &result.coverage_achieved {
        text.push_str(&format!(
            ", {covered} % of the lines in scope covered (target {})",
            case.target
        ));
    } else {
        let why = result.notes.iter().map(|note| note.what.as_str());
        let mut why = why.filter_map(|what| what.strip_suffix(": only the pass rate is known"));
        let why = why.next().unwrap_or("no coverage tool");
        text.push_str(&format!(", coverage unknown: {why}"));
    }
    if let Some(m) = result.mutation.as_ref().filter(|m| m.total > 0) {
        text.push_str(&format!(", {} of {} mutants killed", m.killed, m.total));
    }
    // Missing figures, and how to get them.
    for note in result.notes.iter().filter(|note| note.names_missing_tool()) {
        let fix = note.fix.as_deref().unwrap_or_default();
        text.push_str(&format!("; {}; to have it: {fix}", note.what));
    }
    let redundant: Vec<String> = result.redundant().map(|test| test.id.to_string()).collect();
    if !redundant.is_empty() {
        text.push_str(&format!(
            "; dropped because they add nothing to the others: {}",
            listed(&redundant)
        ));
    }
    for why in [
        DropReason::KillsNothing,
        DropReason::ReadsSource,
        DropReason::ChangesSource,
        DropReason::EndsRun,
    ] {
        let tests = result.dropped.iter().filter(|test| test.why == why);
        let names: Vec<String> = tests.map(|test| test.id.to_string()).collect();
        if !names.is_empty() {
            text.push_str(&format!(
                "; dropped, each {}: {}",
                why.description(),
                listed(&names)
            ));
        }
    }
    for (column, measured) in [
        ("pass_rate", Some(&result.delivered.pass_rate)),
        ("coverage_achieved", result.coverage_achieved.as_ref()),
    ] {
        let Some((claimed, measured)) = case.claim(column).zip(measured) else {
            continue;
        };
        if is_far(claimed, measured) {
            text.push_str(&format!("; claimed {column} {claimed}, measured {measured}"));
        }
    }
    text
}

/// Whether two figures differ by more than rounding.
fn is_far(claimed: &str, measured: &str) -> bool {
    let number = |text: &str| text.trim_end_matches('%').trim().parse::<f64>().ok();
    match (number(claimed), number(measured)) {
        (Some(a), Some(b)) => (a - b).abs() > 0.011 * b.max(1.0),
        _ => true,
    }
}
