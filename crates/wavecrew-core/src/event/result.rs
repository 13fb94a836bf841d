//! The result of a task, the stop reason of its worker, the verdict on its claims, and the outcome of a run.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The result of a task.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct TaskResult {
    pub status: Status,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub findings: String,
    /// Values of the team's output columns, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub error: String,
    /// Further values for policies: scores, verdicts, figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<(String, String)>,
    #[serde(default, rename = "checked")]
    pub verdict: Verdict,
    /// Why the result is unverified, where there is a reason beside that nothing could be compared.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub doubt: String,
}

impl TaskResult {
    /// The value of an output column, or an empty text.
    pub fn output(&self, name: &str) -> &str {
        let mut outputs = self.outputs.iter();
        let found = outputs.find(|(column, _)| column == name);
        found.map_or("", |(_, value)| value)
    }

    /// The value of an output column, or else of a fact.
    pub fn value(&self, name: &str) -> Option<&str> {
        let mut values = self.outputs.iter().chain(&self.facts);
        let found = values.find(|(column, _)| column == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// The status column of `tasks.csv`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    #[default]
    Pending,
    Completed,
    Failed,
    Skipped,
}

impl Status {
    pub const ALL: [Self; 4] = [Self::Pending, Self::Completed, Self::Failed, Self::Skipped];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }
}

/// The outcome of the checks of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Verified,
    /// There was nothing to check against.
    #[default]
    Unverified,
    Contradicted,
}

impl Verdict {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Unverified => "unverified",
            Self::Contradicted => "contradicted",
        }
    }
}

/// Why a worker ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    Ok,
    NoReport,
    SchemaInvalid,
    RateLimited,
    Quota,
    Auth,
    PermissionBlocked,
    Timeout,
    Idle,
    Crashed,
    Refused,
    /// A limit that a person set, on the task or on the agent itself.
    Budget,
    Cancelled,
    Interrupted,
}

impl StopReason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::NoReport => "no_report",
            Self::SchemaInvalid => "schema_invalid",
            Self::RateLimited => "rate_limited",
            Self::Quota => "quota",
            Self::Auth => "auth",
            Self::PermissionBlocked => "permission_blocked",
            Self::Timeout => "timeout",
            Self::Idle => "idle",
            Self::Crashed => "crashed",
            Self::Refused => "refused",
            Self::Budget => "budget",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
        }
    }
}

/// How a run of the coordinator ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RunOutcome {
    /// Every task completed.
    Completed,
    /// Something failed or was skipped.
    Failed,
    /// A person pressed Ctrl-C or sent a signal.
    Interrupted,
    /// A person cancelled it from elsewhere.
    Cancelled,
    /// Nothing can run and something is pending.
    Stalled { chain: String },
    /// A limit leaves no room for the rest of the work.
    LimitReached {
        why: String,
        /// The flags that raise the limit.
        go_on: String,
    },
    /// A checkpoint or a gate stopped the run.
    Blocked { by: String, why: String },
}

impl fmt::Display for RunOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Completed => f.write_str("completed"),
            Self::Failed => f.write_str("failed"),
            Self::Interrupted => f.write_str("interrupted"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::Stalled { chain } => write!(f, "stalled: {chain}"),
            Self::LimitReached { why, .. } => write!(f, "limit reached: {why}"),
            Self::Blocked { by, why } => write!(f, "stopped at {by}: {why}"),
        }
    }
}
