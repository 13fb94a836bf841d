//! Runs that measure single tests: what each covers, and which mutants each kills. Selects none.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use wavecrew_measure::mutation::{
    KillingTests, MutantOutcome, MutationBudget, MutationRequest, MutationTarget,
};
use wavecrew_measure::run::{Collect, MeasureError, Request, TestCoverage, TestOrder};
use wavecrew_measure::{Note, TestId};

use wavecrew_syntax::MutantKind;

use crate::environment::{EnvironmentError, LayerRun, TestEnvironment, project_path};
use crate::layer::{self, Kind, Placed};
use crate::scope::FrameworkInScope;

/// Mutants that were tried.
#[derive(Debug, Default)]
pub struct Trials {
    pub tried: Vec<Trial>,
    /// Mutants that were not tried for lack of time.
    pub untried: usize,
    /// Control mutants, whose outcome shows whether a test depends on the code.
    pub controls: Vec<(MutantKind, Trial)>,
    /// Lines by file of the project that ran only outside their module.
    pub foreign: BTreeMap<String, BTreeSet<u32>>,
    pub notes: Vec<Note>,
}

impl Trials {
    /// Ignores some tests: mutants that only they killed count as survivors.
    pub fn forget(&mut self, tests: &BTreeSet<&TestId>) {
        for trial in &mut self.tried {
            if let MutantResult::KilledBy(by) = &mut trial.result {
                by.retain(|id| !tests.contains(id));
                if by.is_empty() {
                    trial.result = MutantResult::Survived;
                }
            }
        }
    }
}

/// How many files get control mutants, if a warm process runs them and if each needs a run of its own.
const WARM_CONTROLS: usize = 8;
const CONTROLS: usize = 2;

#[derive(Debug)]
pub struct Trial {
    /// Relative to the project.
    pub file: String,
    pub line: u32,
    pub what: String,
    pub result: MutantResult,
}

#[derive(Debug, PartialEq, Eq)]
pub enum MutantResult {
    Survived,
    KilledBy(Vec<TestId>),
    /// Killed, but by which test is unknown: the run did not end, or the tool does not say.
    Killed,
}

/// How many mutants are tried, and until when.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    pub per_file: usize,
    pub until: Instant,
}

/// A layer's tests of one framework, by their names in the framework.
struct FrameworkTests<'a> {
    framework: &'a FrameworkInScope,
    files: Vec<PathBuf>,
    ids: Vec<TestId>,
    /// In the layer, in the same order.
    own: Vec<TestId>,
}

impl TestEnvironment {
    /// The coverage of each passing test, measured one by one if that takes at most `most` runs, each within
    /// `limit`. Omits tests of frameworks that do not report it.
    pub fn coverage_by_test(
        &self,
        layer: &str,
        folder: &Path,
        run: &LayerRun,
        most: usize,
        limit: Duration,
    ) -> Result<Vec<TestCoverage>, EnvironmentError> {
        let placed = layer::place(&self.scope, layer, folder)?;
        let _overlay = layer::overlay(self.tree(), folder, &placed, &self.snapshot.manifest)?;
        let mut reaches = Vec::new();
        for named in self.by_framework(&placed, run) {
            let project = named.framework.in_tree(self.tree());
            let request = Request {
                project: &project,
                scope: &self.sources(named.framework),
                tests: &named.files,
                coverage: Collect::TestsAndCoverage,
                order: TestOrder::Default,
                canaries: false,
            };
            let runner = self.runner(named.framework, self.timeout().min(limit))?;
            let found = match runner.coverage_by_test(&request, &named.ids, most) {
                Ok(found) => found.unwrap_or_default(),
                Err(MeasureError::Stopped) => return Err(EnvironmentError::Measure(MeasureError::Stopped)),
                // The suite has just run, so this is not worth an error.
                Err(_) => Vec::new(),
            };
            for reach in found {
                let own = |id: &TestId| named.own_of(&id.to_string());
                reaches.push(TestCoverage {
                    tests: reach.tests.iter().filter_map(own).collect(),
                    points: reach
                        .points
                        .into_iter()
                        .map(|mut point| {
                            point.file = project_path(&named.framework.root, &point.file);
                            point
                        })
                        .collect(),
                });
            }
        }
        Ok(reaches)
    }

    /// Tries mutants on these lines of files of the project, one framework after the other.
    pub fn run_mutants(
        &self,
        layer: &str,
        folder: &Path,
        run: &LayerRun,
        targets: &BTreeMap<String, MutationTarget>,
        effort: Effort,
    ) -> Result<Trials, EnvironmentError> {
        let placed = layer::place(&self.scope, layer, folder)?;
        let _overlay = layer::overlay(self.tree(), folder, &placed, &self.snapshot.manifest)?;
        let mut trials = Trials::default();
        for named in self.by_framework(&placed, run) {
            let mine = self.scope.files_of(named.framework);
            let targets: Vec<MutationTarget> = mine
                .filter_map(|file| targets.get(&*file.path.to_string_lossy()).cloned())
                .collect();
            if targets.is_empty() {
                continue;
            }
            let project = named.framework.in_tree(self.tree());
            let left = effort.until.saturating_duration_since(Instant::now());
            let request = MutationRequest {
                project: &project,
                top: self.tree(),
                targets: &targets,
                tests: &named.files,
                budget: MutationBudget {
                    per_file: effort.per_file,
                    time: Some(left),
                    seed: self.scope.seed,
                },
                killing_tests: KillingTests::All,
                control_files: if named.framework.framework.facts().warm_mutants {
                    WARM_CONTROLS
                } else {
                    CONTROLS
                },
            };
            let runner = self.runner(named.framework, self.timeout())?;
            let report = match runner.mutate(&request) {
                Ok(report) => report,
                Err(error) => return Err(EnvironmentError::Measure(error)),
            };
            trials.untried += report.untested;
            for (file, lines) in report.foreign {
                trials
                    .foreign
                    .insert(project_path(&named.framework.root, &file), lines);
            }
            trials.notes.extend(report.notes);
            for tried in report.tested.into_iter().chain(report.controls) {
                let control = tried.mutant.as_ref().map(|mutant| mutant.kind);
                let control = control.filter(|kind| kind.is_control());
                let result = match tried.outcome {
                    MutantOutcome::Survived => MutantResult::Survived,
                    MutantOutcome::TimedOut => MutantResult::Killed,
                    MutantOutcome::Killed { by } => {
                        let by: Vec<TestId> = by.iter().filter_map(|name| named.own_of(name)).collect();
                        if by.is_empty() {
                            MutantResult::Killed
                        } else {
                            MutantResult::KilledBy(by)
                        }
                    }
                };
                let trial = Trial {
                    file: project_path(&named.framework.root, &tried.file),
                    line: tried.line,
                    what: tried.what,
                    result,
                };
                match control {
                    Some(kind) => trials.controls.push((kind, trial)),
                    None => trials.tried.push(trial),
                }
            }
        }
        Ok(trials)
    }

    /// The tests of a run with their frameworks, for those that have any.
    fn by_framework<'a>(
        &'a self,
        placed: &'a [Placed],
        run: &'a LayerRun,
    ) -> impl Iterator<Item = FrameworkTests<'a>> {
        self.scope
            .frameworks
            .iter()
            .enumerate()
            .map(move |(index, framework)| {
                let mut named = FrameworkTests {
                    framework,
                    files: Vec::new(),
                    ids: Vec::new(),
                    own: Vec::new(),
                };
                let root = framework.root.strip_prefix(".").unwrap_or(&framework.root);
                for file in placed
                    .iter()
                    .filter(|f| f.framework == index && f.kind == Kind::Test)
                {
                    let shown = file.file.to_string_lossy();
                    let below = file.target.strip_prefix(root).unwrap_or(&file.target);
                    named.files.push(self.tree().join(&file.target));
                    for test in run.tests.iter().filter(|test| test.id.file == shown) {
                        named.own.push(test.id.clone());
                        named.ids.push(TestId {
                            file: below.to_string_lossy().into_owned(),
                            name: test.id.name.clone(),
                        });
                    }
                }
                named
            })
            .filter(|named| !named.files.is_empty())
    }
}

impl FrameworkTests<'_> {
    fn own_of(&self, name: &str) -> Option<TestId> {
        let at = self.ids.iter().position(|id| id.is_called(name))?;
        Some(self.own[at].clone())
    }
}

#[cfg(test)]
pub mod samples {
    use super::{MutantResult, Trial};
    use wavecrew_measure::TestId;
    use wavecrew_measure::run::{CoveragePoint, PointKind, TestCoverage};

    pub fn id(name: &str) -> TestId {
        TestId {
            file: "t.py".to_owned(),
            name: name.to_owned(),
        }
    }

    /// One test that runs these lines.
    pub fn unit(name: &str, lines: &[u32]) -> TestCoverage {
        let point = |&line: &u32| CoveragePoint {
            file: "a.py".to_owned(),
            line,
            kind: PointKind::Line,
        };
        TestCoverage {
            tests: vec![id(name)],
            points: lines.iter().map(point).collect(),
        }
    }

    /// One mutant of a line, killed by these tests.
    pub fn trial(line: u32, by: &[&str]) -> Trial {
        Trial {
            file: "a.py".to_owned(),
            line,
            what: String::new(),
            result: if by.is_empty() {
                MutantResult::Survived
            } else {
                MutantResult::KilledBy(by.iter().map(|name| id(name)).collect())
            },
        }
    }
}
