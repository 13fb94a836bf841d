//! The states of checked files: their hashes are facts of the task that owes them, and so are in the journal.

use crate::engine::{Ledger, TaskProgress};
use crate::event::Status;
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_128;

/// How the name of such a fact begins; the path in the session folder follows.
const MARK: &str = "file ";

/// The fact about a file that was checked.
pub fn checked_file(path: &str, bytes: &[u8]) -> (String, String) {
    (format!("{MARK}{path}"), content_hash(bytes))
}

/// A hash of a file's content.
pub fn content_hash(bytes: &[u8]) -> String {
    format!("{:032x}", xxh3_128(bytes))
}

/// The files of completed tasks as they were checked: path and hash. Without those of tasks that run again.
pub fn checked_files(ledger: &Ledger) -> Vec<(&str, &str)> {
    let done = |task: &crate::id::TaskIx| {
        let state = ledger.task(*task);
        state.progress == TaskProgress::Done && state.result.status == Status::Completed
    };
    let facts = ledger
        .plan()
        .tasks()
        .filter(done)
        .flat_map(|task| &ledger.task(task).result.facts);
    facts
        .filter_map(|(name, hash)| Some((name.strip_prefix(MARK)?, hash.as_str())))
        .collect()
}

/// Whether a file is unchanged since the check of a task that owes it; `None` if it was not checked.
pub fn is_as_checked(ledger: &Ledger, path: &str, bytes: &[u8]) -> Option<bool> {
    let known: Vec<&str> = checked_files(ledger)
        .into_iter()
        .filter(|(name, _)| *name == path)
        .map(|(_, hash)| hash)
        .collect();
    (!known.is_empty()).then(|| known.contains(&content_hash(bytes).as_str()))
}

/// Every file that a plan names, at any depth.
pub fn touched_files(value: &Value) -> Vec<String> {
    match value {
        Value::Object(fields) => {
            let own = |(key, inner): (&String, &Value)| match (key.as_str(), inner) {
                ("files_touched" | "files", Value::Array(files)) => files
                    .iter()
                    .filter_map(super::json::file_name)
                    .map(str::to_owned)
                    .collect(),
                ("files_touched" | "files", Value::String(files)) => files
                    .split(';')
                    .map(|file| file.trim().to_owned())
                    .filter(|file| !file.is_empty())
                    .collect(),
                (_, inner) => touched_files(inner),
            };
            fields.iter().flat_map(own).collect()
        }
        Value::Array(entries) => entries.iter().flat_map(touched_files).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touched_files_are_found_at_any_depth() {
        let plan = serde_json::json!({ "solution": { "tasks": [
            { "files_touched": ["a", "b"], "description": "files" },
            { "files": ["c", 4] },
            { "files": "d; e" },
            { "files": [{ "path": "f", "action": "create" }] },
        ] } });
        assert_eq!(touched_files(&plan), ["a", "b", "c", "d", "e", "f"]);
    }

    #[test]
    fn a_hash_follows_from_the_content() {
        assert_eq!(content_hash(b"a"), content_hash(b"a"));
        assert_ne!(content_hash(b"a"), content_hash(b"b"));
        assert_eq!(checked_file("plan/plan.json", b"a").0, "file plan/plan.json");
    }
}
