//! The discovery board: facts that workers share with later workers.
//!
//! Anyone may append, with this code or with `echo >>`. Malformed lines are counted and skipped.

use crate::error::SessionError;
use crate::lines;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

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
    /// Leaves one entry per key: the last one, at its own (newest) place.
    ///
    /// `keys` gives a type's key as paths into the entry, such as `data.file` and `data.line`. `None` keeps
    /// every entry of the type, no paths at all mean that there is one such entry per board, and an entry
    /// that has none of its key's fields is kept, since it cannot be compared.
    #[must_use]
    pub fn dedup<'k>(mut self, keys: impl Fn(&str) -> Option<&'k [String]>) -> Self {
        let mut seen = HashSet::new();
        let mut kept: Vec<Discovery> = Vec::with_capacity(self.entries.len());
        for entry in self.entries.drain(..).rev() {
            let first_seen = match keys(&entry.kind).and_then(|paths| key_of(&entry, paths)) {
                Some(key) => seen.insert(key),
                None => true,
            };
            if first_seen {
                kept.push(entry);
            }
        }
        kept.reverse();
        self.entries = kept;
        self
    }
}

fn key_of(entry: &Discovery, paths: &[String]) -> Option<String> {
    let parts: Vec<Value> = paths.iter().map(|path| lookup(entry, path)).collect();
    if !parts.is_empty() && parts.iter().all(Value::is_null) {
        return None;
    }
    // As JSON, so that different keys stay different.
    Some(serde_json::json!([entry.kind, parts]).to_string())
}

fn lookup(entry: &Discovery, path: &str) -> Value {
    let mut steps = path.split('.');
    let root = match steps.next().unwrap_or_default() {
        "worker" => return entry.worker.as_str().into(),
        "attempt" => return entry.attempt.into(),
        "data" => Some(&entry.data),
        other => entry.extra.get(other),
    };
    steps
        .fold(root, |value, step| value?.get(step))
        .cloned()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
