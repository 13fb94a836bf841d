//! The state of one account's service that all runs of a user on this machine share: a small file that they
//! change in turns. It may be lost: a file that cannot be read, or that was removed, counts as empty.

use crate::atomic;
use crate::error::{IoContext, SessionError};
use crate::lock::try_lock_for;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use wavecrew_core::pool::Pool;
use wavecrew_core::time::Timestamp;

/// A run that did not update the file for this long was killed.
const LEASE_TIME: Duration = Duration::from_secs(30);
/// Any change of the file takes far less time.
const PATIENCE: Duration = Duration::from_millis(20);

/// The file of one pool.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SharedPoolFile {
    path: PathBuf,
}

/// The content of the file.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SharedPool {
    #[serde(flatten)]
    pub pool: Pool,
    /// Runs that have workers in the pool, by a unique name.
    pub runs: BTreeMap<String, RunLease>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RunLease {
    pub workers: usize,
    pub seen: Timestamp,
}

impl SharedPool {
    /// Workers of all runs but this one.
    pub fn workers_of_other_runs(&self, me: &str, now: Timestamp) -> usize {
        let alive = |(name, lease): &(&String, &RunLease)| *name != me && now.since(lease.seen) < LEASE_TIME;
        self.runs
            .iter()
            .filter(alive)
            .map(|(_, lease)| lease.workers)
            .sum()
    }

    /// Records how many workers this run has, and removes runs that have ended.
    pub fn record_workers(&mut self, me: &str, workers: usize, now: Timestamp) {
        self.runs.retain(|_, lease| now.since(lease.seen) < LEASE_TIME);
        if workers == 0 {
            self.runs.remove(me);
        } else {
            self.runs.insert(me.to_owned(), RunLease { workers, seen: now });
        }
    }
}

impl SharedPoolFile {
    /// The file of the pool of this name, which must be a valid file name.
    pub fn in_folder(folder: &Path, pool: &str) -> Self {
        Self {
            path: folder.join(format!("{pool}.json")),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Changes when the file changes.
    pub fn version(&self) -> Option<(u64, i64, i64)> {
        let meta = fs::metadata(&self.path).ok()?;
        Some((meta.ino(), meta.mtime(), meta.mtime_nsec()))
    }

    pub fn read(&self) -> SharedPool {
        let bytes = fs::read(&self.path).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// Changes the file under a lock. `None` if another process holds the lock for too long: try again later.
    pub fn update(&self, change: impl FnOnce(&mut SharedPool)) -> Result<Option<SharedPool>, SessionError> {
        let lock_path = self.path.with_extension("lock");
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        let lock = match options.open(&lock_path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let folder = atomic::folder_of(&self.path);
                fs::create_dir_all(folder).context("create", folder)?;
                options.open(&lock_path)
            }
            opened => opened,
        };
        let lock = lock.context("open the lock", &lock_path)?;
        if !try_lock_for(&lock, &lock_path, PATIENCE)? {
            return Ok(None);
        }
        let before = self.read();
        let mut after = before.clone();
        change(&mut after);
        if after != before {
            let text = serde_json::to_vec(&after).expect("a pool is plain data");
            atomic::write_volatile(&self.path, &text)?;
        }
        Ok(Some(after))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_see_each_other_until_they_are_gone() {
        let dir = tempfile::tempdir().unwrap();
        let file = SharedPoolFile::in_folder(&dir.path().join("state/pools"), "codex-1");
        assert_eq!((file.version(), file.read()), (None, SharedPool::default()));
        let sign = |me: &str, workers: usize, second: u64| {
            let now = Timestamp(second * 1000);
            let shared = file
                .update(|shared| shared.record_workers(me, workers, now))
                .unwrap()
                .unwrap();
            shared.workers_of_other_runs(me, now)
        };
        assert_eq!(sign("a", 3, 100), 0);
        let first = file.version();
        assert_eq!(sign("b", 2, 101), 3);
        assert_ne!(file.version(), first);
        assert_eq!(sign("a", 0, 102), 2);
        assert_eq!(sign("c", 1, 131), 0, "b was not seen any more");
        assert_eq!(file.read().runs.len(), 1);
    }

    #[test]
    fn changes_take_turns() {
        let dir = tempfile::tempdir().unwrap();
        let file = SharedPoolFile::in_folder(dir.path(), "p");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut done = 0;
                    while done < 50 {
                        let changed = file.update(|shared| shared.pool.strikes += 1).unwrap();
                        done += u32::from(changed.is_some());
                    }
                });
            }
        });
        assert_eq!(file.read().pool.strikes, 200);
    }

    #[test]
    fn a_file_that_means_nothing_is_as_good_as_none() {
        let dir = tempfile::tempdir().unwrap();
        let file = SharedPoolFile::in_folder(dir.path(), "p");
        fs::write(file.path(), "{\"until\":").unwrap();
        assert_eq!(file.read(), SharedPool::default());
        let shared = file.update(|shared| shared.pool.strikes = 2).unwrap().unwrap();
        assert_eq!(file.read(), shared);
    }
}
