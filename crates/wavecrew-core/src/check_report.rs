//! What a check process prints: one JSON object on one line, for the run that started it.

use crate::engine::{CheckFindings, CheckOutcome};
use crate::event::Verdict;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The fact with the hash of the kept state of the base commit: the run uses a kept state only if its hash matches.
pub const BASE_STATE: &str = "base_state";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum CheckReport {
    /// The facts support the claim; measured values replace claimed ones.
    #[serde(rename = "holds")]
    Confirmed(CheckDetails),
    /// True, but not good enough yet: the feedback lists what to do.
    Short(CheckDetails),
    /// The worker can correct it; sent back with the reason.
    #[serde(rename = "mend")]
    SendBack { reason: String },
    /// The claim is false.
    Contradicted { reason: String },
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CheckDetails {
    #[serde(default, rename = "checked")]
    pub verdict: Verdict,
    /// Values of columns.
    #[serde(default)]
    pub measured: BTreeMap<String, String>,
    #[serde(default)]
    pub facts: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub findings: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub feedback: String,
    /// What is in doubt: the worker is asked once, then the result is unverified with this reason.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub doubt: String,
}

impl CheckReport {
    /// Adds a remark for people to the findings.
    #[must_use]
    pub fn with_remark(mut self, remark: Option<String>) -> Self {
        if let (Self::Confirmed(details) | Self::Short(details), Some(remark)) = (&mut self, remark) {
            if !details.findings.is_empty() {
                details.findings.push_str("; ");
            }
            details.findings.push_str(&remark);
        }
        self
    }

    pub fn contradicted(reason: impl Into<String>) -> Self {
        Self::Contradicted {
            reason: reason.into(),
        }
    }

    pub fn send_back(reason: impl Into<String>) -> Self {
        Self::SendBack {
            reason: reason.into(),
        }
    }
}

impl From<CheckReport> for CheckOutcome {
    fn from(report: CheckReport) -> Self {
        let measured = |details: CheckDetails, shortfall| {
            Self::Measured(CheckFindings {
                verdict: details.verdict,
                measured: details.measured.into_iter().collect(),
                facts: details.facts.into_iter().collect(),
                findings: details.findings,
                doubt: details.doubt,
                shortfall,
            })
        };
        match report {
            CheckReport::Confirmed(details) => measured(details, None),
            CheckReport::Short(mut details) => {
                let feedback = std::mem::take(&mut details.feedback);
                measured(details, Some(feedback))
            }
            CheckReport::SendBack { reason } => Self::SendBack(reason),
            CheckReport::Contradicted { reason } => Self::Contradicted(reason),
        }
    }
}
