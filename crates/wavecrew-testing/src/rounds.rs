//! Copies of a layer's tests: as last examined, so that weakening is seen; per round, so that a worse one can be taken
//! back; and the accepted suite.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::layer;
use crate::result::RunResult;
use crate::scope::Scope;
use wavecrew_session::SessionPaths;

/// The layer's tests as they were when they were last examined and found honest.
pub fn kept(session: &Path, layer: &str) -> PathBuf {
    SessionPaths::at(session).checked_tests(layer)
}

/// The layer's tests without what is not worth keeping.
pub fn accepted(session: &Path, layer: &str) -> PathBuf {
    SessionPaths::at(session).kept_tests(layer)
}

/// Tests that were set aside because they may show a defect of the code.
pub fn quarantine(session: &Path, layer: &str) -> PathBuf {
    SessionPaths::at(session).quarantined_tests(layer)
}

/// What a run of a critic's row was measured on; a worse round after it is undone by putting this back.
pub fn round(session: &Path, task: &str, attempt: u32) -> SessionPaths {
    SessionPaths::at(session).round(task, attempt)
}

pub fn run_file(session: &Path, layer: &str) -> PathBuf {
    SessionPaths::at(session).run_result(layer)
}

pub fn feedback_file(session: &Path, layer: &str) -> PathBuf {
    SessionPaths::at(session).feedback(layer)
}

/// Writes a file that is there whole or not at all: whoever writes it may be killed at any moment.
pub(crate) fn whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let part = path.with_extension("part");
    fs::write(&part, bytes)?;
    fs::rename(part, path)
}

/// Makes `to` hold the files of `from` and nothing else.
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

/// The same for folders of the same files.
pub fn print(folder: &Path) -> io::Result<String> {
    let mut hash = xxhash_rust::xxh3::Xxh3::new();
    for file in layer::files(folder)? {
        let text = fs::read(folder.join(&file))?;
        hash.update(format!("{}\0{}\0", file.display(), text.len()).as_bytes());
        hash.update(&text);
    }
    Ok(format!("{:032x}", hash.digest128()))
}

/// Leaves nothing of a copy.
pub fn empty(folder: &Path) -> io::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)
}

/// Keeps a round: tests, accepted suite and result, and beside it the list of what is to be put back.
pub fn keep(session: &Path, layer: &str, task: &str, attempt: u32, scope: &Scope) -> io::Result<()> {
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

/// The results of a critic's earlier runs that came to a judgement, oldest first. One that was cut off between its
/// measurement and its end has left a result too; it was measured again.
pub fn history(session: &Path, layer: &str, task: &str, before: u32) -> Vec<RunResult> {
    let file = |attempt| round(session, task, attempt).run_result(layer);
    let judged = judged(session, task);
    (1..before)
        .filter(|attempt| judged.as_ref().is_none_or(|judged| judged.contains(attempt)))
        .filter_map(|attempt| RunResult::read_file(&file(attempt)).ok())
        .collect()
}

/// The attempts of a critic's row that the loop has judged, as far as it keeps a record.
fn judged(session: &Path, task: &str) -> Option<BTreeSet<u32>> {
    #[derive(Deserialize)]
    struct State {
        coverage_history: Vec<Judged>,
    }
    #[derive(Deserialize)]
    struct Judged {
        task: String,
        attempt: u32,
    }
    let state: State = serde_json::from_slice(&fs::read(SessionPaths::at(session).gc_state()).ok()?).ok()?;
    let of_task = state.coverage_history.into_iter().filter(|run| run.task == task);
    Some(of_task.map(|run| run.attempt).collect())
}
