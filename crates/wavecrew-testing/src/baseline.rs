//! The project's own tests before anything was written: red or green, what counts later is what is newly red.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use wavecrew_measure::run::{Collect, MeasureError};
use wavecrew_measure::{FileCoverage, Measurement, TestId, TestOutcome};

use crate::environment::{EnvironmentError, TestEnvironment};
use crate::rounds::whole;
use crate::scope::FrameworkInScope;
use wavecrew_session::SessionPaths;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Baseline {
    pub suites: Vec<FrameworkBaseline>,
}

/// The suite of one framework.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FrameworkBaseline {
    pub root: PathBuf,
    pub framework: String,
    #[serde(flatten)]
    pub result: SuiteResult,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SuiteResult {
    Measurement(Measurement),
    /// DropReason it could not be run, and what helps.
    Error {
        message: String,
        help: String,
    },
}

impl Baseline {
    /// Runs what is there. A suite that cannot be run is a fact about the project, not a failure of ours.
    pub fn measure(environment: &TestEnvironment) -> Result<Self, EnvironmentError> {
        let mut suites = Vec::new();
        for framework in &environment.scope.frameworks {
            let result = match environment.own_suite(framework, Collect::TestsAndCoverage) {
                Ok(found) => SuiteResult::Measurement(found),
                Err(
                    error @ (EnvironmentError::Measure(MeasureError::Stopped) | EnvironmentError::Disk(_)),
                ) => {
                    return Err(error);
                }
                Err(error @ EnvironmentError::Measure(_)) => SuiteResult::Error {
                    message: error.to_string(),
                    help: error.help(),
                },
            };
            suites.push(FrameworkBaseline {
                root: framework.root.clone(),
                framework: framework.framework.name().to_owned(),
                result,
            });
        }
        Ok(Self { suites })
    }

    fn file(session: &Path) -> PathBuf {
        SessionPaths::at(session).baseline()
    }

    pub fn read(session: &Path) -> io::Result<Self> {
        serde_json::from_slice(&fs::read(Self::file(session))?).map_err(io::Error::other)
    }

    pub fn write(&self, session: &Path) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(self).map_err(io::Error::other)?;
        whole(&Self::file(session), &text)
    }

    fn measurements(&self) -> impl Iterator<Item = (&FrameworkBaseline, &Measurement)> {
        self.suites.iter().filter_map(|suite| match &suite.result {
            SuiteResult::Measurement(found) => Some((suite, found)),
            SuiteResult::Error { .. } => None,
        })
    }

    /// Files in scope as the existing tests cover them.
    pub fn coverage(&self) -> Vec<FileCoverage> {
        self.measurements()
            .flat_map(|(_, found)| found.coverage.files().to_vec())
            .collect()
    }

    pub fn failing(&self) -> usize {
        self.measurements()
            .map(|(_, found)| found.failing().count())
            .sum()
    }

    pub fn tests(&self) -> usize {
        self.measurements().map(|(_, found)| found.tests.len()).sum()
    }

    /// Tests that passed before and do not now.
    pub fn newly_red(&self, framework: &FrameworkInScope, now: &Measurement) -> Vec<TestId> {
        let Some((_, before)) = self
            .measurements()
            .find(|(suite, _)| suite.root == framework.root && suite.framework == framework.framework.name())
        else {
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
