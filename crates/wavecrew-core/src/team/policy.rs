//! What happens between waves: loops, checkpoints and gates, as a closed set of kinds with parameters that
//! any team may use. Data only: the engine reads these and decides.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Work that is repeated until it is good enough.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LoopKind {
    /// The generator improves its work while the critic measures a pass rate below `min_pass_rate` or, when there
    /// is a target column, coverage below the row's target. A round that makes things worse is rolled back.
    GeneratorCritic {
        /// Role that generates.
        generator: String,
        /// Role that measures.
        critic: String,
        /// Rounds are counted per value of this column; if omitted, per critic task.
        #[serde(default)]
        per: Option<String>,
        min_pass_rate: f64,
        /// Output column with the measured pass rate.
        pass_rate_column: String,
        /// Output column with the measured coverage.
        #[serde(default)]
        coverage_column: Option<String>,
        /// Input column with the target coverage.
        #[serde(default)]
        target_column: Option<String>,
        max_rounds: u32,
        #[serde(default)]
        on_limit: OnLimit,
        /// Fix iterations inside one call of the critic.
        #[serde(default)]
        inner: Option<InnerLoop>,
        /// File of the session folder with rounds and history.
        #[serde(default)]
        state_file: Option<String>,
        /// File of the session folder with the feedback for the generator; columns in braces are filled in.
        #[serde(default)]
        brief: Option<String>,
    },
    /// The fixer repairs until the check passes.
    FixVerify {
        /// Role that repairs.
        fixer: String,
        /// Role that verifies; if omitted, wavecrew runs the project's build and tests itself.
        #[serde(default)]
        verifier: Option<String>,
        /// Share of checks that must pass.
        min_pass_rate: f64,
        max_rounds: u32,
        #[serde(default)]
        on_limit: OnLimit,
        /// Run the tests that the change affects first.
        #[serde(default)]
        affected_first: bool,
    },
}

/// Iterations within one conversation.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InnerLoop {
    pub max_iterations: u32,
    /// From this iteration on, `enough_pass_rate` is enough to stop.
    pub relaxed_from: u32,
    pub enough_pass_rate: f64,
}

/// What happens when a loop has used up its rounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnLimit {
    /// Accept the result, with a warning.
    #[default]
    Accept,
    /// The task failed.
    Fail,
}

/// A role whose tasks rate the work so far with a score from 0 to 1.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    pub role: String,
    /// From this score on: pass.
    pub pass: f64,
    /// From this score on: warn; below: block.
    pub warn: f64,
    /// How often the upstream task runs again with the report as context.
    pub max_revisions: u32,
    /// The same if nobody can be asked; then the run stops.
    pub unattended_revisions: u32,
    /// Output column that receives the verdict.
    #[serde(default)]
    pub verdict_column: Option<String>,
}

impl Checkpoint {
    pub fn verdict(&self, score: f64) -> CheckpointVerdict {
        if score >= self.pass {
            CheckpointVerdict::Pass
        } else if score >= self.warn {
            CheckpointVerdict::Warn
        } else {
            CheckpointVerdict::Block
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckpointVerdict {
    Pass,
    Warn,
    Block,
}

impl CheckpointVerdict {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Warn => "warn",
            Self::Block => "block",
        }
    }
}

/// A decision after the tasks of an id prefix.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum GateKind {
    /// A weighted score of 0 to 100: continue, offer a revision, or send back.
    Score {
        name: String,
        /// Id prefix of the tasks it follows.
        after: String,
        dimensions: Vec<Dimension>,
        /// From this score on, the run continues.
        pass: f64,
        /// From this score on, a revision is offered; below, the work is sent back.
        revise: f64,
        /// Output column that receives the score.
        #[serde(default)]
        score_column: Option<String>,
        /// Role whose tasks run again.
        back_to: String,
        max_revisions: u32,
        /// Pipelines in which a person approves before the run continues.
        #[serde(default)]
        approval_in: Vec<String>,
    },
    /// A weighted score of 0 to 100 that is computed and shown. It never stops the run.
    Rating {
        name: String,
        after: String,
        dimensions: Vec<Dimension>,
    },
    /// A worker's verdict: one word out of three lists.
    Verdict {
        name: String,
        after: String,
        pass: Vec<String>,
        #[serde(default)]
        warn: Vec<String>,
        block: Vec<String>,
        back_to: String,
        max_revisions: u32,
    },
    /// A person approves or stops the run.
    Approval {
        name: String,
        after: String,
        question: String,
    },
}

impl GateKind {
    pub fn name(&self) -> &str {
        match self {
            Self::Score { name, .. }
            | Self::Rating { name, .. }
            | Self::Verdict { name, .. }
            | Self::Approval { name, .. } => name,
        }
    }

    /// Id prefix of the tasks after which it decides.
    pub fn after(&self) -> &str {
        match self {
            Self::Score { after, .. }
            | Self::Rating { after, .. }
            | Self::Verdict { after, .. }
            | Self::Approval { after, .. } => after,
        }
    }

    pub fn demand(&self) -> Option<Demand<'_>> {
        match self {
            Self::Score {
                dimensions,
                score_column,
                ..
            } => Some(Demand::Score {
                dimensions,
                column: score_column.as_deref(),
            }),
            Self::Verdict {
                pass, warn, block, ..
            } => {
                let words = pass.iter().chain(warn).chain(block).map(String::as_str);
                Some(Demand::Verdict(words.collect()))
            }
            Self::Rating { .. } | Self::Approval { .. } => None,
        }
    }
}

/// What a gate needs from the report of its task.
pub enum Demand<'a> {
    /// The points of each dimension, or one score in this column.
    Score {
        dimensions: &'a [Dimension],
        column: Option<&'a str>,
    },
    /// One of these words.
    Verdict(Vec<&'a str>),
}

/// A part of a score.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dimension {
    pub name: String,
    /// Percent of the whole; the weights of a gate add up to 100.
    pub weight: u32,
    #[serde(default)]
    pub from: DimensionSource,
}

/// Where the points of a dimension come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DimensionSource {
    /// The worker's report.
    #[default]
    Reported,
    /// Measured coverage against the targets.
    CoverageAchievement,
    /// Measured effectiveness of the tests.
    TestEffectiveness,
    /// Defects that the tests found.
    DefectDetection,
    /// Rounds that the loops needed.
    LoopEfficiency,
}
