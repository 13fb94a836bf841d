//! Reports how far a run is, from a file that its programs append to while it runs.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// How often the file is read.
const INTERVAL: Duration = Duration::from_millis(300);

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    pub unit: Unit,
    pub done: usize,
    pub total: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Test,
    TestFile,
    Mutant,
}

/// Called while a run goes on, from another thread.
#[derive(Clone)]
pub struct OnProgress(Arc<dyn Fn(Progress) + Send + Sync>);

impl OnProgress {
    pub fn new(report: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self(Arc::new(report))
    }
}

impl fmt::Debug for OnProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnProgress")
    }
}

/// Does some work, and reports its progress whenever it changes.
pub(crate) fn watch<T>(
    on: Option<&OnProgress>,
    current: impl Fn() -> Option<Progress> + Send,
    work: impl FnOnce() -> T,
) -> T {
    let Some(OnProgress(report)) = on else {
        return work();
    };
    thread::scope(|scope| {
        let (done, ended) = mpsc::channel::<()>();
        scope.spawn(move || {
            let mut last = None;
            while ended.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                let now = current();
                if now != last
                    && let Some(progress) = now
                {
                    report(progress);
                    last = now;
                }
            }
        });
        let result = work();
        drop(done);
        result
    })
}

/// Reads the file of a test run: the number of tests, or of test `files`, then a line for each one that has ended.
pub(crate) fn of_tests(file: &Path) -> Option<Progress> {
    let text = fs::read_to_string(file).ok()?;
    let (first, ended) = text.split_once('\n')?;
    let (unit, total) = match first.strip_suffix(" files") {
        Some(total) => (Unit::TestFile, total),
        None => (Unit::Test, first),
    };
    Some(Progress {
        unit,
        done: ended.matches('\n').count(),
        total: total.parse().ok()?,
    })
}

/// Counts the verdicts in the files of a mutation run.
pub(crate) fn of_mutants(files: &[PathBuf], total: usize) -> Progress {
    let lines = |file: &PathBuf| fs::read_to_string(file).map_or(0, |text| text.matches('\n').count());
    Progress {
        unit: Unit::Mutant,
        done: files.iter().map(lines).sum(),
        total,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_in_the_making_is_read_as_far_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("progress");
        assert_eq!(of_tests(&file), None);
        for (text, expected) in [
            ("12", None),
            ("12\n", Some((0, 12))),
            ("12\n.\n.\n", Some((2, 12))),
            ("3 files\n.\n", Some((1, 3))),
        ] {
            fs::write(&file, text).unwrap();
            let found = of_tests(&file).map(|progress| (progress.done, progress.total));
            assert_eq!(found, expected, "{text:?}");
        }
    }
}
