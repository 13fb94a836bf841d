//! Tries small changes of the code (mutants) against its tests: a suite that stays green notices nothing. Works on copies of
//! the tree, so that the project's own files stay as they are. Makes no mutants itself, and no verdict on a suite.

mod cargo;
mod project_copy;
mod pytest;
mod separate_runs;
mod target;

use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use wavecrew_syntax::{Grammar, LineSet, Mutant, mutants};

use super::{MeasureError, Runner, scope};
use crate::detect::Project;
use crate::framework::MutantRuns;
use crate::measurement::{Note, Ratio};
pub use target::{ExtraMutants, MutationTarget};

/// What to change, and which tests are to notice.
#[derive(Debug, Clone)]
pub struct MutationRequest<'a> {
    pub project: &'a Project,
    /// The folder that is copied: the repository, or the snapshot of one that the project lies in. Absolute.
    pub top: &'a Path,
    pub targets: &'a [MutationTarget],
    /// Test files to run; none: the whole suite. Absolute.
    pub tests: &'a [PathBuf],
    pub budget: MutationBudget,
    pub killing_tests: KillingTests,
}

/// Which of the tests that notice a mutant are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KillingTests {
    /// One is enough, and soonest found.
    First,
    /// All of them, where the tool tells.
    All,
}

/// How many mutants are tried and for how long.
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

/// What came of the mutants.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct MutationReport {
    #[serde(rename = "tried")]
    pub tested: Vec<TestedMutant>,
    /// Chosen, and not tried before the time was up.
    #[serde(rename = "untried")]
    pub untested: usize,
    pub notes: Vec<Note>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TestedMutant {
    /// Relative to the project's root.
    pub file: String,
    pub line: u32,
    /// For a person: what was there and what is there now.
    pub what: String,
    /// To make the change again; `None` when another tool made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mutant: Option<Mutant>,
    #[serde(flatten)]
    pub outcome: MutantOutcome,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "fate", rename_all = "snake_case")]
pub enum MutantOutcome {
    /// A test that passed before did not any more, or the suite could not run at all.
    Killed {
        /// As the framework names them; none where it cannot tell.
        by: Vec<String>,
    },
    Survived,
    /// The tests did not come to an end: noticed as well.
    TimedOut,
}

impl MutationReport {
    /// Noticed among tried. `None` when none was tried.
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
    /// Tries mutants of the targets. Tests that are red without any change notice nothing.
    pub fn mutate(&self, request: &MutationRequest<'_>) -> Result<MutationReport, MeasureError> {
        let stage = Stage {
            runner: self,
            request,
            until: request.budget.time.map(|time| Instant::now() + time),
        };
        match request.project.framework.facts().mutants {
            MutantRuns::WarmPytest => pytest::mutate(&stage),
            MutantRuns::FreshRuns => separate_runs::mutate(&stage),
            MutantRuns::CargoMutants => cargo::mutate(&stage),
            MutantRuns::Unsupported => Ok(MutationReport {
                notes: vec![Note {
                    what: format!("no mutants for {}", request.project.framework.name()),
                    fix: None,
                }],
                ..MutationReport::default()
            }),
        }
    }
}

/// One mutation run.
struct Stage<'a> {
    runner: &'a Runner,
    request: &'a MutationRequest<'a>,
    until: Option<Instant>,
}

/// A mutant in its file.
#[derive(Debug, Clone)]
struct Planned {
    /// Absolute, in the project itself.
    file: PathBuf,
    mutant: Mutant,
}

impl Stage<'_> {
    /// A runner that ends with the budget, and no step of which takes longer than `limit`.
    fn runner(&self, limit: Duration) -> Result<Runner, MeasureError> {
        let left = self
            .until
            .map(|until| until.saturating_duration_since(Instant::now()));
        let stop = self.runner.stop.as_ref();
        Ok(Runner {
            cache: self.runner.cache.clone(),
            python_path: self.runner.python_path.clone(),
            timeout: left.map_or(limit, |left| left.min(limit)),
            stop: stop.map(std::os::fd::OwnedFd::try_clone).transpose()?,
        })
    }

    fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Mutants of all targets on the lines that `narrowed` leaves of them, files taking turns: a budget that ends early has
    /// touched each.
    fn plan(&self, narrowed: impl Fn(&MutationTarget) -> LineSet) -> Vec<Planned> {
        let MutationBudget { per_file, seed, .. } = self.request.budget;
        let of = |target: &MutationTarget| -> Vec<Planned> {
            let Some(language) = Grammar::of(&target.file) else {
                return Vec::new();
            };
            // What is no text has no mutants; that it does not load, the tests say.
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
            let planned = |mutant| Planned {
                file: target.file.clone(),
                mutant,
            };
            made.into_iter().map(planned).collect()
        };
        let mut files: Vec<_> = self.request.targets.iter().map(|t| of(t).into_iter()).collect();
        let mut planned = Vec::new();
        while !files.is_empty() {
            files.retain_mut(|file| file.next().map(|one| planned.push(one)).is_some());
        }
        planned
    }

    /// `fates` may end early: what has none was not tried.
    fn report(
        &self,
        planned: Vec<Planned>,
        fates: Vec<Option<MutantOutcome>>,
        notes: Vec<Note>,
    ) -> MutationReport {
        let fates = fates.into_iter().chain(std::iter::repeat(None));
        let mut report = MutationReport {
            notes,
            ..MutationReport::default()
        };
        for (Planned { file, mutant }, fate) in planned.into_iter().zip(fates) {
            match fate {
                Some(fate) => report.tested.push(TestedMutant {
                    file: scope::shown(&file.to_string_lossy(), &self.request.project.root),
                    line: mutant.line,
                    what: mutant.description.clone(),
                    mutant: Some(mutant),
                    outcome: fate,
                }),
                None => report.untested += 1,
            }
        }
        report
            .tested
            .sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
        report
    }
}

/// How many mutants are tried at the same time.
fn workers_for(mutants: usize) -> usize {
    const MOST: usize = 8;
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    cores.min(MOST).min(mutants).max(1)
}

/// The longest that the tests of one mutant may take.
fn limit(baseline: Duration) -> Duration {
    const LEAST: Duration = Duration::from_secs(2);
    LEAST.max(baseline * 5)
}

/// Has `work` done for every number below `count`, by some threads with something of their own each. Ends early with the first
/// error. What `work` leaves out stays `None`.
fn side_by_side<W: Send, T: Send>(
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
