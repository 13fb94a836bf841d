//! Issues, as people file them and as a Markdown plan lists them. Reads no file and no clock.

mod id;
mod plan;

pub use id::{IssueId, next_ids};
pub use plan::{PlanProblem, Planned, read_plan};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One line of `issues.jsonl`.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Issue {
    pub id: String,
    pub title: String,
    #[serde(default)]
    pub status: IssueStatus,
    /// Everything needed to solve it.
    #[serde(
        default,
        alias = "context",
        alias = "text",
        alias = "body",
        skip_serializing_if = "String::is_empty"
    )]
    pub description: String,
    /// Free text; `wave-N` sets how early it is due.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Issues that have to be solved first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on_issues: Vec<String>,
    /// Where it came from: `cli`, `text` or `plan`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// RFC 3339 in UTC.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub created_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<String>,
    /// Why it was closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<String>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IssueStatus {
    #[default]
    #[serde(alias = "registered", alias = "pending", alias = "planned", alias = "queued")]
    Open,
    #[serde(alias = "completed", alias = "done", alias = "resolved")]
    Closed,
}

impl IssueStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
        }
    }
}

impl Issue {
    /// The N of its tag `wave-N`.
    pub fn wave(&self) -> Option<u32> {
        self.tags
            .iter()
            .find_map(|tag| tag.strip_prefix("wave-")?.parse().ok())
    }
}
