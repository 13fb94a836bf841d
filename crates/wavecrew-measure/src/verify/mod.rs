//! Checks whether a project still builds and its tests still pass: finds its own commands, runs them in a folder, and compares the
//! results with an earlier state.

mod affected;
mod compare;
mod find;
#[cfg(test)]
mod tests;

pub use affected::{affected_tests, mentions};
pub use compare::{Comparison, compare};
pub use find::{Commands, TestMethod, find_commands};

use crate::detect::Project;
use crate::measurement::TestId;
use crate::run::process::{self, Ended, Step};
use crate::run::{MeasureError, Request, Runner};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// This much of the output of a failed command is kept: its end.
const OUTPUT_LIMIT: usize = 4000;

/// Commands that the project's owner sets in place of detected ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandSettings {
    /// Runs first: what a fresh copy needs before it can be built.
    pub setup: Option<String>,
    pub build: Option<String>,
    pub test: Option<String>,
}

/// How one command ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum CommandOutcome {
    Passed,
    Failed {
        /// `exit code 1`, `timed out`, ...
        how: String,
        /// The end of what it printed.
        output: String,
    },
}

impl CommandOutcome {
    pub fn is_good(&self) -> bool {
        matches!(self, Self::Passed)
    }
}

/// The result of one test, as far as a comparison needs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum TestResult {
    #[serde(rename = "green")]
    Passed,
    #[serde(rename = "red")]
    Failed { message: String },
    /// Skipped, or known to fail.
    #[serde(rename = "aside")]
    NotCounted,
}

/// The results of a project's tests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SuiteResult {
    /// The project has no tests.
    None,
    /// Test by test.
    Measured {
        #[serde(with = "pairs")]
        tests: BTreeMap<TestId, TestResult>,
    },
    /// By exit code alone.
    Command {
        line: String,
        #[serde(flatten)]
        outcome: CommandOutcome,
    },
    /// Not run, because what comes before it failed.
    NotRun,
}

/// The state of a project at one time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectState {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setup: Option<CommandOutcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build: Option<CommandOutcome>,
    pub tests: SuiteResult,
}

impl ProjectState {
    /// Whether there was anything to check.
    pub fn has_checks(&self) -> bool {
        self.build.is_some() || !matches!(self.tests, SuiteResult::None)
    }
}

/// Runs the commands in a folder. Every process has ended when this returns; failing tests and builds are not errors.
pub fn run(commands: &Commands, folder: &Path, runner: &Runner) -> Result<ProjectState, MeasureError> {
    let mut state = ProjectState {
        setup: None,
        build: None,
        tests: SuiteResult::NotRun,
    };
    let outcome_of = |line: &Option<String>| {
        let outcome = line.as_ref().map(|line| command(line, folder, runner));
        outcome.transpose()
    };
    let failed =
        |outcome: &Option<CommandOutcome>| outcome.as_ref().is_some_and(|outcome| !outcome.is_good());
    state.setup = outcome_of(&commands.setup)?;
    if failed(&state.setup) {
        return Ok(state);
    }
    state.build = outcome_of(&commands.build)?;
    if failed(&state.build) {
        return Ok(state);
    }
    state.tests = match &commands.tests {
        TestMethod::None => SuiteResult::None,
        TestMethod::Command { line } => SuiteResult::Command {
            line: line.clone(),
            outcome: command(line, folder, runner)?,
        },
        TestMethod::Measured { projects, otherwise } => {
            match measure(projects, folder, runner, |_| Some(Vec::new())) {
                Ok(tests) => SuiteResult::Measured { tests },
                Err(error @ (MeasureError::Stopped | MeasureError::TimedOut { .. })) => return Err(error),
                // The framework writes no report; the project's own test command may work.
                Err(error) => match otherwise {
                    Some(line) => SuiteResult::Command {
                        line: line.clone(),
                        outcome: command(line, folder, runner)?,
                    },
                    None => return Err(error),
                },
            }
        }
    };
    Ok(state)
}

/// Runs tests of projects in a folder: for each project the test files that `choose` returns, or all if that list is empty, or
/// none if it returns `None`.
pub fn measure(
    projects: &[Project],
    folder: &Path,
    runner: &Runner,
    choose: impl Fn(&Project) -> Option<Vec<PathBuf>>,
) -> Result<BTreeMap<TestId, TestResult>, MeasureError> {
    let mut all = BTreeMap::new();
    for project in projects {
        let Some(tests) = choose(project) else {
            continue;
        };
        let request = Request::tests_only(project, &tests);
        let below = project.root.strip_prefix(folder).unwrap_or(Path::new(""));
        for test in runner.measure(&request)?.tests {
            let result = if test.outcome.is_failing() {
                TestResult::Failed {
                    message: end_of(test.outcome.text()),
                }
            } else if test.outcome.text().is_empty() {
                TestResult::Passed
            } else {
                TestResult::NotCounted
            };
            let mut id = test.id;
            if !below.as_os_str().is_empty() {
                id.file = below.join(&id.file).to_string_lossy().into_owned();
            }
            all.insert(id, result);
        }
    }
    Ok(all)
}

fn command(line: &str, folder: &Path, runner: &Runner) -> Result<CommandOutcome, MeasureError> {
    let temp = tempfile::Builder::new().prefix("wavecrew-command-").tempdir()?;
    let mut writable = vec![folder.to_owned(), temp.path().to_owned()];
    writable.extend(runner.writable.iter().cloned());
    let step = Step {
        program: "sh".into(),
        args: vec!["-c".into(), line.into()],
        cwd: folder.to_owned(),
        env: vec![
            ("CI", "true".into()),
            ("NO_COLOR", "1".into()),
            ("TMPDIR", temp.path().into()),
        ],
        writable,
        copy_to: None,
        mark: None,
    };
    let end_now = runner.stop.as_ref().map(AsFd::as_fd);
    let ran = process::run(&step, Instant::now() + runner.timeout, end_now).map_err(|source| {
        MeasureError::Start {
            program: step.program.clone(),
            source,
        }
    })?;
    let how = match ran.ended {
        Ended::Code(0) => return Ok(CommandOutcome::Passed),
        Ended::Code(code) => format!("exit code {code}"),
        Ended::Signal(signal) => format!("signal {signal}"),
        Ended::TimedOut => format!("timed out after {} s", runner.timeout.as_secs()),
        Ended::Stopped => return Err(MeasureError::Stopped),
    };
    Ok(CommandOutcome::Failed {
        how,
        output: end_of(&ran.output),
    })
}

fn end_of(text: &str) -> String {
    let text = text.trim();
    let from = text.len().saturating_sub(OUTPUT_LIMIT);
    text[text.ceil_char_boundary(from)..].to_owned()
}

/// Keys in JSON are strings, and the parts of a [`TestId`] are two.
mod pairs {
    use super::{BTreeMap, Deserialize, TestId, TestResult};
    use serde::{Deserializer, Serializer};

    pub fn serialize<S: Serializer>(tests: &BTreeMap<TestId, TestResult>, s: S) -> Result<S::Ok, S::Error> {
        s.collect_seq(tests)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<BTreeMap<TestId, TestResult>, D::Error> {
        let pairs: Vec<(TestId, TestResult)> = Vec::deserialize(d)?;
        Ok(pairs.into_iter().collect())
    }
}
