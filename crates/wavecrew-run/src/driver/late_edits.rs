//! Files that change after a worker has reported. Told by the agent where it tells; else found by their times, when no
//! other worker could have changed them.

use super::Driver;
use super::worker::Worker;
use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use wavecrew_core::engine::Input;

/// Folders whose files nobody writes by hand.
const PASSED_OVER: [&str; 6] = [
    ".git",
    wavecrew_session::WORKFLOW_FOLDER,
    "node_modules",
    "target",
    "__pycache__",
    ".venv",
];
/// A project with more than this is not looked through for the sake of a warning.
const MOST_ENTRIES: usize = 20_000;

impl Driver<'_> {
    /// Warns of what a worker that is gone changed after its report.
    pub(super) fn note_late_edits(&mut self, state: &Worker) {
        let (id, attempt) = (&state.assignment.id, state.assignment.attempt);
        let Some(reported) = self.session.dir.attempts().reported_at(id, attempt) else {
            return;
        };
        let project = &state.folder;
        let mut files: Vec<String> = state.output.late_changes();
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

    /// A worker came or went: if one is left, what changes from now on is its work.
    pub(super) fn count_workers(&mut self) {
        if self.workers.len() == 1 {
            self.alone_since = file_time();
        }
    }
}

/// The time that a file written now would bear. It moves in ticks, so a finer clock would be ahead of files that are
/// written after it was read.
fn file_time() -> SystemTime {
    let now = clock_gettime(ClockId::RealtimeCoarse);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    let nanos = u32::try_from(now.tv_nsec).unwrap_or(0);
    UNIX_EPOCH + Duration::new(seconds, nanos)
}

/// Adds the files below a folder that were written after a time, as paths from there.
fn changed_since(root: &Path, since: SystemTime, files: &mut Vec<String>) {
    let mut folders = vec![root.to_owned()];
    let mut left = MOST_ENTRIES;
    while let Some(folder) = folders.pop() {
        // What cannot be read is not looked at: this is a warning, not a check.
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            left -= 1;
            if left == 0 {
                return;
            }
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                if !PASSED_OVER.iter().any(|name| entry.file_name() == *name) {
                    folders.push(entry.path());
                }
            } else if kind.is_file() && written_after(&entry, since) {
                let path = entry.path();
                let path = path.strip_prefix(root).unwrap_or(&path);
                files.push(path.to_string_lossy().into_owned());
            }
        }
    }
}

fn written_after(entry: &fs::DirEntry, since: SystemTime) -> bool {
    let written = entry.metadata().and_then(|found| found.modified());
    written.is_ok_and(|written| written > since)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn only_what_was_written_later_is_found() {
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
    fn a_file_written_next_is_not_older_than_now() {
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
