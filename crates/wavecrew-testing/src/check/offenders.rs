//! Finds the tests that spoil a run for others, by running smaller and smaller parts: tests that change
//! source, and tests that hang or kill their process. The other tests count. Works for every framework whose
//! tests can be removed one by one.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use std::{io, path::Path};

use wavecrew_measure::run::{Collect, TestOrder};
use wavecrew_measure::{TestCase, TestId, TestOutcome};
use wavecrew_syntax::{Grammar, tests};

use super::Case;
use super::integrity::{changed_by_tests, read};
use crate::environment::{EnvironmentError, LayerRun, TestEnvironment};
use crate::layer::{self, Kind};
use crate::rounds;
use crate::select::{self, DropReason, Dropped};

/// The number of runs of one search. After these, all remaining tests of a file count as offenders.
const MAX_RUNS: usize = 24;
/// A run of the search may take this part of a run's time limit.
const PART_OF_LIMIT: u32 = 10;
/// All runs of a search together may take as long as one run of the tests, but not less than this.
const LEAST_SEARCH: Duration = Duration::from_mins(2);
/// The shortest time in which a framework can start.
const LEAST_LIMIT: Duration = Duration::from_secs(10);

/// How often the remaining tests are searched again.
const MAX_PASSES: usize = 3;

/// What a test does to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Symptom {
    ChangesSource,
    /// It hangs, or kills the process.
    EndsRun,
}

/// Runs a layer's tests, except those that spoil the run for others. Writes the remaining tests to `to`.
pub fn run_without_offenders(
    environment: &mut TestEnvironment,
    case: &Case<'_>,
    folder: &Path,
    to: &Path,
    collect: Collect,
) -> Result<(LayerRun, Vec<Dropped>), EnvironmentError> {
    let mut offenders: Vec<Dropped> = Vec::new();
    rounds::mirror(folder, to)?;
    let mut passes = 0;
    loop {
        let (layer, order) = (case.layer, TestOrder::Default);
        let run = environment.layer(layer, to, collect, order, &BTreeSet::new())?;
        let mut found = match changed_by_tests(environment)? {
            Some(changed) => source_changers(environment, case, to, &changed)?,
            None => Vec::new(),
        };
        for file in &run.ended_runs {
            let outcome = run.tests.iter().find(|test| test.id.file == *file);
            let message = outcome.map_or("", |test| test.outcome.text());
            let mut search = Search::new(environment, case, to, Symptom::EndsRun)?;
            found.extend(search.in_file(file)?.into_iter().map(|id| Dropped {
                id,
                why: DropReason::EndsRun,
                message: message.to_owned(),
            }));
        }
        // A test that hangs may hide other offenders after it.
        if found.is_empty() || passes == MAX_PASSES {
            return Ok((run, offenders));
        }
        passes += 1;
        offenders.extend(found);
        let files: BTreeSet<&String> = offenders.iter().map(|test| &test.id.file).collect();
        let all: Vec<TestId> = files.iter().flat_map(|file| tests_of(folder, file)).collect();
        select::write_kept(folder, to, &offenders, &all)?;
        environment.progress.begin(&format!("run of {layer}"));
    }
}

/// The tests of a folder that change source while they run.
fn source_changers(
    environment: &mut TestEnvironment,
    case: &Case<'_>,
    folder: &Path,
    changed: &str,
) -> Result<Vec<Dropped>, EnvironmentError> {
    let mut search = Search::new(environment, case, folder, Symptom::ChangesSource)?;
    // The symptom did not appear again, so no test is blamed.
    if !search.shows(None, &BTreeSet::new())? {
        return Ok(Vec::new());
    }
    let files = search.files.clone();
    let mut found = Vec::new();
    for file in search.narrowed_files(&files)? {
        let tests = search.in_file(&file)?;
        found.extend(tests.into_iter().map(|id| Dropped {
            id,
            why: DropReason::ChangesSource,
            message: changed.to_owned(),
        }));
    }
    Ok(found)
}

/// The tests of a file, as its syntax shows them.
fn tests_of(folder: &Path, file: &str) -> Vec<TestId> {
    let shapes = Grammar::of(Path::new(file)).map(|language| tests(language, &read(&folder.join(file))));
    let id = |name: String| TestId {
        file: file.to_owned(),
        name,
    };
    let shapes = shapes.into_iter().flatten();
    shapes.map(|shape| id(shape.name)).collect()
}

fn dropped(id: &TestId) -> Dropped {
    Dropped {
        id: id.clone(),
        why: DropReason::EndsRun,
        message: String::new(),
    }
}

struct Search<'a> {
    environment: &'a mut TestEnvironment,
    case: &'a Case<'a>,
    folder: &'a Path,
    symptom: Symptom,
    /// The test files of the folder.
    files: Vec<String>,
    runs: usize,
    started: Instant,
    limit: Duration,
}

impl<'a> Search<'a> {
    fn new(
        environment: &'a mut TestEnvironment,
        case: &'a Case<'a>,
        folder: &'a Path,
        symptom: Symptom,
    ) -> io::Result<Self> {
        environment.progress.begin(match symptom {
            Symptom::ChangesSource => "search for tests that change source",
            Symptom::EndsRun => "search for tests that hang or crash",
        });
        let placed = layer::place(&environment.scope, case.layer, folder)?;
        let tests = placed.iter().filter(|file| file.kind == Kind::Test);
        Ok(Self {
            files: tests
                .map(|file| file.file.to_string_lossy().into_owned())
                .collect(),
            limit: environment.timeout(),
            environment,
            case,
            folder,
            symptom,
            runs: 0,
            started: Instant::now(),
        })
    }

    /// Of some files that show the symptom together, those that cause it.
    fn narrowed_files(&mut self, files: &[String]) -> Result<Vec<String>, EnvironmentError> {
        let all: Vec<String> = self.files.clone();
        narrowed(files, &mut |some: &[String]| {
            let except = all.iter().filter(|file| !some.contains(file)).cloned().collect();
            self.shows(None, &except)
        })
    }

    /// The tests of a file that show the symptom. If no single test does, the file itself, as a test without
    /// a name.
    fn in_file(&mut self, file: &str) -> Result<Vec<TestId>, EnvironmentError> {
        let whole = TestId {
            file: file.to_owned(),
            name: String::new(),
        };
        let tests = tests_of(self.folder, file);
        let except: BTreeSet<String> = self
            .files
            .iter()
            .filter(|other| *other != file)
            .cloned()
            .collect();
        let mut probe = |some: &[TestId]| {
            let others: Vec<Dropped> = tests
                .iter()
                .filter(|test| !some.contains(test))
                .map(dropped)
                .collect();
            self.shows(Some((&others, &tests)), &except)
        };
        if tests.len() < 2 {
            return Ok(vec![whole]);
        }
        // If two unrelated tests show the same symptom, loading the file causes it.
        let (first, last) = (&tests[..1], &tests[tests.len() - 1..]);
        if probe(first)? && probe(last)? {
            return Ok(vec![whole]);
        }
        let found = narrowed(&tests, &mut probe)?;
        let single = found.len() < tests.len();
        Ok(if single { found } else { vec![whole] })
    }

    /// Whether a run shows the symptom: without some tests of a file, and without some files. If no time is
    /// left, the answer is yes.
    fn shows(
        &mut self,
        without: Option<(&[Dropped], &[TestId])>,
        except: &BTreeSet<String>,
    ) -> Result<bool, EnvironmentError> {
        self.runs += 1;
        if self.runs > MAX_RUNS || self.started.elapsed() > self.limit.max(LEAST_SEARCH) {
            return Ok(true);
        }
        let staged = tempfile::tempdir()?;
        let folder = match without {
            Some((dropped, all)) => {
                select::write_kept(self.folder, staged.path(), dropped, all)?;
                staged.path()
            }
            None => self.folder,
        };
        let part = (self.limit / PART_OF_LIMIT).max(LEAST_LIMIT).min(self.limit);
        let limit = self.environment.set_timeout(part);
        let order = TestOrder::Default;
        let run = self
            .environment
            .layer(self.case.layer, folder, Collect::TestsOnly, order, except);
        self.environment.set_timeout(limit);
        let changed = changed_by_tests(self.environment)?.is_some();
        Ok(match self.symptom {
            Symptom::ChangesSource => changed,
            Symptom::EndsRun => !run?.ended_runs.is_empty(),
        })
    }
}

/// Of items that show the symptom together, those that show it alone. Halves the set again and again; items
/// that show the symptom only together stay together.
fn narrowed<T: Clone>(
    items: &[T],
    shows: &mut impl FnMut(&[T]) -> Result<bool, EnvironmentError>,
) -> Result<Vec<T>, EnvironmentError> {
    if items.len() < 2 {
        return Ok(items.to_vec());
    }
    let (first, second) = items.split_at(items.len() / 2);
    let mut found = Vec::new();
    for half in [first, second] {
        if shows(half)? {
            found.extend(narrowed(half, shows)?);
        }
    }
    Ok(if found.is_empty() { items.to_vec() } else { found })
}

/// An offender as a case of the run that it spoiled.
pub fn as_case(offender: &Dropped) -> TestCase {
    let message = match offender.why {
        DropReason::ChangesSource => format!("changes source while it runs: {}", offender.message),
        _ => offender.message.clone(),
    };
    TestCase {
        id: offender.id.clone(),
        outcome: TestOutcome::Unloaded { message },
        duration: Duration::ZERO,
    }
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    #[test]
    fn offenders_are_found_by_halving() {
        for (bad, most) in [(vec![3], 8), (vec![0, 9], 14), (vec![], 2)] {
            let items: Vec<usize> = (0..10).collect();
            let mut runs = 0;
            let found = narrowed(&items, &mut |some: &[usize]| {
                runs += 1;
                Ok(some.iter().any(|item| bad.contains(item)))
            })
            .unwrap();
            // If no single test is the offender, all of them are, together.
            let expected = if bad.is_empty() { items } else { bad };
            assert_eq!(found, expected);
            assert!(runs <= most, "{runs} runs for {expected:?}");
        }
    }
}
