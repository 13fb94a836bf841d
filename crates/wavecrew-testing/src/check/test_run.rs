//! Runs and measures a layer's tests: the figures of the row and of the loop, which tests are kept, and the feedback. Claimed
//! figures matter only when they differ from the measured ones.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use wavecrew_measure::run::{Collect, TestOrder};
use wavecrew_measure::{LineRange, Note, Ratio, TestCase, TestOutcome};

use super::framework_files::interference;
use super::generated_tests::is_covered_already;
use super::integrity::{changed_by_tests, weakened_tests, with_integrity};
use super::redundant::RedundantTests;
use super::{Case, facts, listed};
use crate::baseline::Baseline;
use crate::coverage_figures::{lines, percent, rate};
use crate::effectiveness::Effectiveness;
use crate::environment::{EnvironmentError, LayerRun, TestEnvironment};
use crate::feedback;
use crate::layer::{self, Kind, NOTHING_NEW};
use crate::mutation;
use crate::result::{LayerCoverage, RunResult, SuiteFigures};
use crate::rounds;
use crate::select::{self, DropReason, Dropped, dropped_tests};
use crate::summary::Summary;
use wavecrew_core::event::Verdict;

use wavecrew_core::check_report::{CheckDetails, CheckReport};

/// How often failing tests are dropped before the suite is given up: a test may pass only after another one.
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
    if let Some(reason) = interference(&folder)? {
        return Ok(CheckReport::send_back(reason));
    }
    let placed = layer::place(&environment.scope, case.layer, &folder)?;
    if !placed.iter().any(|file| file.kind == Kind::Test) {
        if folder.join(NOTHING_NEW).is_file() && is_covered_already(case) {
            let result = without_new_tests(case);
            result.write(case.session)?;
            Summary::write(case.session, &environment.scope)?;
            let text = feedback::write(environment, case, &folder, &result)?;
            return verdict(environment, case, &result, text);
        }
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
    Summary::write(case.session, &environment.scope)?;
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

/// The result of a layer for which the project's own tests are enough: their coverage counts.
fn without_new_tests(case: &Case<'_>) -> RunResult {
    let files = Baseline::read(case.session).unwrap_or_default().coverage();
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

/// Measures the suite and selects its tests.
fn measure(
    environment: &TestEnvironment,
    case: &Case<'_>,
    folder: &Path,
    before: Option<&RunResult>,
) -> Result<RunResult, EnvironmentError> {
    environment.progress.begin(&format!("run of {}", case.layer));
    let run = environment.layer(
        case.layer,
        folder,
        Collect::TestsAndCoverage,
        TestOrder::Default,
        &BTreeSet::new(),
    )?;
    let seed = u32::try_from(environment.scope.seed & 0xffff).unwrap_or(0) + case.attempt;
    // A file that ended its run would do so again.
    let unloaded = |test: &&TestCase| matches!(test.outcome, TestOutcome::Unloaded { .. });
    let crashed: BTreeSet<String> = run
        .tests
        .iter()
        .filter(unloaded)
        .map(|test| test.id.file.clone())
        .collect();
    environment.progress.begin("run in another order");
    let again = environment.layer(
        case.layer,
        folder,
        Collect::TestsOnly,
        TestOrder::Shuffled { seed },
        &crashed,
    )?;
    let mut dropped = dropped_tests(&run, &again);
    let mut notes = run.notes.clone();
    environment.progress.begin("run of the kept tests");
    let kept = kept_run(environment, case, folder, &run, &mut dropped, &mut notes)?;
    environment.progress.begin("mutants");
    let mut found = mutation::check(environment, case, &kept, before)?;
    notes.append(&mut found.notes);
    let mut kept = kept;
    if !found.ineffective.is_empty() {
        dropped.append(&mut found.ineffective);
        kept = kept_run(environment, case, folder, &run, &mut dropped, &mut notes)?;
    }
    let foreign = std::mem::take(&mut found.foreign);
    uncount(&mut kept, &foreign);
    let redundant = RedundantTests {
        folder,
        run: &run,
        kept,
        redundant: found.redundant,
    };
    environment.progress.begin("run without redundant tests");
    let mut kept = redundant.run(environment, case, &mut dropped, &mut notes)?;
    uncount(&mut kept, &foreign);
    let delivered = suite(&run, &dropped);
    let covered = kept.coverage.map(|files| LayerCoverage {
        lines: lines(&files),
        files,
    });
    let figures = SuiteFigures {
        tests: kept.tests.len(),
        passed: kept.tests.len() as u64,
        pass_rate: if kept.tests.is_empty() {
            "0.00".to_owned()
        } else {
            "1.00".to_owned()
        },
    };
    Ok(RunResult {
        layer: case.layer.to_owned(),
        task: case.task.to_owned(),
        attempt: case.attempt,
        pass_rate: figures.pass_rate.clone(),
        coverage_achieved: covered.as_ref().map(|covered| percent(covered.lines)),
        target: case.target,
        delivered,
        kept: figures,
        coverage: covered,
        suspected_defects: dropped
            .iter()
            .filter(|test| test.why == DropReason::Fails)
            .map(|test| test.id.clone())
            .collect(),
        dropped,
        mutation: found.killed,
        notes,
        tests: run.tests,
    })
}

/// Takes lines out of the coverage that ran only outside their module.
fn uncount(run: &mut LayerRun, foreign: &BTreeMap<String, BTreeSet<u32>>) {
    for file in run.coverage.iter_mut().flatten() {
        for line in foreign.get(&file.path).into_iter().flatten() {
            if !file.missed.contains(line) && file.lines.covered > 0 {
                file.lines.covered -= 1;
                file.missed.push(*line);
                file.uncovered.push(LineRange {
                    first: *line,
                    last: *line,
                });
            }
        }
        file.missed.sort_unstable();
        file.uncovered.sort_by_key(|range| range.first);
    }
}

/// The strict figures of all delivered tests: a flaky test has not passed.
fn suite(run: &LayerRun, dropped: &[Dropped]) -> SuiteFigures {
    let flaky: BTreeSet<_> = dropped
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

/// Runs the suite without the dropped tests, until all others pass.
fn kept_run(
    environment: &TestEnvironment,
    case: &Case<'_>,
    folder: &Path,
    run: &LayerRun,
    dropped: &mut Vec<Dropped>,
    notes: &mut Vec<Note>,
) -> Result<LayerRun, EnvironmentError> {
    let to = rounds::kept_tests(case.session, case.layer);
    for _ in 0..CUTS {
        let lost = select::write_kept(folder, &to, dropped, &run.ids())?;
        if !lost.is_empty() {
            let names: Vec<String> = lost.iter().map(ToString::to_string).collect();
            notes.push(Note {
                what: format!(
                    "dropped with their file, because single tests cannot be removed from it: {}",
                    listed(&names)
                ),
                fix: Some("put tests that fail into files of their own".to_owned()),
            });
        }
        if dropped.is_empty() {
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
        let red: Vec<Dropped> = dropped_tests(&kept, &LayerRun::default());
        if red.is_empty() {
            return Ok(kept);
        }
        dropped.extend(red);
    }
    rounds::make_empty(&to)?;
    Ok(LayerRun {
        coverage: run.coverage.as_ref().map(|_| environment.all_uncovered()),
        ..LayerRun::default()
    })
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
    match &effectiveness {
        Effectiveness::Enough => {}
        Effectiveness::Weak { killed, total } => findings.insert_str(
            0,
            &format!("weak tests: {killed} of {total} mutants killed, {min_effectiveness} % are needed; "),
        ),
        Effectiveness::Unknown { reason } => {
            findings.push_str(&format!("; unverified: effectiveness unknown, {reason}"));
        }
    }
    let weak = matches!(effectiveness, Effectiveness::Weak { .. });
    if weak {
        let target = f64::from(min_effectiveness) / 100.0;
        facts.insert("kill_rate_target".to_owned(), target.to_string());
    }
    let good =
        result.delivered.pass_rate == "1.00" && covered.is_none_or(|covered| covered >= case.target) && !weak;
    if !good {
        return Ok(CheckReport::Short(CheckDetails {
            measured,
            facts,
            findings,
            feedback,
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
                "with the new tests these of the project fail: {}",
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
    for why in [DropReason::KillsNothing, DropReason::ReadsSource] {
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

/// More than rounding apart.
fn is_far(claimed: &str, measured: &str) -> bool {
    let number = |text: &str| text.trim_end_matches('%').trim().parse::<f64>().ok();
    match (number(claimed), number(measured)) {
        (Some(a), Some(b)) => (a - b).abs() > 0.011 * b.max(1.0),
        _ => true,
    }
}
