//! Copies of a layer's tests: as last checked, to find weakened tests; per round, to roll back a worse one; and the kept
//! tests.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::layer;
use crate::result::RunResult;
use crate::scope::Scope;
use crate::sealed;
use crate::select::Dropped;
use wavecrew_session::{SessionPaths, atomic};

/// The layer's tests as of the last check that found no problem.
pub fn checked_tests(session: &Path, layer: &str) -> PathBuf {
    SessionPaths::at(session).checked_tests(layer)
}

/// Makes the tests of a folder the checked ones of the layer.
pub fn save_checked(session: &Path, layer: &str, from: &Path) -> io::Result<()> {
    let to = checked_tests(session, layer);
    mirror(from, &to)?;
    sealed::seal(session, &to)
}

/// The layer's kept tests.
pub fn kept_tests(session: &Path, layer: &str) -> PathBuf {
    SessionPaths::at(session).kept_tests(layer)
}

/// Tests that fail every time in the same way: evidence of a suspected defect.
pub fn quarantined_tests(session: &Path, layer: &str) -> PathBuf {
    SessionPaths::at(session).quarantined_tests(layer)
}

/// The copy of one round. To roll back a worse round, this one is restored.
pub fn round(session: &Path, task: &str, attempt: u32) -> SessionPaths {
    SessionPaths::at(session).round(task, attempt)
}

/// Writes a file as a whole or not at all: the process may be killed at any moment.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    atomic::write_volatile(path, bytes).map_err(io::Error::other)
}

/// Makes `to` contain exactly the files of `from`.
pub fn mirror(from: &Path, to: &Path) -> io::Result<()> {
    let files = layer::files(from)?;
    fs::create_dir_all(to)?;
    for old in layer::files(to)? {
        if !files.contains(&old) {
            fs::remove_file(to.join(old))?;
        }
    }
    for file in files {
        let target = to.join(&file);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::copy(from.join(&file), target)?;
    }
    Ok(())
}

/// Equal for folders with equal files.
pub fn fingerprint(folder: &Path) -> io::Result<String> {
    let mut hash = xxhash_rust::xxh3::Xxh3::new();
    for file in layer::files(folder)? {
        let text = fs::read(folder.join(&file))?;
        hash.update(format!("{}\0{}\0", file.display(), text.len()).as_bytes());
        hash.update(&text);
    }
    Ok(format!("{:032x}", hash.digest128()))
}

/// Makes an empty folder.
pub fn make_empty(folder: &Path) -> io::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)
}

/// Saves a round: tests, kept tests and result, and beside it the list of what a rollback restores.
pub fn save_round(session: &Path, layer: &str, task: &str, attempt: u32, scope: &Scope) -> io::Result<()> {
    let round = round(session, task, attempt);
    let (to, relative) = (round.root(), SessionPaths::relative());
    let tests = scope.folder(layer).map(Path::to_owned).unwrap_or_default();
    let folders = [tests, relative.kept_tests(layer), relative.checked_tests(layer)];
    for folder in &folders {
        mirror(&session.join(folder), &to.join(folder))?;
    }
    let run = relative.run_result(layer);
    fs::copy(session.join(&run), to.join(&run))?;
    let list = serde_json::json!({ "folders": folders, "files": [run] });
    fs::write(
        SessionPaths::at(session).round_list(task, attempt),
        list.to_string(),
    )
}

/// Saves the list of tests that the check of a delivery dropped, and their files as the worker wrote them.
pub fn save_dropped(session: &Path, layer: &str, delivered: &Path, dropped: &[Dropped]) -> io::Result<()> {
    let paths = SessionPaths::at(session);
    let folder = paths.dropped_tests(layer);
    if dropped.is_empty() && !folder.exists() {
        return Ok(());
    }
    make_empty(&folder)?;
    let files: BTreeSet<&str> = dropped.iter().map(|test| test.id.file.as_str()).collect();
    for file in files {
        let target = folder.join(file);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        // The check has renamed files whose names were taken.
        if delivered.join(file).is_file() {
            fs::copy(delivered.join(file), target)?;
        }
    }
    let text = serde_json::to_vec_pretty(dropped).map_err(io::Error::other)?;
    write_atomically(&paths.dropped_list(layer), &text)
}

/// The tests that the last check of a delivery dropped.
pub fn dropped(session: &Path, layer: &str) -> Vec<Dropped> {
    let text = fs::read(SessionPaths::at(session).dropped_list(layer)).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// The results of a critic's earlier runs that a decision was made about, oldest first. Without those that were
/// interrupted after their measurement, because they were measured again.
pub fn history(session: &Path, layer: &str, task: &str, before: u32) -> Vec<RunResult> {
    let file = |attempt| round(session, task, attempt).run_result(layer);
    let decided = decided_attempts(session, task);
    (1..before)
        .filter(|attempt| decided.as_ref().is_none_or(|decided| decided.contains(attempt)))
        .filter_map(|attempt| RunResult::read_file(&file(attempt)).ok())
        .collect()
}

/// The attempts of a critic's row that the loop has decided about, if it keeps a record.
fn decided_attempts(session: &Path, task: &str) -> Option<BTreeSet<u32>> {
    #[derive(Deserialize)]
    struct State {
        coverage_history: Vec<Decided>,
    }
    #[derive(Deserialize)]
    struct Decided {
        task: String,
        attempt: u32,
    }
    let state: State = serde_json::from_slice(&fs::read(SessionPaths::at(session).gc_state()).ok()?).ok()?;
    let of_task = state.coverage_history.into_iter().filter(|run| run.task == task);
    Some(of_task.map(|run| run.attempt).collect())
}
