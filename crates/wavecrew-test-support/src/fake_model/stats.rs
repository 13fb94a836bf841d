//! Counters per mode, so that a test can ask how often and with what an agent called.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

/// All counters of a service.
#[derive(Debug, Default)]
pub struct Stats(Mutex<BTreeMap<String, ModeStats>>);

/// What was asked under one mode, as its path element is spelt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ModeStats {
    /// Requests for an answer, failed ones included.
    pub requests: u64,
    /// The model that the latest of them named.
    pub model: String,
    /// The tools that the latest request with tools offered.
    pub tools: Vec<String>,
}

impl Stats {
    /// Counts a request; its number within the mode and among all, from 1.
    pub(crate) fn count(&self, mode: &str, model: &str, tools: &[String]) -> (u64, u64) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = all.entry(mode.to_owned()).or_default();
        entry.requests += 1;
        model.clone_into(&mut entry.model);
        if !tools.is_empty() {
            entry.tools = tools.to_vec();
        }
        let nth = entry.requests;
        (nth, all.values().map(|mode| mode.requests).sum())
    }

    pub(crate) fn of(&self, mode: &str) -> ModeStats {
        self.all().remove(mode).unwrap_or_default()
    }

    pub(crate) fn all(&self) -> BTreeMap<String, ModeStats> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
