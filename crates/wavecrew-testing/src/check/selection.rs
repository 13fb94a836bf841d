//! Measures a layer's tests and selects them: two runs in different orders, the kept tests alone, mutants, redundant tests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use wavecrew_measure::run::{Collect, TestOrder};
use wavecrew_measure::{LineRange, Note, Ratio, TestCase, TestOutcome};

use super::offenders::{as_case, run_without_offenders};
use super::redundant::RedundantTests;
use super::{Case, listed};
use crate::coverage_figures::{lines, percent, rate};
use crate::environment::{EnvironmentError, LayerRun, TestEnvironment};
use crate::layer;
use crate::mutation;
use crate::result::{LayerCoverage, RunResult, SuiteFigures};
use crate::rounds;
use crate::select::{self, DropReason, Dropped, dropped_tests};

/// How often failing tests are dropped before the suite fails as a whole: a test may pass only after another
/// one.
const CUTS: usize = 3;

/// Measures the suite and selects its tests.
pub fn measure(
    environment: &mut TestEnvironment,
    case: &Case<'_>,
    folder: &Path,
    before: Option<&RunResult>,
) -> Result<RunResult, EnvironmentError> {
    environment.progress.begin(&format!("run of {}", case.layer));
    let rest = tempfile::tempdir()?;
    let collect = Collect::TestsAndCoverage;
    let (mut run, mut offenders) = run_without_offenders(environment, case, folder, rest.path(), collect)?;
    let (environment, folder) = (&*environment, rest.path());
    let seed = u32::try_from(environment.scope.seed & 0xffff).unwrap_or(0) + case.attempt;
    // A file that ended its run would end it again.
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
    // They count as tests that do not pass.
    run.tests.extend(offenders.iter().map(as_case));
    dropped.append(&mut offenders);
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

/// Removes lines from the coverage that ran only outside their module.
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
