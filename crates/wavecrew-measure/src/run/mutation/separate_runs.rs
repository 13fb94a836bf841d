//! One separate run of the framework per mutant, in a copy of the project that contains the mutant.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use wavecrew_syntax::apply;

use super::project_copy::ProjectCopy;
use super::{
    KillingTests, MutantOutcome, MutationReport, MutationRun, PlannedMutant, run_in_parallel, time_limit,
    workers_for,
};
use crate::measurement::{Measurement, Note, TestId, TestOutcome};
use crate::run::{Focus, MeasureError, Request};

pub fn mutate(run: &MutationRun<'_>) -> Result<MutationReport, MeasureError> {
    let planned = run.plan(|target| target.lines.clone());
    test_mutants(run, planned, Vec::new())
}

/// The results of the tests of one file without a mutant.
struct Baseline {
    passed: BTreeSet<TestId>,
    all_passed: bool,
    took: Duration,
}

/// A copy of the project, and what the framework keeps between runs.
struct Workspace {
    copy: ProjectCopy,
    cache: TempDir,
}

pub(super) fn test_mutants(
    run: &MutationRun<'_>,
    planned: Vec<PlannedMutant>,
    mut notes: Vec<Note>,
) -> Result<MutationReport, MeasureError> {
    let count = workers_for(planned.len());
    let workspace = |_| {
        Ok(Workspace {
            copy: ProjectCopy::of(run.request.top)?,
            cache: tempfile::Builder::new().prefix("wavecrew-mutants-").tempdir()?,
        })
    };
    let workspaces = (0..count)
        .map(workspace)
        .collect::<Result<Vec<Workspace>, MeasureError>>()?;
    let files: BTreeSet<PathBuf> = planned.iter().map(|p| p.file.clone()).collect();
    let mut baselines = BTreeMap::new();
    for file in files {
        let baseline = match workspaces.first() {
            Some(workspace) if !run.is_time_up() => baseline(run, workspace, &file, &mut notes)?,
            _ => None,
        };
        baselines.insert(file, baseline);
    }
    let outcomes = run_in_parallel(workspaces, planned.len(), |workspace, number| {
        let planned = &planned[number];
        match baselines.get(&planned.file) {
            Some(Some(baseline)) if !run.is_time_up() => test_mutant(run, workspace, planned, baseline),
            _ => Ok(None),
        }
    })?;
    Ok(run.report(planned, outcomes, notes))
}

/// `None`, with a note, when the tests cannot be run as they are.
fn baseline(
    run: &MutationRun<'_>,
    workspace: &Workspace,
    file: &Path,
    notes: &mut Vec<Note>,
) -> Result<Option<Baseline>, MeasureError> {
    let started = Instant::now();
    match measure(run, workspace, file, run.runner.timeout, false) {
        Ok(measured) => Ok(Some(Baseline {
            passed: passed(&measured),
            all_passed: measured.failing().next().is_none(),
            took: started.elapsed(),
        })),
        Err(MeasureError::Stopped) => Err(MeasureError::Stopped),
        Err(MeasureError::TimedOut { .. }) if run.is_time_up() => Ok(None),
        Err(error) => {
            notes.push(Note {
                what: format!(
                    "the tests of {} cannot be run in a copy of the project: {error}",
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

fn test_mutant(
    run: &MutationRun<'_>,
    workspace: &Workspace,
    planned: &PlannedMutant,
    baseline: &Baseline,
) -> Result<Option<MutantOutcome>, MeasureError> {
    // No passing test loads the file.
    if baseline.passed.is_empty() {
        return Ok(Some(MutantOutcome::Survived));
    }
    let file = workspace.copy.at(&planned.file);
    let before = fs::read_to_string(&file)?;
    fs::write(&file, apply(&before, &planned.mutant))?;
    let limit = time_limit(baseline.took);
    let stop_early = baseline.all_passed && run.request.killing_tests == KillingTests::First;
    let measured = measure(run, workspace, &planned.file, limit, stop_early);
    fs::write(&file, before)?;
    match measured {
        Ok(measured) => Ok(Some(outcome(&measured, baseline))),
        Err(MeasureError::TimedOut { .. }) if run.is_time_up() => Ok(None),
        Err(MeasureError::TimedOut { .. }) => Ok(Some(MutantOutcome::TimedOut)),
        Err(
            MeasureError::Killed { .. } | MeasureError::Unfinished { .. } | MeasureError::NoReport { .. },
        ) => Ok(Some(MutantOutcome::Killed { by: Vec::new() })),
        Err(error) => Err(error),
    }
}

fn outcome(measured: &Measurement, baseline: &Baseline) -> MutantOutcome {
    let mut by: Vec<String> = Vec::new();
    for test in measured.failing() {
        match &test.outcome {
            // All tests of the file failed.
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
    run: &MutationRun<'_>,
    workspace: &Workspace,
    file: &Path,
    limit: Duration,
    stop_early: bool,
) -> Result<Measurement, MeasureError> {
    let project = workspace.copy.project(run.request.project);
    let tests: Vec<PathBuf> = run
        .request
        .tests
        .iter()
        .map(|test| workspace.copy.at(test))
        .collect();
    let related = workspace.copy.at(file);
    let request = Request::tests_only(&project, &tests);
    let focus = Focus {
        related: Some(&related),
        stop_early,
        cache: Some(workspace.cache.path()),
        skip: &[],
    };
    run.runner(limit, workspace.copy.top())?
        .measure_with(&request, focus)
}
