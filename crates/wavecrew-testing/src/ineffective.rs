//! Uses control mutants to find tests whose outcome does not depend on what the code does. Drops none itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use wavecrew_measure::TestId;
use wavecrew_measure::run::{PointKind, TestCoverage};
use wavecrew_syntax::{Grammar, MutantKind, SymbolKind, symbols};

use crate::environment::TestEnvironment;
use crate::mutant_runs::{MutantFate, Trial, Trials};
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
    match &trial.fate {
        MutantFate::KilledBy(tests) => tests,
        MutantFate::Survived | MutantFate::Killed => &[],
    }
}

/// Units that run functions, and pass when these raise an error, do nothing, or have any mutant that was tried.
fn units_without_kill<'u>(
    units: &'u [TestCoverage],
    trials: &Trials,
    functions: impl Fn(&str) -> BTreeSet<u32>,
) -> Vec<&'u TestCoverage> {
    // Files for which both control mutants gave a result for each test.
    let answered = |file: &str| {
        let is = |wanted: MutantKind| {
            trials.controls.iter().any(|(kind, trial)| {
                *kind == wanted && trial.file == file && trial.fate != MutantFate::Killed
            })
        };
        is(MutantKind::Raises) && is(MutantKind::Emptied)
    };
    let controls = trials
        .controls
        .iter()
        .filter(|(kind, _)| *kind != MutantKind::Unchanged)
        .map(|(_, trial)| trial);
    let killed: BTreeSet<&TestId> = trials.tried.iter().chain(controls).flat_map(killers).collect();
    let mut of_file: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    let mut without = Vec::new();
    for unit in units {
        if unit.tests.iter().any(|test| killed.contains(test)) {
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
    use wavecrew_measure::run::CoveragePoint;

    fn id(name: &str) -> TestId {
        TestId {
            file: "t.py".to_owned(),
            name: name.to_owned(),
        }
    }

    fn unit(name: &str, line: u32) -> TestCoverage {
        TestCoverage {
            tests: vec![id(name)],
            points: BTreeSet::from([CoveragePoint {
                file: "a.py".to_owned(),
                line,
                kind: PointKind::Line,
            }]),
        }
    }

    fn trial(by: &[&str]) -> Trial {
        Trial {
            file: "a.py".to_owned(),
            line: 1,
            what: String::new(),
            fate: if by.is_empty() {
                MutantFate::Survived
            } else {
                MutantFate::KilledBy(by.iter().map(|name| id(name)).collect())
            },
        }
    }

    #[test]
    fn a_test_has_to_depend_on_what_the_code_does() {
        let units = [
            unit("value", 2),
            unit("raises", 2),
            unit("vacuous", 2),
            unit("constant", 1),
        ];
        let mut trials = Trials {
            tried: vec![trial(&["value"]), trial(&[])],
            controls: vec![
                (MutantKind::Unchanged, trial(&["reads"])),
                (MutantKind::Raises, trial(&["value"])),
                (MutantKind::Emptied, trial(&["value", "raises"])),
            ],
            ..Trials::default()
        };
        assert_eq!(readers_of_source(&trials), BTreeSet::from([id("reads")]));
        let without = |trials: &Trials| -> Vec<String> {
            let found = units_without_kill(&units, trials, |_| BTreeSet::from([2]));
            found.iter().map(|unit| unit.tests[0].name.clone()).collect()
        };
        assert_eq!(without(&trials), ["vacuous"]);
        // Without a result, nothing is certain.
        trials.controls.pop();
        assert_eq!(without(&trials), Vec::<String>::new());
    }
}
