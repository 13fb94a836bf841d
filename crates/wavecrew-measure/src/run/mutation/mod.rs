//! Runs tests against mutants of the code. Works on copies of the project, so that its own files stay as they are. The mutants
//! themselves come from `wavecrew-syntax` or another tool.

pub(crate) mod cargo_mutants;
mod project_copy;
pub(crate) mod separate_runs;
mod target;
pub(crate) mod warm_pytest;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use wavecrew_syntax::{Grammar, LineSet, Mutant, controls, mutants};

use super::{MeasureError, Runner, scope};
use crate::detect::Project;
use crate::measurement::{Note, Ratio};
pub use target::{ExtraMutants, MutationTarget};

/// What to mutate, and the tests that should kill the mutants.
#[derive(Debug, Clone)]
pub struct MutationRequest<'a> {
    pub project: &'a Project,
    /// The folder to copy: the repository or snapshot that contains the project. Absolute.
    pub top: &'a Path,
    pub targets: &'a [MutationTarget],
    /// Test files to run; none: the whole suite. Absolute.
    pub tests: &'a [PathBuf],
    pub budget: MutationBudget,
    pub killing_tests: KillingTests,
    /// Of how many files the control mutants are tested.
    pub control_files: usize,
}

/// Which of the tests that kill a mutant are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KillingTests {
    /// One, which is faster.
    First,
    /// All, where the tool reports them.
    All,
}

/// How many mutants are tested and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MutationBudget {
    pub per_file: usize,
    pub time: Option<Duration>,
    /// The same seed gives the same mutants.
    pub seed: u64,
}

impl MutationBudget {
    pub fn quick(seed: u64) -> Self {
        Self {
            per_file: 8,
            time: Some(Duration::from_secs(30)),
            seed,
        }
    }

    pub fn full(seed: u64) -> Self {
        Self {
            per_file: usize::MAX,
            time: None,
            seed,
        }
    }
}

/// The mutants that were tested, and their outcomes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct MutationReport {
    #[serde(rename = "tried")]
    pub tested: Vec<TestedMutant>,
    /// Mutants that were planned, and not tested before the time was up.
    #[serde(rename = "untried")]
    pub untested: usize,
    /// Control mutants that were tested. They do not count.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub controls: Vec<TestedMutant>,
    /// Lines by file, relative to the project's root, that ran only outside their module: as a copy under another name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub foreign: BTreeMap<String, BTreeSet<u32>>,
    pub notes: Vec<Note>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TestedMutant {
    /// Relative to the project's root.
    pub file: String,
    pub line: u32,
    /// Describes the change for a person.
    pub what: String,
    /// `None` when another tool made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mutant: Option<Mutant>,
    #[serde(flatten)]
    pub outcome: MutantOutcome,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "fate", rename_all = "snake_case")]
pub enum MutantOutcome {
    /// A test that passes without the mutant failed, or the suite could not run at all.
    Killed {
        /// Tests by their names in the framework; empty if it does not report them.
        by: Vec<String>,
    },
    Survived,
    /// The tests did not finish, which counts as killed.
    TimedOut,
}

impl MutationReport {
    pub(crate) fn only_note(note: Note) -> Self {
        Self {
            notes: vec![note],
            ..Self::default()
        }
    }

    /// Killed mutants among tested ones. `None` when none was tested.
    pub fn rate(&self) -> Option<Ratio> {
        let survived = self.survivors().count() as u64;
        let total = self.tested.len() as u64;
        (total > 0).then_some(Ratio {
            covered: total - survived,
            total,
        })
    }

    pub fn survivors(&self) -> impl Iterator<Item = &TestedMutant> {
        self.tested
            .iter()
            .filter(|tried| tried.outcome == MutantOutcome::Survived)
    }

    pub fn killed(&self) -> usize {
        let killed = |tried: &&TestedMutant| matches!(tried.outcome, MutantOutcome::Killed { .. });
        self.tested.iter().filter(killed).count()
    }

    pub fn timed_out(&self) -> usize {
        self.tested
            .iter()
            .filter(|tried| tried.outcome == MutantOutcome::TimedOut)
            .count()
    }
}

impl Runner {
    /// Runs tests against mutants of the targets. Tests that fail without a mutant cannot kill one.
    pub fn mutate(&self, request: &MutationRequest<'_>) -> Result<MutationReport, MeasureError> {
        let run = MutationRun {
            runner: self,
            request,
            until: request.budget.time.map(|time| Instant::now() + time),
        };
        request.project.framework.adapter().mutate(&run)
    }
}

/// One mutation run.
pub(crate) struct MutationRun<'a> {
    runner: &'a Runner,
    request: &'a MutationRequest<'a>,
    until: Option<Instant>,
}

#[derive(Debug, Clone)]
struct PlannedMutant {
    /// Absolute, in the project itself.
    file: PathBuf,
    mutant: Mutant,
}

impl MutationRun<'_> {
    /// A runner that stops when the budget is used up. No step takes longer than `limit`.
    /// Tests may change this folder.
    fn runner(&self, limit: Duration, top: &Path) -> Result<Runner, MeasureError> {
        let left = self
            .until
            .map(|until| until.saturating_duration_since(Instant::now()));
        let stop = self.runner.stop.as_ref();
        Ok(Runner {
            progress: None,
            cache: self.runner.cache.clone(),
            writable: vec![top.to_owned()],
            python_path: self.runner.python_path.clone(),
            timeout: left.map_or(limit, |left| left.min(limit)),
            stop: stop.map(std::os::fd::OwnedFd::try_clone).transpose()?,
        })
    }

    fn is_time_up(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Mutants of all targets on the lines that `narrowed` returns. Files take turns, so that a budget that ends early covers
    /// each of them.
    fn plan(&self, narrowed: impl Fn(&MutationTarget) -> LineSet) -> Vec<PlannedMutant> {
        let MutationBudget { per_file, seed, .. } = self.request.budget;
        let of = |target: &MutationTarget| -> Vec<PlannedMutant> {
            let Some(language) = Grammar::of(&target.file) else {
                return Vec::new();
            };
            // A file that is not text has no mutants.
            let source = fs::read_to_string(&target.file).unwrap_or_default();
            let mut made = mutants(language, &source, &narrowed(target), per_file, seed);
            for ExtraMutants { lines, most } in &target.extra {
                let more = mutants(language, &source, lines, *most, seed);
                made.extend(
                    more.into_iter()
                        .filter(|one| !made.contains(one))
                        .collect::<Vec<_>>(),
                );
            }
            let planned = |mutant| PlannedMutant {
                file: target.file.clone(),
                mutant,
            };
            made.into_iter().map(planned).collect()
        };
        let mut files: Vec<_> = self.request.targets.iter().map(|t| of(t).into_iter()).collect();
        let mut planned = self.controls();
        while !files.is_empty() {
            files.retain_mut(|file| file.next().map(|one| planned.push(one)).is_some());
        }
        planned
    }

    /// Control mutants of as many files as the request allows.
    fn controls(&self) -> Vec<PlannedMutant> {
        let mut planned = Vec::new();
        for target in self.request.targets.iter().take(self.request.control_files) {
            let source = fs::read_to_string(&target.file).unwrap_or_default();
            let made =
                Grammar::of(&target.file).map_or_else(Vec::new, |language| controls(language, &source));
            planned.extend(made.into_iter().map(|mutant| PlannedMutant {
                file: target.file.clone(),
                mutant,
            }));
        }
        planned
    }

    /// Mutants without an outcome were not tested.
    fn report(
        &self,
        planned: Vec<PlannedMutant>,
        outcomes: Vec<Option<MutantOutcome>>,
        notes: Vec<Note>,
    ) -> MutationReport {
        let outcomes = outcomes.into_iter().chain(std::iter::repeat(None));
        let mut report = MutationReport {
            notes,
            ..MutationReport::default()
        };
        for (PlannedMutant { file, mutant }, outcome) in planned.into_iter().zip(outcomes) {
            match outcome {
                Some(outcome) => {
                    let list = if mutant.kind.is_control() {
                        &mut report.controls
                    } else {
                        &mut report.tested
                    };
                    list.push(TestedMutant {
                        file: scope::relative_path(&file.to_string_lossy(), &self.request.project.root),
                        line: mutant.line,
                        what: mutant.description.clone(),
                        mutant: Some(mutant),
                        outcome,
                    });
                }
                None if mutant.kind.is_control() => {}
                None => report.untested += 1,
            }
        }
        report
            .tested
            .sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
        report
    }
}

/// How many mutants are tested at the same time.
fn workers_for(mutants: usize) -> usize {
    const MOST: usize = 8;
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    cores.min(MOST).min(mutants).max(1)
}

/// How long the tests of one mutant may take.
fn time_limit(baseline: Duration) -> Duration {
    const LEAST: Duration = Duration::from_secs(2);
    LEAST.max(baseline * 5)
}

/// Calls `work` for every number below `count`, in one thread per worker. Stops at the first error.
fn run_in_parallel<W: Send, T: Send>(
    workers: Vec<W>,
    count: usize,
    work: impl Fn(&W, usize) -> Result<Option<T>, MeasureError> + Sync,
) -> Result<Vec<Option<T>>, MeasureError> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<Option<T>>> = Mutex::new((0..count).map(|_| None).collect());
    let one = |worker: W| -> Result<(), MeasureError> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return Ok(());
            }
            let result = work(&worker, number).inspect_err(|_| next.store(count, Ordering::Relaxed))?;
            done.lock().expect("no thread panics while it holds the lock")[number] = result;
        }
    };
    thread::scope(|scope| {
        let threads: Vec<_> = workers
            .into_iter()
            .map(|worker| scope.spawn(|| one(worker)))
            .collect();
        let results = threads
            .into_iter()
            .map(|thread| thread.join().expect("no worker panics"));
        results.collect::<Vec<_>>().into_iter().collect::<Result<(), _>>()
    })?;
    Ok(done.into_inner().expect("all threads have ended"))
}
