//! The result of a test run: outcomes, coverage of the files in scope, and notes for a person. Plain data and arithmetic.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// One test run, or several of the same suite.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    pub tests: Vec<TestCase>,
    pub coverage: Coverage,
    /// Tests whose outcome changed between runs. They stay in `tests` and do not count in the pass rate.
    pub flaky: Vec<Flaky>,
    pub notes: Vec<Note>,
    /// Proof that something acted on the measurement; empty for an honest run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tampering: Vec<String>,
}

/// A test by its file and full name. Tests with the same name in one file are numbered.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TestId {
    /// Relative to the project's root if it is below it; empty when the report does not name it.
    pub file: String,
    pub name: String,
}

impl TestId {
    /// As pytest names it.
    pub(crate) fn node_id(&self) -> String {
        match self.name.split_once("::") {
            Some((class, name)) => format!("{}::{}::{name}", self.file, class.replace('.', "::")),
            None => format!("{}::{}", self.file, self.name),
        }
    }

    /// Whether a framework uses this name for the test.
    pub fn is_called(&self, name: &str) -> bool {
        self.to_string() == name || self.node_id() == name
    }
}

impl std::fmt::Display for TestId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.file.is_empty(), self.name.is_empty()) {
            (true, _) => f.write_str(&self.name),
            (false, true) => f.write_str(&self.file),
            (false, false) => write!(f, "{}::{}", self.file, self.name),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TestCase {
    #[serde(flatten)]
    pub id: TestId,
    #[serde(flatten)]
    pub outcome: TestOutcome,
    #[serde(
        rename = "seconds",
        serialize_with = "seconds",
        deserialize_with = "from_seconds"
    )]
    pub duration: Duration,
}

fn seconds<S: serde::Serializer>(duration: &Duration, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_f64(duration.as_secs_f64())
}

fn from_seconds<'de, D: serde::Deserializer<'de>>(d: D) -> Result<Duration, D::Error> {
    let seconds = f64::deserialize(d)?;
    Duration::try_from_secs_f64(seconds).map_err(serde::de::Error::custom)
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum TestOutcome {
    Passed,
    Failed {
        message: String,
    },
    /// Setup or teardown failed, so that the outcome shows nothing about the code.
    Error {
        message: String,
    },
    /// The file could not be loaded: none of its tests ran.
    Unloaded {
        message: String,
    },
    /// Marked as known to fail, and it did.
    ExpectedFailure {
        reason: String,
    },
    Skipped {
        reason: String,
    },
}

impl TestOutcome {
    /// The message or reason.
    pub fn text(&self) -> &str {
        match self {
            Self::Passed => "",
            Self::Failed { message } | Self::Error { message } | Self::Unloaded { message } => message,
            Self::ExpectedFailure { reason } | Self::Skipped { reason } => reason,
        }
    }

    pub fn is_failing(&self) -> bool {
        match self {
            Self::Failed { .. } | Self::Error { .. } | Self::Unloaded { .. } => true,
            Self::Passed | Self::ExpectedFailure { .. } | Self::Skipped { .. } => false,
        }
    }

    /// The outcome without its message, which may differ between runs.
    pub(crate) fn kind(&self) -> std::mem::Discriminant<Self> {
        std::mem::discriminant(self)
    }

    pub(crate) fn kind_name(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed { .. } => "failed",
            Self::Error { .. } => "an error",
            Self::Unloaded { .. } => "not loaded",
            Self::ExpectedFailure { .. } => "an expected failure",
            Self::Skipped { .. } => "skipped",
        }
    }
}

/// A test with more than one outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flaky {
    #[serde(flatten)]
    pub id: TestId,
    pub runs: usize,
    pub passed: usize,
}

/// Advice besides the figures, with what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    pub what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

pub(crate) const NO_COVERAGE: &str = "only the pass rate is known";
pub(crate) const NO_MUTANTS: &str = "no mutants were tried";

impl Note {
    /// A missing tool, and what cannot be measured without it.
    pub(crate) fn missing_tool(what: &str, consequence: &str, fix: String) -> Self {
        Self {
            what: format!("{what}: {consequence}"),
            fix: Some(fix),
        }
    }

    pub fn names_missing_tool(&self) -> bool {
        [NO_COVERAGE, NO_MUTANTS]
            .iter()
            .any(|end| self.what.ends_with(end))
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Coverage {
    /// No tool, no report, or not requested; a note names the reason.
    #[default]
    Unknown,
    Known {
        files: Vec<FileCoverage>,
    },
}

/// One file in scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileCoverage {
    /// Relative to the project's root if it is below it.
    pub path: String,
    #[serde(rename = "standing")]
    pub status: CoverageStatus,
    pub lines: Ratio,
    /// `None` where the tool counts no branches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branches: Option<Ratio>,
    pub uncovered: Vec<LineRange>,
    /// All lines that no test ran. The intersection over several runs is what all of them leave uncovered.
    pub missed: Vec<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CoverageStatus {
    /// The coverage tool reported it.
    Measured,
    /// No test loads it, so the tool does not report it: it counts as 0 %, its lines of code are estimated.
    NotLoaded,
    /// The project's coverage settings exclude it: it does not count.
    Excluded,
    /// It has syntax errors, so no tool can measure it: it counts as 0 %, its lines of code are estimated.
    Broken,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ratio {
    pub covered: u64,
    pub total: u64,
}

impl Ratio {
    /// In percent; 100 if there is nothing to cover, as in the frameworks.
    pub fn percent(self) -> f64 {
        if self.total == 0 {
            return 100.0;
        }
        #[expect(clippy::cast_precision_loss, reason = "no file has 2^52 lines")]
        {
            self.covered as f64 * 100.0 / self.total as f64
        }
    }
}

impl std::ops::Add for Ratio {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            covered: self.covered + other.covered,
            total: self.total + other.total,
        }
    }
}

/// Lines from first to last, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineRange {
    pub first: u32,
    pub last: u32,
}

impl std::fmt::Display for LineRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.first == self.last {
            write!(f, "{}", self.first)
        } else {
            write!(f, "{}-{}", self.first, self.last)
        }
    }
}

/// How often each line of a file ran: the common denominator of all coverage formats.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hits {
    pub lines: BTreeMap<u32, u64>,
    pub branches: Option<Ratio>,
}

impl Hits {
    /// Uncovered lines become one range when no covered line is between them; comments and blank lines do not split it.
    pub fn into_coverage(self, path: String) -> FileCoverage {
        let mut uncovered: Vec<LineRange> = Vec::new();
        let mut open = false;
        for (&line, &hits) in &self.lines {
            match uncovered.last_mut() {
                _ if hits > 0 => open = false,
                Some(range) if open => range.last = line,
                _ => {
                    uncovered.push(LineRange {
                        first: line,
                        last: line,
                    });
                    open = true;
                }
            }
        }
        let missed: Vec<u32> = self
            .lines
            .iter()
            .filter(|&(_, &hits)| hits == 0)
            .map(|(&line, _)| line)
            .collect();
        let total = self.lines.len() as u64;
        FileCoverage {
            path,
            status: CoverageStatus::Measured,
            lines: Ratio {
                covered: total - missed.len() as u64,
                total,
            },
            branches: self.branches,
            uncovered,
            missed,
        }
    }
}

impl Coverage {
    pub fn files(&self) -> &[FileCoverage] {
        match self {
            Self::Unknown => &[],
            Self::Known { files } => files,
        }
    }

    /// Lines of all files in scope, except excluded ones. `None` when nothing was measured.
    pub fn lines(&self) -> Option<Ratio> {
        self.sum(|file| Some(file.lines))
    }

    /// `None` where the tool counts no branches.
    pub fn branches(&self) -> Option<Ratio> {
        self.sum(|file| file.branches)
    }

    fn sum(&self, part: impl Fn(&FileCoverage) -> Option<Ratio>) -> Option<Ratio> {
        self.files()
            .iter()
            .filter(|file| file.status != CoverageStatus::Excluded)
            .filter_map(part)
            .reduce(std::ops::Add::add)
    }
}

impl Measurement {
    /// Passed tests among all that had to pass. Failures, errors, unloaded files, expected failures, and tests that are skipped
    /// now and were not in `skipped_before` count as not passed. Flaky tests do not count. `None` when no test counts.
    pub fn pass_rate(&self, skipped_before: &BTreeSet<TestId>) -> Option<Ratio> {
        let flaky: BTreeSet<&TestId> = self.flaky.iter().map(|f| &f.id).collect();
        let mut rate = Ratio::default();
        for test in self.tests.iter().filter(|t| !flaky.contains(&t.id)) {
            match &test.outcome {
                TestOutcome::Passed => rate.covered += 1,
                TestOutcome::Skipped { .. } if skipped_before.contains(&test.id) => continue,
                TestOutcome::Skipped { .. }
                | TestOutcome::Failed { .. }
                | TestOutcome::Error { .. }
                | TestOutcome::Unloaded { .. }
                | TestOutcome::ExpectedFailure { .. } => {}
            }
            rate.total += 1;
        }
        (rate.total > 0).then_some(rate)
    }

    pub fn skipped(&self) -> BTreeSet<TestId> {
        let skipped = |t: &&TestCase| matches!(t.outcome, TestOutcome::Skipped { .. });
        self.tests.iter().filter(skipped).map(|t| t.id.clone()).collect()
    }

    /// Failed, erroneous and unloaded tests, flaky ones too.
    pub fn failing(&self) -> impl Iterator<Item = &TestCase> {
        self.tests.iter().filter(|t| t.outcome.is_failing())
    }
}

/// Numbers tests with the same file and name, so that an id identifies one test.
pub(crate) fn number_namesakes(tests: &mut [TestCase]) {
    let mut seen: BTreeMap<TestId, usize> = BTreeMap::new();
    for test in tests {
        let count = seen.entry(test.id.clone()).or_default();
        *count += 1;
        if *count > 1 {
            test.id.name.push_str(&format!(" #{count}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(name: &str, outcome: TestOutcome) -> TestCase {
        TestCase {
            id: TestId {
                file: "t.py".to_owned(),
                name: name.to_owned(),
            },
            outcome,
            duration: Duration::ZERO,
        }
    }

    #[test]
    fn only_passed_tests_raise_the_pass_rate() {
        let text = String::new;
        let mut m = Measurement {
            tests: vec![
                test("a", TestOutcome::Passed),
                test("b", TestOutcome::Failed { message: text() }),
                test("c", TestOutcome::Error { message: text() }),
                test("d", TestOutcome::Unloaded { message: text() }),
                test("e", TestOutcome::ExpectedFailure { reason: text() }),
                test("f", TestOutcome::Skipped { reason: text() }),
            ],
            ..Measurement::default()
        };
        let none = BTreeSet::new();
        assert_eq!(m.pass_rate(&none), Some(Ratio { covered: 1, total: 6 }));
        assert_eq!(m.pass_rate(&m.skipped()), Some(Ratio { covered: 1, total: 5 }));
        m.flaky = vec![Flaky {
            id: m.tests[1].id.clone(),
            runs: 3,
            passed: 2,
        }];
        assert_eq!(m.pass_rate(&none), Some(Ratio { covered: 1, total: 5 }));
        assert_eq!(Measurement::default().pass_rate(&none), None);
    }

    #[test]
    fn a_measurement_is_read_back_from_json() {
        let m = Measurement {
            tests: vec![
                test("a", TestOutcome::Passed),
                test(
                    "b",
                    TestOutcome::Failed {
                        message: "1 != 2".to_owned(),
                    },
                ),
            ],
            coverage: Coverage::Known {
                files: vec![
                    Hits {
                        lines: [(1, 1), (2, 0)].into(),
                        branches: None,
                    }
                    .into_coverage("a.py".to_owned()),
                ],
            },
            ..Measurement::default()
        };
        let text = serde_json::to_string(&m).unwrap();
        assert_eq!(serde_json::from_str::<Measurement>(&text).unwrap(), m, "{text}");
    }

    #[test]
    fn uncovered_ranges_span_lines_without_code() {
        let lines = [(1, 1), (3, 0), (7, 0), (8, 2), (9, 0), (12, 4)].into();
        let file = Hits {
            lines,
            branches: None,
        }
        .into_coverage("a.py".to_owned());
        assert_eq!(file.lines, Ratio { covered: 3, total: 6 });
        let ranges: Vec<String> = file.uncovered.iter().map(LineRange::to_string).collect();
        assert_eq!(ranges, ["3-7", "9"]);
    }

    #[test]
    fn excluded_files_do_not_count() {
        let file = |status, covered| FileCoverage {
            path: "a".to_owned(),
            status,
            lines: Ratio { covered, total: 10 },
            branches: None,
            uncovered: Vec::new(),
            missed: Vec::new(),
        };
        let coverage = Coverage::Known {
            files: vec![
                file(CoverageStatus::Measured, 5),
                file(CoverageStatus::NotLoaded, 0),
                file(CoverageStatus::Excluded, 0),
            ],
        };
        assert_eq!(
            coverage.lines(),
            Some(Ratio {
                covered: 5,
                total: 20
            })
        );
        assert_eq!(coverage.branches(), None);
    }
}
