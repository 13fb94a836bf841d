//! Keeps hashes of files, so that an unchanged file is read once; later only its size and times are compared.

use crate::objects::ObjectId;
use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// File systems record times in steps of a few milliseconds: a second change within this time may leave the
/// time as it is.
const UNSETTLED_NANOS: i128 = 50_000_000;

/// What shows that a file has changed, without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Version {
    pub fn of(found: &Metadata) -> Self {
        Self {
            device: found.dev(),
            inode: found.ino(),
            length: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }

    fn is_settled(&self, now: SystemTime) -> bool {
        let nanos = |(seconds, nanos): (i64, i64)| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let now = i128::try_from(now).unwrap_or(i128::MAX);
        now - nanos(self.changed).max(nanos(self.modified)) > UNSETTLED_NANOS
    }
}

/// Hashes by path.
#[derive(Debug, Default)]
pub struct HashCache(HashMap<PathBuf, (Version, ObjectId)>);

impl HashCache {
    /// The id of a regular file's content.
    pub fn id(&mut self, path: &Path, found: &Metadata) -> io::Result<ObjectId> {
        let version = Version::of(found);
        if let Some((known, id)) = self.0.get(path)
            && *known == version
        {
            return Ok(id.clone());
        }
        let now = SystemTime::now();
        let id = ObjectId::of_reader(&mut File::open(path)?)?;
        if version.is_settled(now) {
            self.0.insert(path.to_owned(), (version, id.clone()));
        } else {
            self.0.remove(path);
        }
        Ok(id)
    }

    /// Remembers the hash of a file that was just written.
    pub fn note(&mut self, path: &Path, id: &ObjectId) {
        // Any later change gives the file a later time: see `write`.
        if let Ok(found) = path.symlink_metadata() {
            self.0.insert(path.to_owned(), (Version::of(&found), id.clone()));
        }
    }
}
