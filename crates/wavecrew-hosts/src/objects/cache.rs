//! Objects on this machine's disk.

use super::{ObjectId, ObjectReader, is_object, listed, split};
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Objects that nobody used for this long are removed.
const KEPT_FOR: Duration = Duration::from_hours(24 * 14);

/// A folder of objects, by id.
#[derive(Clone, Debug)]
pub struct ObjectCache {
    folder: PathBuf,
}

impl ObjectCache {
    pub fn open(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        Ok(Self {
            folder: folder.to_owned(),
        })
    }

    fn file(&self, id: &ObjectId) -> PathBuf {
        let (start, rest) = id.as_str().split_at(2);
        self.folder.join(start).join(rest)
    }

    /// Whether the piece is here; for a list, whether all its pieces are.
    pub fn has(&self, id: &ObjectId) -> bool {
        match id.list() {
            None => self.file(id).exists(),
            Some(list) => {
                self.has(&list)
                    && self
                        .read(&list)
                        .and_then(|bytes| listed(&bytes))
                        .is_ok_and(|ids| ids.iter().all(|id| self.has(id)))
            }
        }
    }

    /// Stores one piece. Refuses bytes with another hash.
    pub fn put(&self, id: &ObjectId, bytes: &[u8]) -> io::Result<()> {
        if !is_object(id, bytes) {
            return Err(io::Error::other(format!("the bytes of object {id} are damaged")));
        }
        let file = self.file(id);
        if file.exists() {
            return Ok(());
        }
        let folder = file.parent().unwrap_or(&self.folder);
        fs::create_dir_all(folder)?;
        let mut draft = tempfile::NamedTempFile::new_in(folder)?;
        draft.write_all(bytes)?;
        draft.persist(&file).map_err(|error| error.error)?;
        Ok(())
    }

    /// Stores the content of a reader.
    pub fn add(&self, reader: &mut dyn Read) -> io::Result<ObjectId> {
        split(reader, &mut |id, bytes| self.put(id, bytes))
    }

    /// Removes objects that nobody used for two weeks.
    pub fn remove_old(&self) {
        let Some(oldest) = SystemTime::now().checked_sub(KEPT_FOR) else {
            return;
        };
        for folder in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            for entry in fs::read_dir(folder.path()).into_iter().flatten().flatten() {
                let used = entry.metadata().and_then(|found| found.accessed());
                if used.is_ok_and(|used| used < oldest) {
                    let _ = fs::remove_file(entry.path());
                }
            }
        }
    }
}

impl ObjectReader for ObjectCache {
    fn read(&self, id: &ObjectId) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.copy_to(id, &mut bytes)?;
        Ok(bytes)
    }

    fn copy_to(&self, id: &ObjectId, out: &mut dyn io::Write) -> io::Result<u64> {
        let Some(list) = id.list() else {
            return io::copy(&mut fs::File::open(self.file(id))?, out);
        };
        let mut length = 0;
        for id in listed(&self.read(&list)?)? {
            length += self.copy_to(&id, out)?;
        }
        Ok(length)
    }
}
