//! Mutants on the lines that kept tests cover: how many the tests kill, and which tests are redundant because they cover
//! no line and kill no mutant that the others do not.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use wavecrew_measure::mutation::{ExtraMutants, MutationTarget};
use wavecrew_measure::run::{PointKind, TestCoverage};
use wavecrew_measure::{CoverageStatus, FileCoverage, Note, TestId};
use wavecrew_syntax::{Grammar, LineSet, TestDefinition, tests};

use crate::check::{Case, listed};
use crate::environment::{EnvironmentError, LayerRun, TestEnvironment};
use crate::ineffective;
use crate::mutant_runs::{Effort, MutantResult, Trials};
use crate::result::{MutationResult, RunResult, Survivor};
use crate::rounds;
use crate::scope::MutationEffort;
use crate::select::{DropReason, Dropped, find};
use crate::what_changed;

struct Budget {
    /// Mutants of all files in scope together. Also the limit of runs that measure single tests.
    mutants: usize,
    time: Duration,
    /// Mutants for each test that covers nothing new, where a warm process runs them.
    per_test_warm: usize,
    /// The same where each mutant needs a run of its own.
    per_test: usize,
}

impl MutationEffort {
    fn budget(self) -> Option<Budget> {
        match self {
            Self::Off => None,
            Self::Quick => Some(Budget {
                mutants: 12,
                time: Duration::from_mins(3),
                per_test_warm: 40,
                per_test: 8,
            }),
            Self::Full => Some(Budget {
                mutants: 400,
                time: Duration::from_mins(20),
                per_test_warm: usize::MAX,
                per_test: usize::MAX,
            }),
        }
    }
}

/// What the mutants show about a suite.
#[derive(Default)]
pub struct MutationFindings {
    /// `None` when mutation is off, or when there is nothing to mutate.
    pub killed: Option<MutationResult>,
    /// Tests that pass or fail whatever the code does.
    pub ineffective: Vec<Dropped>,
    /// Tests that add nothing to the others.
    pub redundant: Vec<Dropped>,
    /// Lines by file that ran only outside their module.
    pub foreign: BTreeMap<String, BTreeSet<u32>>,
    pub notes: Vec<Note>,
}

pub fn check(
    environment: &TestEnvironment,
    case: &Case<'_>,
    kept: &LayerRun,
    before: Option<&RunResult>,
) -> Result<MutationFindings, EnvironmentError> {
    let Some(budget) = environment
        .scope
        .mutation
        .budget()
        .filter(|_| !kept.tests.is_empty())
    else {
        return Ok(MutationFindings::default());
    };
    let folder = rounds::kept_tests(case.session, case.layer);
    let suite = rounds::fingerprint(&folder)?;
    if let Some(known) = before.and_then(|before| known(before, &suite)) {
        return Ok(known);
    }
    let reaches = match kept.coverage {
        Some(_) => environment.coverage_by_test(case.layer, &folder, kept, budget.mutants, budget.time)?,
        None => Vec::new(),
    };
    let units = ordered(units(&folder, reaches), before);
    let all = units.clone();
    let candidates = covering_nothing_new(units);
    let targets = targets(environment, kept, &candidates, &budget);
    let effort = Effort {
        per_file: (budget.mutants / targets.len().max(1)).max(1),
        // The time starts here: measuring the coverage of single tests must not use up the time for mutants.
        until: {
            environment.progress.limit(budget.time);
            Instant::now() + budget.time
        },
    };
    let mut trials = environment.run_mutants(case.layer, &folder, kept, &targets, effort)?;
    let ineffective = ineffective::tests(environment, &all, &trials);
    trials.forget(&ineffective.iter().map(|test| &test.id).collect());
    let adding_nothing = killing_nothing_new(&candidates, &trials);
    let mut notes = trials.notes.clone();
    let redundant = if trials.tried.is_empty() || trials.untried > 0 {
        notes.extend(undecided(&adding_nothing));
        Vec::new()
    } else {
        adding_nothing
    };
    let is_dropped = |id: &TestId| ineffective.iter().any(|test| test.id == *id);
    Ok(MutationFindings {
        killed: killed(suite, &trials),
        foreign: std::mem::take(&mut trials.foreign),
        redundant: redundant
            .into_iter()
            .filter(|id| !is_dropped(id))
            .map(|id| Dropped {
                id,
                why: DropReason::AddsNothing,
                message: String::new(),
            })
            .collect(),
        ineffective,
        notes,
    })
}

/// The findings of an earlier run of the same suite.
fn known(before: &RunResult, suite: &str) -> Option<MutationFindings> {
    let killed = before.mutation.clone().filter(|known| known.suite == suite)?;
    Some(MutationFindings {
        killed: Some(killed),
        redundant: before.redundant().cloned().collect(),
        ..MutationFindings::default()
    })
}

fn killed(suite: String, trials: &Trials) -> Option<MutationResult> {
    let survivors: Vec<Survivor> = trials
        .tried
        .iter()
        .filter(|trial| trial.result == MutantResult::Survived)
        .map(|trial| Survivor {
            file: trial.file.clone(),
            line: trial.line,
            description: trial.what.clone(),
        })
        .collect();
    let total = trials.tried.len() as u64;
    (total > 0).then(|| MutationResult {
        suite,
        killed: total - survivors.len() as u64,
        total,
        survivors,
    })
}

/// Merges the cases of one test: they are kept or dropped together.
fn units(folder: &Path, reaches: Vec<TestCoverage>) -> Vec<TestCoverage> {
    let mut shapes: BTreeMap<String, Vec<TestDefinition>> = BTreeMap::new();
    let mut keys: Vec<(String, String)> = Vec::new();
    let mut units: Vec<TestCoverage> = Vec::new();
    for reach in reaches {
        let Some(first) = reach.tests.first() else {
            continue;
        };
        let shapes = shapes.entry(first.file.clone()).or_insert_with(|| {
            let source = fs::read_to_string(folder.join(&first.file)).unwrap_or_default();
            Grammar::of(Path::new(&first.file)).map_or_else(Vec::new, |language| tests(language, &source))
        });
        let name = find(shapes, &first.name).map_or(&first.name, |shape| &shape.name);
        let key = (first.file.clone(), name.clone());
        if let Some(at) = keys.iter().position(|known| *known == key) {
            units[at].tests.extend(reach.tests);
            units[at].points.extend(reach.points);
        } else {
            keys.push(key);
            units.push(reach);
        }
    }
    units
}

/// Tests that record a change come first, then those that were kept before: new tests do not make old ones redundant.
fn ordered(mut units: Vec<TestCoverage>, before: Option<&RunResult>) -> Vec<TestCoverage> {
    let kept: BTreeSet<&TestId> = before.into_iter().flat_map(RunResult::kept_tests).collect();
    units.sort_by_key(|unit| {
        let is_kept = unit.tests.iter().any(|test| kept.contains(test));
        (!records_change(unit), !is_kept)
    });
    units
}

fn records_change(unit: &TestCoverage) -> bool {
    unit.tests
        .iter()
        .any(|test| what_changed::records_change(&test.file))
}

/// Tests that cover no line and no branch that an earlier one does not, and record no change.
fn covering_nothing_new(units: Vec<TestCoverage>) -> Vec<TestCoverage> {
    let mut ran = BTreeSet::new();
    let mut candidates = Vec::new();
    for unit in units {
        if unit.points.is_subset(&ran) && !records_change(&unit) {
            candidates.push(unit);
        } else {
            ran.extend(unit.points);
        }
    }
    candidates
}

/// Of these candidates, the tests that kill no mutant that another test does not kill.
fn killing_nothing_new(candidates: &[TestCoverage], trials: &Trials) -> Vec<TestId> {
    let ids: BTreeSet<&TestId> = candidates.iter().flat_map(|unit| &unit.tests).collect();
    let killers: Vec<&[TestId]> = trials
        .tried
        .iter()
        .filter_map(|trial| match &trial.result {
            MutantResult::KilledBy(tests) => Some(tests.as_slice()),
            MutantResult::Survived | MutantResult::Killed => None,
        })
        .collect();
    // Killed by tests that are kept anyway.
    let mut killed: Vec<bool> = killers
        .iter()
        .map(|by| by.iter().any(|test| !ids.contains(test)))
        .collect();
    let mut nothing = Vec::new();
    for unit in candidates {
        let by_it = |by: &&[TestId]| by.iter().any(|test| unit.tests.contains(test));
        let own = (0..killers.len()).any(|n| !killed[n] && by_it(&killers[n]));
        if !own {
            nothing.extend(unit.tests.iter().cloned());
            continue;
        }
        for (n, by) in killers.iter().enumerate() {
            killed[n] |= by_it(by);
        }
    }
    nothing
}

fn undecided(tests: &[TestId]) -> Option<Note> {
    let names: Vec<String> = tests.iter().map(ToString::to_string).collect();
    (!names.is_empty()).then(|| Note {
        what: format!(
            "kept although they add no coverage, because there was no time to try which mutants they kill: {}",
            listed(&names)
        ),
        fix: Some("--mutation full".to_owned()),
    })
}

/// Lines that passing tests cover, by file, with more mutants on the lines of the candidates.
fn targets(
    environment: &TestEnvironment,
    kept: &LayerRun,
    candidates: &[TestCoverage],
    budget: &Budget,
) -> BTreeMap<String, MutationTarget> {
    let mut targets: BTreeMap<String, MutationTarget> = BTreeMap::new();
    for file in &environment.scope.files {
        let path = file.path.to_string_lossy().into_owned();
        let lines = match &kept.coverage {
            Some(files) => files
                .iter()
                .find(|file| file.path == path)
                .and_then(|file| covered(environment, file)),
            None if file.framework.facts().mutants_without_coverage => Some(LineSet::All),
            None => None,
        };
        if let Some(lines) = lines {
            let file = environment.tree().join(&path);
            targets.insert(
                path,
                MutationTarget {
                    file,
                    lines,
                    extra: Vec::new(),
                },
            );
        }
    }
    let warm: BTreeSet<String> = environment
        .scope
        .files
        .iter()
        .filter(|file| file.framework.facts().warm_mutants)
        .map(|file| file.path.to_string_lossy().into_owned())
        .collect();
    for unit in candidates {
        let here = unit.points.iter().filter(|point| point.kind == PointKind::Line);
        let mut lines: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
        for point in here {
            lines.entry(&point.file).or_default().insert(point.line);
        }
        for (path, target) in &mut targets {
            let most = if warm.contains(path) {
                budget.per_test_warm
            } else {
                budget.per_test
            };
            let lines = match lines.get(path.as_str()) {
                Some(lines) => lines.iter().copied().collect(),
                // The test covers only lines that run when the code is loaded.
                None if lines.is_empty() => target.lines.clone(),
                None => continue,
            };
            let extra = ExtraMutants { lines, most };
            if !target.extra.contains(&extra) {
                target.extra.push(extra);
            }
        }
    }
    targets
}

/// All lines except those that no test ran; `None` if nothing ran.
fn covered(environment: &TestEnvironment, file: &FileCoverage) -> Option<LineSet> {
    if file.status != CoverageStatus::Measured || file.lines.covered == 0 {
        return None;
    }
    let source = fs::read_to_string(environment.tree().join(&file.path)).unwrap_or_default();
    let missed: BTreeSet<u32> = file.missed.iter().copied().collect();
    let last = u32::try_from(source.lines().count()).unwrap_or(u32::MAX);
    let spans = |line: &u32| file.uncovered.iter().any(|r| (r.first..=r.last).contains(line));
    Some(
        (1..=last)
            .filter(|line| !missed.contains(line) && !spans(line))
            .collect(),
    )
}

#[cfg(test)]
mod unit_tests {
    use super::*;
    use crate::mutant_runs::samples::{trial, unit};

    fn trials(killers: &[&[&str]]) -> Trials {
        Trials {
            tried: killers.iter().map(|by| trial(1, by)).collect(),
            ..Trials::default()
        }
    }

    #[test]
    fn tests_that_record_a_change_make_others_redundant() {
        let of_change = |name: &str, lines: &[u32]| {
            let mut unit = unit(name, lines);
            unit.tests[0].file = "tests/test_a_change.py".to_owned();
            unit
        };
        let units = vec![
            unit("one", &[1, 2]),
            of_change("boundary", &[1, 2]),
            of_change("message", &[2]),
        ];
        let candidates = covering_nothing_new(ordered(units, None));
        assert_eq!(candidates.len(), 1);
        assert_eq!(candidates[0].tests[0].name, "one");
    }

    #[test]
    fn a_test_adds_something_by_what_it_covers_or_kills() {
        let candidates = covering_nothing_new(vec![
            unit("one", &[1, 2]),
            unit("same", &[1, 2]),
            unit("more", &[2, 3]),
            unit("other value", &[3]),
            unit("elsewhere", &[]),
        ]);
        let names: Vec<&str> = candidates
            .iter()
            .map(|unit| unit.tests[0].name.as_str())
            .collect();
        assert_eq!(names, ["same", "other value", "elsewhere"]);
        let left = |killers: &[&[&str]]| -> Vec<String> {
            let left = killing_nothing_new(&candidates, &trials(killers));
            left.into_iter().map(|id| id.name).collect()
        };
        assert_eq!(left(&[]), ["same", "other value", "elsewhere"]);
        assert_eq!(
            left(&[&["one", "same"], &[], &["other value"]]),
            ["same", "elsewhere"]
        );
        // Of two that kill the same mutant, one is enough.
        assert_eq!(left(&[&["same", "other value"]]), ["other value", "elsewhere"]);
    }
}
