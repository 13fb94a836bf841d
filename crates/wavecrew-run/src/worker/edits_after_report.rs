//! Edits after report: files that a worker changes after it has reported. Named by the agent's stream if it has one; else
//! found by modification time, if no other worker could have changed them.

use super::Worker;
use crate::event_loop::Driver;
use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use wavecrew_core::engine::Input;

/// Folders with generated files.
const SKIPPED: [&str; 6] = [
    ".git",
    wavecrew_session::WORKFLOW_FOLDER,
    "node_modules",
    "target",
    "__pycache__",
    ".venv",
];
/// A larger project is not searched to the end: this is only a warning.
const MOST_ENTRIES: usize = 20_000;

impl Driver<'_> {
    /// Warns of the edits after report of a worker that has ended.
    pub(super) fn warn_of_edits_after_report(&mut self, state: &Worker) {
        let (id, attempt) = (&state.assignment.id, state.assignment.attempt);
        let Some(reported) = self.session.dir.attempts().reported_at(id, attempt) else {
            return;
        };
        let project = &state.folder;
        let mut files: Vec<String> = state.output.edits_after_report();
        for file in &mut files {
            if let Ok(inside) = Path::new(file.as_str()).strip_prefix(project) {
                *file = inside.to_string_lossy().into_owned();
            }
        }
        if self.workers.is_empty() && self.alone_since <= reported {
            changed_since(project, reported, &mut files);
        }
        if !files.is_empty() {
            files.sort();
            files.dedup();
            let worker = state.assignment.worker;
            self.inputs.push_back(Input::EditedAfterReport { worker, files });
        }
    }

    /// Call when a worker starts or ends: if only one is left, changes from now on are its own.
    pub(super) fn note_worker_count(&mut self) {
        if self.workers.len() == 1 {
            self.alone_since = file_time();
        }
    }
}

/// The modification time that a file written now gets. File systems use a coarse clock: a finer one would be ahead of
/// files that are written later.
fn file_time() -> SystemTime {
    let now = clock_gettime(ClockId::RealtimeCoarse);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    let nanos = u32::try_from(now.tv_nsec).unwrap_or(0);
    UNIX_EPOCH + Duration::new(seconds, nanos)
}

/// Adds the files below a folder that were modified after a time, as relative paths.
fn changed_since(root: &Path, since: SystemTime, files: &mut Vec<String>) {
    let mut folders = vec![root.to_owned()];
    let mut left = MOST_ENTRIES;
    while let Some(folder) = folders.pop() {
        // What cannot be read is skipped: this is a warning, not a check.
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            left -= 1;
            if left == 0 {
                return;
            }
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                if !SKIPPED.iter().any(|name| entry.file_name() == *name) {
                    folders.push(entry.path());
                }
            } else if kind.is_file() && modified_after(&entry, since) {
                let path = entry.path();
                let path = path.strip_prefix(root).unwrap_or(&path);
                files.push(path.to_string_lossy().into_owned());
            }
        }
    }
}

fn modified_after(entry: &fs::DirEntry, since: SystemTime) -> bool {
    let written = entry.metadata().and_then(|found| found.modified());
    written.is_ok_and(|written| written > since)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn only_later_changes_are_found() {
        let root = tempfile::tempdir().unwrap();
        let report = SystemTime::now();
        for (path, seconds) in [
            ("a.txt", -5),
            ("src/b.rs", 5),
            (".git/index", 5),
            ("src/target/x", 5),
        ] {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let file = File::create(path).unwrap();
            let distance = Duration::from_secs(5);
            let at = if seconds < 0 {
                report - distance
            } else {
                report + distance
            };
            file.set_modified(at).unwrap();
        }
        let mut files = Vec::new();
        changed_since(root.path(), report, &mut files);
        assert_eq!(files, ["src/b.rs"]);
    }

    #[test]
    fn a_file_written_next_is_not_older_than_file_time() {
        let folder = tempfile::tempdir().unwrap();
        let now = file_time();
        fs::write(folder.path().join("next"), "").unwrap();
        let written = fs::metadata(folder.path().join("next"))
            .unwrap()
            .modified()
            .unwrap();
        assert!(written >= now, "{written:?} {now:?}");
    }
}
