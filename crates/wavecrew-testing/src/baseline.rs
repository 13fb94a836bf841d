//! The outcome of the project's own tests before any worker changed anything, and tests that have failed
//! since.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use wavecrew_measure::run::{Collect, MeasureError};
use wavecrew_measure::{Coverage, FileCoverage, Measurement, Note, TestId, TestOutcome};

use crate::coverage_figures::{lines, percent};
use crate::environment::{EnvironmentError, TestEnvironment};
use crate::scope::{FrameworkInScope, Scope};
use crate::sealed;
use wavecrew_session::SessionPaths;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Baseline {
    pub suites: Vec<FrameworkBaseline>,
    /// How long the tests took.
    #[serde(default)]
    pub seconds: f64,
}

/// The suite of one framework.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FrameworkBaseline {
    pub root: PathBuf,
    pub framework: String,
    /// The test files that ran, relative to the project; empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<PathBuf>,
    #[serde(flatten)]
    pub result: SuiteResult,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SuiteResult {
    Measurement(Measurement),
    /// Why it could not run, and how to fix it.
    Error {
        message: String,
        help: String,
        /// Whether the framework itself cannot run, independent of the tests.
        #[serde(default)]
        not_installed: bool,
    },
}

/// From this many test files on, a small scope needs only the tests that name its files.
const LARGE_SUITE: usize = 20;

/// Runs the tests of one framework. Runs only the tests that the scope affects if the suite is large and they
/// are much fewer, or if the whole suite takes too long.
fn measure_suite(
    environment: &TestEnvironment,
    framework: &FrameworkInScope,
) -> Result<(Vec<PathBuf>, SuiteResult), EnvironmentError> {
    let run = |files: &[PathBuf]| environment.run_own_tests(framework, files, Collect::TestsAndCoverage);
    let suite = framework.conventions.test_files;
    let affected = if suite >= LARGE_SUITE {
        environment.affected_tests(framework)
    } else {
        Vec::new()
    };
    let mut files = if affected.len() * 2 < suite {
        affected.clone()
    } else {
        Vec::new()
    };
    let mut measured = run(&files);
    let timed_out = |result: &Result<Measurement, EnvironmentError>| {
        matches!(
            result,
            Err(EnvironmentError::Measure(MeasureError::TimedOut { .. }))
        )
    };
    if timed_out(&measured) && files.is_empty() && !affected.is_empty() && affected.len() < suite {
        files = affected;
        measured = run(&files);
    }
    let result = match measured {
        Ok(mut found) => {
            if !files.is_empty() {
                found.notes.push(Note {
                    what: format!(
                        "of {suite} test files only the {} that name files in scope ran",
                        files.len()
                    ),
                    fix: None,
                });
            }
            SuiteResult::Measurement(found)
        }
        Err(error @ (EnvironmentError::Measure(MeasureError::Stopped) | EnvironmentError::Disk(_))) => {
            return Err(error);
        }
        Err(error @ (EnvironmentError::Measure(_) | EnvironmentError::Tampered(_))) => SuiteResult::Error {
            message: error.to_string(),
            help: error.help(),
            not_installed: match error {
                EnvironmentError::Measure(MeasureError::NotInstalled { .. } | MeasureError::Start { .. }) => {
                    true
                }
                // Settings or plugins may keep every test from running.
                EnvironmentError::Measure(MeasureError::NoReport { .. }) => {
                    !environment.can_run(framework)?
                }
                EnvironmentError::Measure(_) | EnvironmentError::Tampered(_) | EnvironmentError::Disk(_) => {
                    false
                }
            },
        },
    };
    Ok((files, result))
}

impl FrameworkBaseline {
    fn is_of(&self, framework: &FrameworkInScope) -> bool {
        self.root == framework.root && self.framework == framework.framework.name()
    }
}

impl Baseline {
    /// Runs the project's tests. A suite that cannot run is recorded, and is not an error.
    pub fn measure(environment: &TestEnvironment) -> Result<Self, EnvironmentError> {
        let mut suites = Vec::new();
        let started = Instant::now();
        environment.progress.begin("baseline");
        for framework in &environment.scope.frameworks {
            let (files, result) = measure_suite(environment, framework)?;
            suites.push(FrameworkBaseline {
                root: framework.root.clone(),
                framework: framework.framework.name().to_owned(),
                files,
                result,
            });
        }
        environment.progress.end();
        Ok(Self {
            suites,
            seconds: started.elapsed().as_secs_f64(),
        })
    }

    /// Why no test can run in this project, and how to fix it.
    pub fn why_nothing_runs(&self) -> Option<(&str, &str)> {
        let mut first = None;
        for suite in &self.suites {
            match &suite.result {
                SuiteResult::Error {
                    message,
                    help,
                    not_installed: true,
                } => first = first.or(Some((message.as_str(), help.as_str()))),
                SuiteResult::Error { .. } | SuiteResult::Measurement(_) => return None,
            }
        }
        first
    }

    /// Takes frameworks that cannot run out of the scope, while others can.
    pub fn skip_uninstalled(&self, scope: &mut Scope) {
        for suite in &self.suites {
            if let SuiteResult::Error {
                message,
                help,
                not_installed: true,
            } = &suite.result
                && let Some(known) = scope.frameworks.iter().find(|known| suite.is_of(known)).cloned()
            {
                scope.skip(&known.root, &known.framework, message.clone(), help.clone());
            }
        }
    }

    fn file(session: &Path) -> PathBuf {
        SessionPaths::at(session).baseline()
    }

    pub fn read(session: &Path) -> io::Result<Self> {
        serde_json::from_slice(&fs::read(Self::file(session))?).map_err(io::Error::other)
    }

    pub fn write(&self, session: &Path) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(self).map_err(io::Error::other)?;
        sealed::write(session, &Self::file(session), &text)
    }

    fn measurements(&self) -> impl Iterator<Item = (&FrameworkBaseline, &Measurement)> {
        self.suites.iter().filter_map(|suite| match &suite.result {
            SuiteResult::Measurement(found) => Some((suite, found)),
            SuiteResult::Error { .. } => None,
        })
    }

    /// The files in scope, with their coverage by the existing tests.
    pub fn coverage(&self) -> Vec<FileCoverage> {
        self.measurements()
            .flat_map(|(_, found)| found.coverage.files().to_vec())
            .collect()
    }

    /// The same, for the files of a scope.
    pub fn coverage_of(&self, scope: &Scope) -> Vec<FileCoverage> {
        let mut files = self.coverage();
        files.retain(|covered| {
            scope
                .files
                .iter()
                .any(|file| file.path == Path::new(&covered.path))
        });
        files
    }

    /// Whether every suite was measured with its coverage.
    pub fn is_known(&self) -> bool {
        let known = |suite: &FrameworkBaseline| match &suite.result {
            SuiteResult::Measurement(found) => found.coverage != Coverage::Unknown,
            SuiteResult::Error { .. } => false,
        };
        // A framework that cannot run is not in scope, while another one is.
        let skipped = |suite: &FrameworkBaseline| {
            matches!(
                suite.result,
                SuiteResult::Error {
                    not_installed: true,
                    ..
                }
            )
        };
        let mut suites = self.suites.iter().filter(|suite| !skipped(suite)).peekable();
        suites.peek().is_some() && suites.all(known)
    }

    /// The percentage of lines in scope that the project's own tests cover, when it is at least this much.
    pub fn covers(&self, target: f64) -> Option<String> {
        let covered = lines(&self.coverage());
        let enough = self.is_known() && self.tests() > 0 && covered.total > 0 && covered.percent() >= target;
        enough.then(|| percent(covered))
    }

    pub fn failing(&self) -> usize {
        self.measurements()
            .map(|(_, found)| found.failing().count())
            .sum()
    }

    pub fn tests(&self) -> usize {
        self.measurements().map(|(_, found)| found.tests.len()).sum()
    }

    /// The test files of a framework that the baseline ran; none for all of them.
    pub fn files(&self, framework: &FrameworkInScope) -> &[PathBuf] {
        let mut suites = self.suites.iter();
        suites
            .find(|suite| suite.is_of(framework))
            .map_or(&[], |suite| &suite.files)
    }

    /// Tests that passed in the baseline and do not pass now.
    pub fn newly_red(&self, framework: &FrameworkInScope, now: &Measurement) -> Vec<TestId> {
        let Some((_, before)) = self.measurements().find(|(suite, _)| suite.is_of(framework)) else {
            return Vec::new();
        };
        let now: BTreeMap<&TestId, &TestOutcome> =
            now.tests.iter().map(|test| (&test.id, &test.outcome)).collect();
        before
            .tests
            .iter()
            .filter(|test| test.outcome == TestOutcome::Passed)
            .filter(|test| now.get(&test.id).is_none_or(|outcome| outcome.is_failing()))
            .map(|test| test.id.clone())
            .collect()
    }
}
