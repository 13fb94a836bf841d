//! State that the roles of a team share, in `.msg/meta.json`: one JSON object, one owner per field.
//!
//! Refuses a field that no role owns, and a role that does not own the field.

use crate::atomic;
use crate::error::{IoContext, SessionError};
use crate::lock::try_lock_for;
use crate::worker_file::{WorkerFile, not_a_file, open_append, read_limited};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a writer waits for the others. Each of them needs milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);

/// A longer file is not read to its end, and so is not valid JSON.
const MAX_READ: u64 = 8 << 20;

#[derive(Clone, Debug)]
pub struct SharedState {
    path: PathBuf,
}

impl SharedState {
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    pub fn read(&self) -> Result<Map<String, Value>, SessionError> {
        let bytes = match read_limited(&self.path, MAX_READ).context("read", &self.path)? {
            WorkerFile::Regular((bytes, _)) => bytes,
            WorkerFile::Nothing => return Ok(Map::new()),
            WorkerFile::Foreign => return Err(not_a_file(&self.path)),
        };
        serde_json::from_slice(&bytes).map_err(|error| SessionError::malformed(&self.path, &error))
    }

    /// Sets one field, if `role` is its owner. `owners` maps each field to its role.
    pub fn set(
        &self,
        role: &str,
        field: &str,
        value: Value,
        owners: &BTreeMap<String, String>,
    ) -> Result<(), SessionError> {
        check_owner(role, field, owners)?;
        let _turn = self.wait_for_turn()?;
        let mut state = self.read()?;
        state.insert(field.to_owned(), value);
        let mut text = serde_json::to_vec_pretty(&state).map_err(|error| SessionError::NotJson {
            what: "the shared state",
            reason: error.to_string(),
        })?;
        text.push(b'\n');
        atomic::write(&self.path, &text)
    }

    /// The lock is a file of its own, because the state itself is replaced by every write.
    fn wait_for_turn(&self) -> Result<File, SessionError> {
        let path = lock_path(&self.path);
        let file = open_append(&path)?;
        if try_lock_for(&file, &path, PATIENCE)? {
            Ok(file)
        } else {
            Err(SessionError::Busy { path })
        }
    }
}

fn lock_path(state: &Path) -> PathBuf {
    state.with_extension("lock")
}

fn check_owner(role: &str, field: &str, owners: &BTreeMap<String, String>) -> Result<(), SessionError> {
    match owners.get(field) {
        Some(owner) if owner == role => Ok(()),
        Some(owner) => Err(SessionError::NotOwner {
            field: field.to_owned(),
            role: role.to_owned(),
            owner: owner.clone(),
        }),
        None => Err(SessionError::UnknownField {
            field: field.to_owned(),
            known: owners.keys().cloned().collect(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn state() -> (tempfile::TempDir, SharedState) {
        let dir = tempfile::tempdir().unwrap();
        let state = SharedState::at(dir.path().join("meta.json"));
        (dir, state)
    }

    fn owners(fields: &[(&str, &str)]) -> BTreeMap<String, String> {
        fields
            .iter()
            .map(|(field, role)| ((*field).to_owned(), (*role).to_owned()))
            .collect()
    }

    #[test]
    fn only_the_owner_sets_a_field() {
        let (_dir, state) = state();
        let owners = owners(&[("test_strategy", "strategist"), ("defects", "executor")]);
        state
            .set("strategist", "test_strategy", json!({"layers": 2}), &owners)
            .unwrap();
        let error = state
            .set("executor", "test_strategy", json!(1), &owners)
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "role `executor` may not set `test_strategy`, which belongs to `strategist`"
        );
        let error = state.set("executor", "mood", json!(1), &owners).unwrap_err();
        assert_eq!(error.help(), "known fields: defects, test_strategy");
        assert_eq!(
            Value::Object(state.read().unwrap()),
            json!({"test_strategy": {"layers": 2}})
        );
    }

    #[test]
    fn concurrent_owners_lose_no_field() {
        let (_dir, state) = state();
        let names: Vec<String> = (0..8).map(|n| format!("f{n}")).collect();
        let owners: BTreeMap<_, _> = names.iter().map(|name| (name.clone(), name.clone())).collect();
        std::thread::scope(|scope| {
            for name in &names {
                let (state, owners) = (&state, &owners);
                scope.spawn(move || (0..5).for_each(|n| state.set(name, name, json!(n), owners).unwrap()));
            }
        });
        let read = state.read().unwrap();
        assert_eq!(read.len(), 8);
        assert!(read.values().all(|value| *value == json!(4)));
    }

    #[test]
    fn a_broken_file_is_reported_and_kept() {
        let (_dir, state) = state();
        std::fs::write(&state.path, "{ not json").unwrap();
        let error = state.set("a", "f", json!(1), &owners(&[("f", "a")])).unwrap_err();
        assert!(matches!(error, SessionError::Malformed { .. }), "{error}");
        assert_eq!(std::fs::read_to_string(&state.path).unwrap(), "{ not json");
    }
}
