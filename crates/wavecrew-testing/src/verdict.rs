//! What an examination says about a claim: one JSON object, for the run that asked.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "lowercase")]
pub enum Verdict {
    /// The facts bear it out; measured values stand in place of claimed ones.
    Holds {
        checked: Checked,
        #[serde(default)]
        measured: BTreeMap<String, String>,
        #[serde(default)]
        facts: BTreeMap<String, String>,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        findings: String,
    },
    /// True, and not yet good enough: what to do is in the feedback.
    Short {
        #[serde(default)]
        measured: BTreeMap<String, String>,
        #[serde(default)]
        facts: BTreeMap<String, String>,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        findings: String,
        feedback: String,
    },
    /// To be sent back with the reason.
    Mend { reason: String },
    /// The claim is false.
    Contradicted { reason: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Checked {
    Verified,
    Unverified,
}

impl Verdict {
    /// With something in its findings that a person should know.
    #[must_use]
    pub fn remarked(mut self, remark: Option<String>) -> Self {
        if let (Self::Holds { findings, .. } | Self::Short { findings, .. }, Some(remark)) =
            (&mut self, remark)
        {
            if !findings.is_empty() {
                findings.push_str("; ");
            }
            findings.push_str(&remark);
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
