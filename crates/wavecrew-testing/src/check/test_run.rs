//! A layer's tests, run and measured: the figures of the row and of the loop, what is kept and what is not, and what to do
//! next. The figures of a claim are looked at only to say that they were wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use wavecrew_measure::run::{Collect, TestOrder};
use wavecrew_measure::{Note, Ratio, TestCase, TestOutcome};

use super::integrity::{changed_by_tests, weakened_tests, with_integrity};
use super::redundant::Without;
use super::{Case, facts, listed};
use crate::baseline::Baseline;
use crate::coverage_figures::{lines, percent, rate};
use crate::environment::{EnvironmentError, LayerRun, TestEnvironment};
use crate::feedback;
use crate::layer::{self, Kind};
use crate::mutation;
use crate::result::{LayerCoverage, RunResult, SuiteFigures};
use crate::rounds;
use crate::select::{self, DropReason, Dropped, judge};
use wavecrew_core::event::Verdict;

use wavecrew_core::check_report::{CheckDetails, CheckReport};

/// How often a suite is cut down before it is given up: a test may only pass because another ran before it.
const CUTS: usize = 3;

pub fn check(environment: &mut TestEnvironment, case: &Case<'_>) -> Result<CheckReport, EnvironmentError> {
    with_integrity(environment, case, check_run)
}

fn check_run(environment: &mut TestEnvironment, case: &Case<'_>) -> Result<CheckReport, EnvironmentError> {
    let folder = case.folder(environment)?;
    let before = RunResult::read(case.session, case.layer).ok();
    if let Some(reason) = weakened_tests(case, &folder, before.as_ref())? {
        return Ok(CheckReport::contradicted(reason));
    }
    let placed = layer::place(&environment.scope, case.layer, &folder)?;
    if !placed.iter().any(|file| file.kind == Kind::Test) {
        return Ok(CheckReport::contradicted(format!(
            "there is no test of {} to run",
            case.layer
        )));
    }
    let result = measure(environment, case, &folder, before.as_ref())?;
    if let Some(reason) = changed_by_tests(environment)? {
        return Ok(CheckReport::contradicted(reason));
    }
    result.write(case.session)?;
    rounds::mirror(&folder, &rounds::kept(case.session, case.layer))?;
    rounds::keep(
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

/// Everything that is found out about the suite.
fn measure(
    environment: &TestEnvironment,
    case: &Case<'_>,
    folder: &Path,
    before: Option<&RunResult>,
) -> Result<RunResult, EnvironmentError> {
    let run = environment.layer(
        case.layer,
        folder,
        Collect::TestsAndCoverage,
        TestOrder::Default,
        &BTreeSet::new(),
    )?;
    let seed = u32::try_from(environment.scope.seed & 0xffff).unwrap_or(0) + case.attempt;
    // A file that brought its run down would only do it again.
    let unloaded = |test: &&TestCase| matches!(test.outcome, TestOutcome::Unloaded { .. });
    let down: BTreeSet<String> = run
        .tests
        .iter()
        .filter(unloaded)
        .map(|test| test.id.file.clone())
        .collect();
    let again = environment.layer(
        case.layer,
        folder,
        Collect::TestsOnly,
        TestOrder::Shuffled { seed },
        &down,
    )?;
    let mut rejected = judge(&run, &again);
    let mut notes = run.notes.clone();
    let accepted = accepted_run(environment, case, folder, &run, &mut rejected, &mut notes)?;
    let found = mutation::check(environment, case, &accepted, before)?;
    notes.extend(found.notes);
    let without = Without {
        folder,
        run: &run,
        accepted,
        superfluous: found.superfluous,
    };
    let accepted = without.run(environment, case, &mut rejected, &mut notes)?;
    let delivered = suite(&run, &rejected);
    let covered = accepted.coverage.map(|files| LayerCoverage {
        lines: lines(&files),
        files,
    });
    let kept = SuiteFigures {
        tests: accepted.tests.len(),
        passed: accepted.tests.len() as u64,
        pass_rate: if accepted.tests.is_empty() {
            "0.00".to_owned()
        } else {
            "1.00".to_owned()
        },
    };
    Ok(RunResult {
        layer: case.layer.to_owned(),
        task: case.task.to_owned(),
        attempt: case.attempt,
        pass_rate: kept.pass_rate.clone(),
        coverage_achieved: covered.as_ref().map(|covered| percent(covered.lines)),
        target: case.target,
        delivered,
        accepted: kept,
        coverage: covered,
        suspected_defects: rejected
            .iter()
            .filter(|test| test.why == DropReason::Fails)
            .map(|test| test.id.clone())
            .collect(),
        rejected,
        mutation: found.killed,
        notes,
        tests: run.tests,
    })
}

/// The strict figures of all that was written: a flaky test has not passed.
fn suite(run: &LayerRun, rejected: &[Dropped]) -> SuiteFigures {
    let flaky: BTreeSet<_> = rejected
        .iter()
        .filter(|test| test.why == DropReason::Flaky)
        .map(|test| &test.id)
        .collect();
    let passes = |test: &&TestCase| test.outcome == TestOutcome::Passed && !flaky.contains(&test.id);
    let ratio = Ratio {
        covered: run.tests.iter().filter(passes).count() as u64,
        total: run.tests.len() as u64,
    };
    SuiteFigures {
        tests: run.tests.len(),
        passed: ratio.covered,
        pass_rate: if ratio.total == 0 {
            "0.00".to_owned()
        } else {
            rate(ratio)
        },
    }
}

/// Runs the suite without what was rejected, until everything left passes.
fn accepted_run(
    environment: &TestEnvironment,
    case: &Case<'_>,
    folder: &Path,
    run: &LayerRun,
    rejected: &mut Vec<Dropped>,
    notes: &mut Vec<Note>,
) -> Result<LayerRun, EnvironmentError> {
    let to = rounds::accepted(case.session, case.layer);
    for _ in 0..CUTS {
        let lost = select::write_kept(folder, &to, rejected, &run.tests)?;
        if !lost.is_empty() {
            let names: Vec<String> = lost.iter().map(ToString::to_string).collect();
            notes.push(Note {
                what: format!(
                    "left out with their file, which could not be taken apart: {}",
                    listed(&names)
                ),
                fix: Some("put tests that fail into files of their own".to_owned()),
            });
        }
        if rejected.is_empty() {
            return Ok(run.clone());
        }
        if layer::files(&to)?.is_empty() {
            break;
        }
        let kept = environment.layer(
            case.layer,
            &to,
            Collect::TestsAndCoverage,
            TestOrder::Default,
            &BTreeSet::new(),
        )?;
        let red: Vec<Dropped> = judge(&kept, &LayerRun::default());
        if red.is_empty() {
            return Ok(kept);
        }
        rejected.extend(red);
    }
    rounds::empty(&to)?;
    Ok(LayerRun {
        coverage: run.coverage.as_ref().map(|_| environment.nothing_covered()),
        ..LayerRun::default()
    })
}

/// Keeps tests that may show a defect, with what they said.
fn quarantine(case: &Case<'_>, folder: &Path, result: &RunResult) -> Result<(), EnvironmentError> {
    let to = rounds::quarantine(case.session, case.layer);
    rounds::empty(&to)?;
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
        ("kept", result.accepted.tests.to_string()),
        ("add_nothing", result.superfluous().count().to_string()),
    ]);
    facts.extend(kill_rate.map(|rate| ("kill_rate".to_owned(), rate)));
    let covered = result
        .coverage_achieved
        .as_ref()
        .and_then(|text| text.parse::<f64>().ok());
    let good = result.delivered.pass_rate == "1.00" && covered.is_none_or(|covered| covered >= case.target);
    if !good {
        return Ok(CheckReport::Short(CheckDetails {
            measured,
            facts,
            findings: findings(case, result),
            feedback,
            ..CheckDetails::default()
        }));
    }
    if let Some(reason) = newly_red(environment, case)? {
        return Ok(CheckReport::contradicted(reason));
    }
    Ok(CheckReport::Confirmed(CheckDetails {
        verdict: Verdict::Verified,
        measured,
        facts,
        findings: findings(case, result),
        ..CheckDetails::default()
    }))
}

/// The project's own tests with the new ones among them: what passed before passes still.
fn newly_red(environment: &TestEnvironment, case: &Case<'_>) -> Result<Option<String>, EnvironmentError> {
    let Ok(baseline) = Baseline::read(case.session) else {
        return Ok(None);
    };
    if baseline.tests() == 0 {
        return Ok(None);
    }
    let accepted = rounds::accepted(case.session, case.layer);
    let placed = layer::place(&environment.scope, case.layer, &accepted)?;
    let _laid = layer::lay(
        environment.tree(),
        &accepted,
        &placed,
        &environment.snapshot.manifest,
    )?;
    for framework in &environment.scope.frameworks {
        let Ok(now) = environment.own_suite(framework, Collect::TestsOnly) else {
            continue;
        };
        let red: Vec<String> = baseline
            .newly_red(framework, &now)
            .iter()
            .map(ToString::to_string)
            .collect();
        if !red.is_empty() {
            return Ok(Some(format!(
                "with the new tests these of the project fail: {}",
                listed(&red)
            )));
        }
    }
    Ok(None)
}

/// In one sentence what was measured, and what of the claim was wrong.
fn findings(case: &Case<'_>, result: &RunResult) -> String {
    let mut text = format!(
        "{} of {} tests kept, pass rate {}",
        result.accepted.tests, result.delivered.tests, result.delivered.pass_rate
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
    // What the figures lack, and what would bring it.
    for note in result.notes.iter().filter(|note| note.names_missing_tool()) {
        let fix = note.fix.as_deref().unwrap_or_default();
        text.push_str(&format!("; {}; to have it: {fix}", note.what));
    }
    let superfluous: Vec<String> = result.superfluous().map(|test| test.id.to_string()).collect();
    if !superfluous.is_empty() {
        text.push_str(&format!(
            "; dropped because they add nothing to the others: {}",
            listed(&superfluous)
        ));
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

/// More than rounding apart.
fn is_far(claimed: &str, measured: &str) -> bool {
    let number = |text: &str| text.trim_end_matches('%').trim().parse::<f64>().ok();
    match (number(claimed), number(measured)) {
        (Some(a), Some(b)) => (a - b).abs() > 0.011 * b.max(1.0),
        _ => true,
    }
}
