//! One fresh run of the framework per mutant, in a copy of the tree with the mutant in it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use wavecrew_syntax::apply;

use super::project_copy::ProjectCopy;
use super::{KillingTests, MutantOutcome, MutationReport, Planned, Stage, limit, side_by_side, workers_for};
use crate::measurement::{Measurement, Note, TestId, TestOutcome};
use crate::run::{Collect, Focus, MeasureError, Request, TestOrder};

pub fn mutate(stage: &Stage<'_>) -> Result<MutationReport, MeasureError> {
    let planned = stage.plan(|target| target.lines.clone());
    mutate_these(stage, planned, Vec::new())
}

/// What the tests that concern a file did without any change.
struct Baseline {
    passed: BTreeSet<TestId>,
    green: bool,
    took: Duration,
}

/// A copy of the tree, and what the framework keeps between runs.
struct Place {
    copy: ProjectCopy,
    cache: TempDir,
}

pub fn mutate_these(
    stage: &Stage<'_>,
    planned: Vec<Planned>,
    mut notes: Vec<Note>,
) -> Result<MutationReport, MeasureError> {
    let count = workers_for(planned.len());
    let place = |_| {
        Ok(Place {
            copy: ProjectCopy::of(stage.request.top)?,
            cache: tempfile::Builder::new().prefix("wavecrew-mutants-").tempdir()?,
        })
    };
    let places = (0..count)
        .map(place)
        .collect::<Result<Vec<Place>, MeasureError>>()?;
    let files: BTreeSet<PathBuf> = planned.iter().map(|p| p.file.clone()).collect();
    let mut baselines = BTreeMap::new();
    for file in files {
        let baseline = match places.first() {
            Some(place) if !stage.is_over() => baseline(stage, place, &file, &mut notes)?,
            _ => None,
        };
        baselines.insert(file, baseline);
    }
    let fates = side_by_side(places, planned.len(), |place, number| {
        let planned = &planned[number];
        match baselines.get(&planned.file) {
            Some(Some(baseline)) if !stage.is_over() => attempt(stage, place, planned, baseline),
            _ => Ok(None),
        }
    })?;
    Ok(stage.report(planned, fates, notes))
}

/// `None`, with a note, when the tests cannot be run as they are.
fn baseline(
    stage: &Stage<'_>,
    place: &Place,
    file: &Path,
    notes: &mut Vec<Note>,
) -> Result<Option<Baseline>, MeasureError> {
    let started = Instant::now();
    match measure(stage, place, file, stage.runner.timeout, false) {
        Ok(measured) => Ok(Some(Baseline {
            passed: passed(&measured),
            green: measured.failing().next().is_none(),
            took: started.elapsed(),
        })),
        Err(MeasureError::Stopped) => Err(MeasureError::Stopped),
        Err(MeasureError::TimedOut { .. }) if stage.is_over() => Ok(None),
        Err(error) => {
            notes.push(Note {
                what: format!(
                    "the tests of {} cannot be run in a copy of the tree: {error}",
                    file.display()
                ),
                fix: Some(error.help()),
            });
            Ok(None)
        }
    }
}

fn passed(measured: &Measurement) -> BTreeSet<TestId> {
    let tests = measured
        .tests
        .iter()
        .filter(|test| test.outcome == TestOutcome::Passed);
    tests.map(|test| test.id.clone()).collect()
}

fn attempt(
    stage: &Stage<'_>,
    place: &Place,
    planned: &Planned,
    baseline: &Baseline,
) -> Result<Option<MutantOutcome>, MeasureError> {
    // No test loads the file: there is nobody who could notice.
    if baseline.passed.is_empty() {
        return Ok(Some(MutantOutcome::Survived));
    }
    let file = place.copy.at(&planned.file);
    let before = fs::read_to_string(&file)?;
    fs::write(&file, apply(&before, &planned.mutant))?;
    let limit = limit(baseline.took);
    let stop_early = baseline.green && stage.request.killing_tests == KillingTests::First;
    let measured = measure(stage, place, &planned.file, limit, stop_early);
    fs::write(&file, before)?;
    match measured {
        Ok(measured) => Ok(Some(fate(&measured, baseline))),
        Err(MeasureError::TimedOut { .. }) if stage.is_over() => Ok(None),
        Err(MeasureError::TimedOut { .. }) => Ok(Some(MutantOutcome::TimedOut)),
        Err(MeasureError::Killed { .. } | MeasureError::NoReport { .. }) => {
            Ok(Some(MutantOutcome::Killed { by: Vec::new() }))
        }
        Err(error) => Err(error),
    }
}

fn fate(measured: &Measurement, baseline: &Baseline) -> MutantOutcome {
    let mut by: Vec<String> = Vec::new();
    for test in measured.failing() {
        match &test.outcome {
            // With the file all of its tests noticed.
            TestOutcome::Unloaded { .. } => {
                let of_file = baseline.passed.iter().filter(|id| id.file == test.id.file);
                by.extend(of_file.map(ToString::to_string));
            }
            _ if baseline.passed.contains(&test.id) => by.push(test.id.to_string()),
            _ => {}
        }
    }
    if by.is_empty() {
        MutantOutcome::Survived
    } else {
        MutantOutcome::Killed { by }
    }
}

fn measure(
    stage: &Stage<'_>,
    place: &Place,
    file: &Path,
    limit: Duration,
    stop_early: bool,
) -> Result<Measurement, MeasureError> {
    let project = place.copy.project(stage.request.project);
    let tests: Vec<PathBuf> = stage
        .request
        .tests
        .iter()
        .map(|test| place.copy.at(test))
        .collect();
    let related = place.copy.at(file);
    let request = Request {
        project: &project,
        scope: &[],
        tests: &tests,
        coverage: Collect::TestsOnly,
        order: TestOrder::Default,
    };
    let focus = Focus {
        related: Some(&related),
        stop_early,
        cache: Some(place.cache.path()),
        without: &[],
    };
    stage.runner(limit)?.measure_with(&request, focus)
}
