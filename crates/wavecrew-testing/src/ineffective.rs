//! Uses control mutants to find tests whose outcome does not depend on what the code does. Drops none itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use wavecrew_measure::TestId;
use wavecrew_measure::run::{PointKind, TestCoverage};
use wavecrew_syntax::{Grammar, MutantKind, SymbolKind, symbols};

use crate::environment::TestEnvironment;
use crate::mutant_runs::{MutantResult, Trial, Trials};
use crate::select::{DropReason, Dropped};

/// Tests that fail on code that does the same, and tests that pass whatever the functions do that they run.
pub fn tests(environment: &TestEnvironment, units: &[TestCoverage], trials: &Trials) -> Vec<Dropped> {
    let functions = |file: &str| functions(environment, file);
    let mut found: Vec<Dropped> = readers_of_source(trials)
        .into_iter()
        .map(|id| dropped(id, DropReason::ReadsSource))
        .collect();
    let known: BTreeSet<TestId> = found.iter().map(|test| test.id.clone()).collect();
    for unit in units_without_kill(units, trials, functions) {
        let new = unit.tests.iter().filter(|id| !known.contains(id));
        found.extend(new.map(|id| dropped(id.clone(), DropReason::KillsNothing)));
    }
    found
}

fn dropped(id: TestId, why: DropReason) -> Dropped {
    Dropped {
        id,
        why,
        message: String::new(),
    }
}

/// Tests that fail although the code does the same.
fn readers_of_source(trials: &Trials) -> BTreeSet<TestId> {
    let unchanged = trials
        .controls
        .iter()
        .filter(|(kind, _)| *kind == MutantKind::Unchanged);
    unchanged.flat_map(|(_, trial)| killers(trial)).cloned().collect()
}

fn killers(trial: &Trial) -> &[TestId] {
    match &trial.result {
        MutantResult::KilledBy(tests) => tests,
        MutantResult::Survived | MutantResult::Killed => &[],
    }
}

/// Units that run functions, and pass when these do nothing, or have any mutant that was tried. That they fail when these
/// raise an error does not count where several mutants were tried and one of them survived all tests.
fn units_without_kill<'u>(
    units: &'u [TestCoverage],
    trials: &Trials,
    functions: impl Fn(&str) -> BTreeSet<u32>,
) -> Vec<&'u TestCoverage> {
    // Files for which both control mutants gave a result for each test.
    let answered = |file: &str| {
        let is = |wanted: MutantKind| {
            trials.controls.iter().any(|(kind, trial)| {
                *kind == wanted && trial.file == file && trial.result != MutantResult::Killed
            })
        };
        is(MutantKind::Raises) && is(MutantKind::Emptied)
    };
    let controls = |wanted: MutantKind| {
        let of_kind = trials.controls.iter().filter(move |(kind, _)| *kind == wanted);
        of_kind.flat_map(|(_, trial)| killers(trial))
    };
    let killers_of_any = trials.tried.iter().flat_map(killers);
    let killed: BTreeSet<&TestId> = killers_of_any.chain(controls(MutantKind::Emptied)).collect();
    let needs_no_error: BTreeSet<&TestId> = controls(MutantKind::Raises).collect();
    let has_survivor = |unit: &TestCoverage| {
        let is_run = |trial: &&Trial| {
            let mut lines = unit.points.iter().filter(|point| point.kind == PointKind::Line);
            lines.any(|point| trial.file == point.file && trial.line == point.line)
        };
        let tried: Vec<&Trial> = trials.tried.iter().filter(is_run).collect();
        tried.len() > 1 && tried.iter().any(|trial| trial.result == MutantResult::Survived)
    };
    let mut of_file: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    let mut without = Vec::new();
    for unit in units {
        let is_one_of = |tests: &BTreeSet<&TestId>| unit.tests.iter().any(|test| tests.contains(test));
        if is_one_of(&killed) || (is_one_of(&needs_no_error) && !has_survivor(unit)) {
            continue;
        }
        let mut files: BTreeSet<&str> = BTreeSet::new();
        for point in unit.points.iter().filter(|point| point.kind == PointKind::Line) {
            let inside = of_file
                .entry(&point.file)
                .or_insert_with(|| functions(&point.file));
            if inside.contains(&point.line) {
                files.insert(&point.file);
            }
        }
        if !files.is_empty() && files.into_iter().all(answered) {
            without.push(unit);
        }
    }
    without
}

/// The lines inside functions of a file of the project.
fn functions(environment: &TestEnvironment, file: &str) -> BTreeSet<u32> {
    let path = environment.tree().join(file);
    let Some(language) = Grammar::of(&path) else {
        return BTreeSet::new();
    };
    let source = fs::read_to_string(path).unwrap_or_default();
    let is_function = |kind: SymbolKind| matches!(kind, SymbolKind::Function | SymbolKind::Method);
    symbols(language, &source)
        .into_iter()
        .filter(|symbol| is_function(symbol.kind))
        .flat_map(|symbol| symbol.lines.first + 1..=symbol.lines.last)
        .collect()
}

#[cfg(test)]
mod unit_tests {
    use super::*;
    use crate::mutant_runs::samples::{id, trial, unit};

    #[test]
    fn a_test_has_to_depend_on_what_the_code_does() {
        let units = [
            unit("value", &[2]),
            unit("raises", &[2]),
            unit("only runs", &[2]),
            unit("only runs where no mutant is", &[3]),
            unit("vacuous", &[2]),
            unit("constant", &[1]),
        ];
        let mut trials = Trials {
            tried: vec![trial(2, &["value"]), trial(2, &[])],
            controls: vec![
                (MutantKind::Unchanged, trial(2, &["reads"])),
                (
                    MutantKind::Raises,
                    trial(2, &["value", "only runs", "only runs where no mutant is"]),
                ),
                (MutantKind::Emptied, trial(2, &["value", "raises"])),
            ],
            ..Trials::default()
        };
        assert_eq!(readers_of_source(&trials), BTreeSet::from([id("reads")]));
        let without = |trials: &Trials| -> Vec<String> {
            let found = units_without_kill(&units, trials, |_| BTreeSet::from([2, 3]));
            found.iter().map(|unit| unit.tests[0].name.clone()).collect()
        };
        assert_eq!(without(&trials), ["only runs", "vacuous"]);
        // Without a result, nothing is certain.
        trials.controls.pop();
        assert_eq!(without(&trials), Vec::<String>::new());
    }
}
