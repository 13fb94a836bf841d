//! Why a search failed.

use serde::{Deserialize, Serialize};

#[derive(Debug, thiserror::Error)]
pub enum SearchFailure {
    #[error("loading the module does not end")]
    LoadHung,
    #[error("{} does not end", .0.text)]
    CallHung(LastCall),
    #[error("{} {cause}", .call.text)]
    Crashed { call: LastCall, cause: CrashCause },
    #[error("the module does not load in a test: {0}")]
    NotLoaded(String),
}

#[derive(Debug, thiserror::Error)]
pub enum CrashCause {
    #[error("runs out of memory: {0}")]
    OutOfMemory(String),
    #[error("ends the process")]
    Other,
}

/// The call that ran last, as the helper wrote it to its trace file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct LastCall {
    /// The function or class that was called.
    pub target: String,
    /// The call as source text.
    pub text: String,
    /// Whether a mutant was active, or an existing test of the project ran.
    #[serde(default)]
    pub uses_mutant: bool,
}
