//! A copy of a journal in a file without a name. If workers can write to the session folder, the journal is
//! restored from it when one of them changes the journal.

use crate::atomic;
use crate::error::{IoContext, SessionError};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

#[derive(Debug)]
pub(super) struct JournalCopy {
    file: File,
    len: u64,
    /// It was restored, and that was not reported yet.
    pub restored: bool,
}

/// Bytes that are compared at once.
const CHUNK: usize = 64 << 10;

impl JournalCopy {
    /// Copies the first `len` bytes, which are known to be good.
    pub fn of(path: &Path, len: u64) -> Result<Self, SessionError> {
        let mut file = tempfile::tempfile().context("make a copy of", path)?;
        let journal = File::open(path).context("open", path)?;
        let copied = std::io::copy(&mut journal.take(len), &mut file).context("copy", path)?;
        Ok(Self {
            file,
            len: copied,
            restored: false,
        })
    }

    pub fn append(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.file.write_all(bytes)?;
        self.len += bytes.len() as u64;
        Ok(())
    }

    /// Restores a journal that is shorter or longer than it should be. Needs one call if the length is right.
    pub fn restore_length(&mut self, journal: &File, path: &Path, len: u64) -> Result<(), SessionError> {
        let found = journal.metadata().context("look at", path)?.len();
        if found != len {
            self.write_back(journal, path)?;
            self.restored = true;
        }
        Ok(())
    }

    /// Restores a journal whose bytes differ, or whose file is gone.
    pub fn restore(&mut self, journal: &File, path: &Path) -> Result<(), SessionError> {
        let found = journal.metadata().context("look at", path)?.len();
        if found != self.len || self.same_bytes(journal).context("read", path)? < self.len {
            self.write_back(journal, path)?;
            self.restored = true;
        }
        if !path.exists() && path.parent().is_some_and(Path::is_dir) {
            atomic::write(path, &self.bytes().context("copy", path)?)?;
            self.restored = true;
        }
        Ok(())
    }

    /// Keeps the unchanged beginning, and writes the rest again.
    fn write_back(&mut self, mut journal: &File, path: &Path) -> Result<(), SessionError> {
        let same = self.same_bytes(journal).context("read", path)?;
        journal.set_len(same).context("cut", path)?;
        self.file
            .seek(SeekFrom::Start(same))
            .context("read the copy of", path)?;
        std::io::copy(&mut self.file, &mut journal).context("restore", path)?;
        journal.sync_all().context("sync", path)
    }

    /// How many bytes at the beginning are the same.
    fn same_bytes(&self, journal: &File) -> std::io::Result<u64> {
        let (mut ours, mut theirs) = (vec![0; CHUNK], vec![0; CHUNK]);
        let mut at = 0;
        while at < self.len {
            let wanted = usize::try_from(self.len - at).unwrap_or(CHUNK).min(CHUNK);
            self.file.read_exact_at(&mut ours[..wanted], at)?;
            let read = journal.read_at(&mut theirs[..wanted], at)?;
            let same = ours[..read]
                .iter()
                .zip(&theirs[..read])
                .take_while(|(a, b)| a == b)
                .count();
            at += same as u64;
            if same < wanted {
                break;
            }
        }
        Ok(at)
    }

    fn bytes(&self) -> std::io::Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(self.len).unwrap_or_default()];
        self.file.read_exact_at(&mut bytes, 0)?;
        Ok(bytes)
    }
}
