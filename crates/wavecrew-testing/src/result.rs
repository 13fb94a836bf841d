//! `results/run-{layer}.json`: the measurements of a layer, for people, the loop and the report.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use wavecrew_measure::{FileCoverage, Note, Ratio, TestCase, TestId, TestOutcome};

use crate::sealed;
use crate::select::{DropReason, Dropped};
use wavecrew_session::SessionPaths;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunResult {
    pub layer: String,
    pub task: String,
    /// The number of the row's run, which is also the round of the loop.
    pub attempt: u32,
    /// Of the kept tests, as in the row.
    pub pass_rate: String,
    /// `None` without a coverage tool.
    pub coverage_achieved: Option<String>,
    pub target: f64,
    /// Of all delivered tests; the loop decides by this.
    pub delivered: SuiteFigures,
    #[serde(rename = "accepted")]
    pub kept: SuiteFigures,
    /// Of the kept tests, over all files in scope.
    pub coverage: Option<LayerCoverage>,
    #[serde(rename = "rejected")]
    pub dropped: Vec<Dropped>,
    /// Tests that fail in the same way each time: the test is wrong, or the code is.
    pub suspected_defects: Vec<TestId>,
    pub mutation: Option<MutationResult>,
    pub notes: Vec<Note>,
    /// All delivered tests with their outcomes.
    pub tests: Vec<TestCase>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SuiteFigures {
    pub tests: usize,
    pub passed: u64,
    pub pass_rate: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LayerCoverage {
    pub lines: Ratio,
    pub files: Vec<FileCoverage>,
}

/// The mutants that the kept tests kill.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MutationResult {
    /// Fingerprint of the suite: the same one is not tried again.
    pub suite: String,
    pub killed: u64,
    pub total: u64,
    pub survivors: Vec<Survivor>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Survivor {
    pub file: String,
    pub line: u32,
    pub description: String,
}

impl RunResult {
    pub fn read(session: &Path, layer: &str) -> io::Result<Self> {
        Self::read_file(&SessionPaths::at(session).run_result(layer))
    }

    pub fn read_file(path: &Path) -> io::Result<Self> {
        serde_json::from_slice(&fs::read(path)?).map_err(io::Error::other)
    }

    pub fn write(&self, session: &Path) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(self).map_err(io::Error::other)?;
        text.push(b'\n');
        sealed::write(session, &SessionPaths::at(session).run_result(&self.layer), &text)
    }

    /// Tests that passed and add nothing to the others.
    pub fn redundant(&self) -> impl Iterator<Item = &Dropped> {
        self.dropped
            .iter()
            .filter(|test| test.why == DropReason::AddsNothing)
    }

    /// Tests with a problem.
    pub fn faulty(&self) -> impl Iterator<Item = &Dropped> {
        self.dropped
            .iter()
            .filter(|test| test.why != DropReason::AddsNothing)
    }

    pub fn kept_tests(&self) -> impl Iterator<Item = &TestId> {
        let left: BTreeSet<&TestId> = self.dropped.iter().map(|test| &test.id).collect();
        let ids = self.tests.iter().map(|test| &test.id);
        ids.filter(move |id| !left.contains(id))
    }

    /// File and name of the tests that passed.
    pub fn passed(&self) -> BTreeSet<(String, String)> {
        let passed = self
            .tests
            .iter()
            .filter(|test| test.outcome == TestOutcome::Passed);
        passed
            .map(|test| (test.id.file.clone(), test.id.name.clone()))
            .collect()
    }
}
