//! Deliberate changes of the code on lines that kept tests run: how many of them the tests notice. An own mutator for
//! Python, JavaScript and TypeScript; other languages are not checked.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use wavecrew_measure::run::{Order, Wanted};
use wavecrew_measure::{FileCoverage, Outcome, Standing};
use wavecrew_syntax::{Language, LineSet, Mutant, apply, mutants};

use crate::bench::{Bench, LayerRun, Trouble};
use crate::examine::Case;
use crate::result::{Killed, RunResult, Survivor};
use crate::rounds;
use crate::scope::Mutation;

struct Budget {
    mutants: usize,
    time: Duration,
}

impl Mutation {
    fn budget(self) -> Option<Budget> {
        match self {
            Self::Off => None,
            Self::Quick => Some(Budget {
                mutants: 12,
                time: Duration::from_mins(1),
            }),
            Self::Full => Some(Budget {
                mutants: 400,
                time: Duration::from_mins(20),
            }),
        }
    }
}

/// `None` when it is off, or when there is nothing that could be changed.
pub fn check(
    bench: &Bench,
    case: &Case<'_>,
    kept: &LayerRun,
    before: Option<&RunResult>,
) -> Result<Option<Killed>, Trouble> {
    let Some(budget) = bench.scope.mutation.budget() else {
        return Ok(None);
    };
    let Some(files) = kept.coverage.as_ref().filter(|_| !kept.tests.is_empty()) else {
        return Ok(None);
    };
    let suite = rounds::print(&rounds::accepted(case.session, case.layer))?;
    let known = before.and_then(|before| before.mutation.clone());
    if let Some(known) = known.filter(|known| known.suite == suite) {
        return Ok(Some(known));
    }
    let chosen = choose(bench, files, budget.mutants);
    let until = Instant::now() + budget.time;
    let mut result = Killed {
        suite,
        ..Killed::default()
    };
    for (path, mutant) in chosen {
        if Instant::now() >= until {
            break;
        }
        let target = bench.tree().join(&path);
        let source = fs::read_to_string(&target)?;
        let changed = Changed::new(&target, &source, &mutant)?;
        let noticed = notices(bench, case)?;
        drop(changed);
        result.total += 1;
        if noticed {
            result.killed += 1;
        } else {
            result.survivors.push(Survivor {
                file: path,
                line: mutant.line,
                description: mutant.description,
            });
        }
    }
    Ok((result.total > 0).then_some(result))
}

/// Spread over the files in scope by how much of them is covered.
fn choose(bench: &Bench, files: &[FileCoverage], limit: usize) -> Vec<(String, Mutant)> {
    let covered: Vec<&FileCoverage> = files
        .iter()
        .filter(|file| file.standing == Standing::Measured && file.lines.covered > 0)
        .filter(|file| Language::of(Path::new(&file.path)).is_some())
        .collect();
    let Some(each) = limit.checked_div(covered.len()) else {
        return Vec::new();
    };
    let mut chosen = Vec::new();
    for file in covered {
        let source = fs::read_to_string(bench.tree().join(&file.path)).unwrap_or_default();
        let missed: BTreeSet<u32> = file.missed.iter().copied().collect();
        let last = u32::try_from(source.lines().count()).unwrap_or(u32::MAX);
        let lines: LineSet = (1..=last).filter(|line| !missed.contains(line)).collect();
        let Some(language) = Language::of(Path::new(&file.path)) else {
            continue;
        };
        let found = mutants(language, &source, &lines, each.max(1), bench.scope.seed);
        // A statement that was not run holds lines that are no statements themselves.
        let run = found
            .into_iter()
            .filter(|mutant| !missed.contains(&mutant.statement));
        chosen.extend(run.map(|mutant| (file.path.clone(), mutant)));
    }
    chosen.truncate(limit);
    chosen
}

/// A file with a change in it, for a while.
struct Changed<'a> {
    path: &'a Path,
    source: &'a str,
}

impl<'a> Changed<'a> {
    fn new(path: &'a Path, source: &'a str, mutant: &Mutant) -> std::io::Result<Self> {
        fs::write(path, apply(source, mutant))?;
        Ok(Self { path, source })
    }
}

impl Drop for Changed<'_> {
    fn drop(&mut self) {
        // What is not put back here is put back when the copy is next looked at.
        let _ = fs::write(self.path, self.source);
    }
}

/// Whether any kept test fails, or the run as a whole.
fn notices(bench: &Bench, case: &Case<'_>) -> Result<bool, Trouble> {
    let accepted = rounds::accepted(case.session, case.layer);
    match bench.layer(
        case.layer,
        &accepted,
        Wanted::TestsOnly,
        Order::Usual,
        &BTreeSet::new(),
    ) {
        Ok(run) => Ok(run.tests.iter().any(|test| test.outcome != Outcome::Passed)),
        Err(Trouble::Environment(wavecrew_measure::run::MeasureError::Stopped)) => {
            Err(Trouble::Environment(wavecrew_measure::run::MeasureError::Stopped))
        }
        Err(Trouble::Environment(_)) => Ok(true),
        Err(other) => Err(other),
    }
}
