//! What shows that a file has changed, without reading it.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// File systems record times in steps of a few milliseconds: a second change within this time may leave the
/// time as it is.
const TIMESTAMP_STEP: Duration = Duration::from_millis(50);

/// Values that change when a file changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileStamp {
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileStamp {
    pub fn of(found: &Metadata) -> Self {
        Self {
            device: found.dev(),
            inode: found.ino(),
            length: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }

    /// The time since the file last changed; `None` if that is in the future.
    pub fn age(&self) -> Option<Duration> {
        SystemTime::now().duration_since(time(self.changed)?).ok()
    }

    /// Whether a change after this time would give another stamp.
    pub fn is_stable(&self, now: SystemTime) -> bool {
        let older =
            |at| time(at).is_some_and(|at| now.duration_since(at).is_ok_and(|age| age > TIMESTAMP_STEP));
        older(self.changed) && older(self.modified)
    }
}

fn time((seconds, nanos): (i64, i64)) -> Option<SystemTime> {
    let since = Duration::new(u64::try_from(seconds).ok()?, u32::try_from(nanos).ok()?);
    Some(UNIX_EPOCH + since)
}
