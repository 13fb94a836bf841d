//! What a check found out about a claim: one JSON object, read by the run that started the check.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wavecrew_core::event::Verdict;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum CheckReport {
    /// The facts support the claim; measured values replace claimed ones.
    Holds(CheckDetails),
    /// True, but not good enough yet: the feedback says what to do.
    Short(CheckDetails),
    /// The worker can correct it; sent back with the reason.
    Mend { reason: String },
    /// The claim is false.
    Contradicted { reason: String },
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CheckDetails {
    #[serde(default)]
    pub checked: Verdict,
    /// Values of columns.
    #[serde(default)]
    pub measured: BTreeMap<String, String>,
    #[serde(default)]
    pub facts: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub findings: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub feedback: String,
}

impl CheckReport {
    /// Adds a remark for people to the findings.
    #[must_use]
    pub fn with_remark(mut self, remark: Option<String>) -> Self {
        if let (Self::Holds(details) | Self::Short(details), Some(remark)) = (&mut self, remark) {
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

    pub fn mend(reason: impl Into<String>) -> Self {
        Self::Mend {
            reason: reason.into(),
        }
    }
}
