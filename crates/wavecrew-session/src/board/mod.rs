//! The discovery board: facts that workers share with later workers.
//!
//! Anyone may append, with this code or with `echo >>`. Bad lines are counted and do not stop the reading.

use crate::error::SessionError;
use crate::lines;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use wavecrew_core::team::DiscoveryType;

/// One line of `discoveries.ndjson`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Discovery {
    #[serde(default)]
    pub ts: String,
    pub worker: String,
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default)]
    pub data: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The content of the board when it was read.
#[derive(Clone, PartialEq, Debug)]
pub struct Discoveries {
    pub entries: Vec<Discovery>,
    /// Lines that are not discoveries.
    pub malformed: usize,
}

#[derive(Clone, Debug)]
pub struct DiscoveryBoard {
    path: PathBuf,
}

impl DiscoveryBoard {
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn append(&self, discovery: &Discovery) -> Result<(), SessionError> {
        lines::append_json(&self.path, discovery)
    }

    pub fn read(&self) -> Result<Discoveries, SessionError> {
        let lines::Lines { entries, malformed } = lines::read(&self.path)?;
        Ok(Discoveries { entries, malformed })
    }
}

impl Discoveries {
    /// Keeps one entry per key: the last one.
    ///
    /// The key of a type is a list of fields of `data`. Without fields there is one such entry per board. Entries of other
    /// types are all kept, and so is an entry without any field of its key.
    #[must_use]
    pub fn dedup(mut self, types: &[DiscoveryType]) -> Self {
        let mut seen = HashSet::new();
        let mut kept: Vec<Discovery> = Vec::with_capacity(self.entries.len());
        for entry in self.entries.drain(..).rev() {
            let known = types.iter().find(|known| known.name == entry.kind);
            let key = known.and_then(|known| known.key_of(&entry.data));
            if key.is_none_or(|key| seen.insert(key)) {
                kept.push(entry);
            }
        }
        kept.reverse();
        self.entries = kept;
        self
    }
}

#[cfg(test)]
mod tests;
