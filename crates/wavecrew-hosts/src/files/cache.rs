//! Keeps hashes of files, so that an unchanged file is read once; later only its size and times are compared.

use crate::objects::ObjectId;
use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use wavecrew_session::FileStamp;

/// Hashes by path.
#[derive(Debug, Default)]
pub struct HashCache(HashMap<PathBuf, (FileStamp, ObjectId)>);

impl HashCache {
    /// The id of a regular file's content.
    pub fn id(&mut self, path: &Path, found: &Metadata) -> io::Result<ObjectId> {
        let stamp = FileStamp::of(found);
        if let Some((known, id)) = self.0.get(path)
            && *known == stamp
        {
            return Ok(id.clone());
        }
        let now = SystemTime::now();
        let id = ObjectId::of_reader(&mut File::open(path)?)?;
        if stamp.is_stable(now) {
            self.0.insert(path.to_owned(), (stamp, id.clone()));
        } else {
            self.0.remove(path);
        }
        Ok(id)
    }

    /// Remembers the hash of a file that was just written.
    pub fn note(&mut self, path: &Path, id: &ObjectId) {
        // Any later change gives the file a later time: see `write`.
        if let Ok(found) = path.symlink_metadata() {
            self.0
                .insert(path.to_owned(), (FileStamp::of(&found), id.clone()));
        }
    }
}
