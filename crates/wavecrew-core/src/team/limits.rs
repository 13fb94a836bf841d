//! How long workers may take and how much they may print. A team changes the defaults, a role changes the
//! team's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Limits in force for a task.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(from = "LimitsPatch", into = "LimitsPatch")]
#[schemars(with = "LimitsPatch")]
pub struct Limits {
    /// A one-shot task as a whole.
    pub one_shot: Duration,
    /// An interactive task, before it is asked to finish.
    pub interactive: Duration,
    /// An interactive task, after it was asked to finish.
    pub interactive_grace: Duration,
    /// The time until the first output of a worker.
    pub first_event: Duration,
    /// Silence after which a worker is shown as stalled.
    pub idle: Duration,
    /// Waiting for a person's answer.
    pub person: Duration,
    /// How often a bad report is sent back.
    pub max_repairs: u32,
    /// Output kept per task.
    pub log_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            one_shot: Duration::from_mins(15),
            interactive: Duration::from_mins(15),
            interactive_grace: Duration::from_mins(2),
            first_event: Duration::from_mins(2),
            idle: Duration::from_mins(5),
            person: Duration::from_hours(24),
            max_repairs: 2,
            log_bytes: 10_000_000,
        }
    }
}

/// Limits as written: only what differs.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsPatch {
    /// Seconds a one-shot task may take (900).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_shot_seconds: Option<u32>,
    /// Seconds an interactive task may take before it is asked to finish (900).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interactive_seconds: Option<u32>,
    /// Seconds that an interactive task has after the request to finish (120).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interactive_grace_seconds: Option<u32>,
    /// Seconds until a worker must have produced output (120).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_event_seconds: Option<u32>,
    /// Seconds of silence after which a worker is shown as stalled (300).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_seconds: Option<u32>,
    /// Seconds a question waits for a person (86400).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub person_seconds: Option<u32>,
    /// How often an invalid report is sent back before the task fails (2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_repairs: Option<u32>,
    /// Bytes of output kept per task: the first and the last half of it (10000000).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_bytes: Option<u64>,
}

impl LimitsPatch {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// These limits where they are set, else those of the base.
    #[must_use]
    pub fn over(&self, base: &Limits) -> Limits {
        let seconds = |patch: Option<u32>, base| patch.map_or(base, |s| Duration::from_secs(s.into()));
        Limits {
            one_shot: seconds(self.one_shot_seconds, base.one_shot),
            interactive: seconds(self.interactive_seconds, base.interactive),
            interactive_grace: seconds(self.interactive_grace_seconds, base.interactive_grace),
            first_event: seconds(self.first_event_seconds, base.first_event),
            idle: seconds(self.idle_seconds, base.idle),
            person: seconds(self.person_seconds, base.person),
            max_repairs: self.max_repairs.unwrap_or(base.max_repairs),
            log_bytes: self.log_bytes.unwrap_or(base.log_bytes),
        }
    }
}

impl From<LimitsPatch> for Limits {
    fn from(patch: LimitsPatch) -> Self {
        patch.over(&Limits::default())
    }
}

impl From<Limits> for LimitsPatch {
    fn from(limits: Limits) -> Self {
        // Every duration came from a `u32` of seconds, so the conversion back loses nothing.
        let seconds = |d: Duration| u32::try_from(d.as_secs()).ok();
        Self {
            one_shot_seconds: seconds(limits.one_shot),
            interactive_seconds: seconds(limits.interactive),
            interactive_grace_seconds: seconds(limits.interactive_grace),
            first_event_seconds: seconds(limits.first_event),
            idle_seconds: seconds(limits.idle),
            person_seconds: seconds(limits.person),
            max_repairs: Some(limits.max_repairs),
            log_bytes: Some(limits.log_bytes),
        }
    }
}
