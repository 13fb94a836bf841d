//! The append-only memory of a session: one checksummed line per event, a batch per write, a sync per group.
//!
//! A line is `{crc32 of the JSON, 8 hex digits} {JSON}\n`; the first one is a header with the format's
//! version. Refuses to continue after a failed write, and to cut anything but the tail of a file.

mod copy;
mod recover;
mod replica;
mod tail;

use crate::atomic::{PRIVATE, folder_of, read_all, sync_folder};
use crate::error::{IoContext, SessionError};
use rustix::io::Errno;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::marker::PhantomData;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use copy::JournalCopy;
pub use recover::Recovery;
pub use replica::JournalReplica;
pub use tail::JournalTail;

/// The version that this code writes, and the newest that it reads.
pub const JOURNAL_FORMAT: u32 = 1;

/// Checksum in hex and the space behind it.
const PREFIX_LEN: usize = 9;

#[derive(Debug)]
pub struct Journal<E> {
    file: Arc<File>,
    path: PathBuf,
    /// The end of the last whole batch, to which a failed write is cut back.
    len: u64,
    buffer: Vec<u8>,
    poisoned: Poison,
    copy: Option<JournalCopy>,
    /// Another place that has every line first.
    replica: Option<Box<dyn JournalReplica>>,
    events: PhantomData<fn(&E)>,
}

/// The system's first error. Later writes and syncs return it too, because theirs may be the one that the
/// person sees.
type Poison = Arc<OnceLock<(&'static str, i32)>>;

/// Syncs a journal from another thread while its owner continues to append.
#[derive(Clone, Debug)]
pub struct Syncer {
    file: Arc<File>,
    path: PathBuf,
    poisoned: Poison,
}

impl<E: Serialize + DeserializeOwned> Journal<E> {
    /// Starts a new journal; an existing one is never overwritten.
    pub fn create(path: &Path) -> Result<Self, SessionError> {
        let file = options().create_new(true).open(path).context("create", path)?;
        let mut journal = Self::over(file, path, 0);
        journal.write_header()?;
        sync_folder(folder_of(path))?;
        Ok(journal)
    }

    /// Reads all events, cuts a torn tail, and is ready to append.
    pub fn open(path: &Path) -> Result<(Self, Vec<E>, Recovery), SessionError> {
        let mut file = options().open(path).context("open", path)?;
        let bytes = read_all(&mut file, path)?;
        let found = recover::recover(path, &bytes)?;
        let mut journal = Self::over(file, path, found.good_len);
        if found.recovery.cut_bytes > 0 {
            journal
                .file
                .set_len(found.good_len)
                .context("cut the torn end of", path)?;
            journal.file.sync_all().context("sync", path)?;
        }
        if found.good_len == 0 {
            journal.write_header()?;
        }
        Ok((journal, found.events, found.recovery))
    }

    /// Reads the events without changing the file, as `status` does beside a running writer.
    pub fn read(path: &Path) -> Result<(Vec<E>, Recovery), SessionError> {
        let mut file = File::open(path).context("open", path)?;
        let bytes = read_all(&mut file, path)?;
        let found = recover::recover(path, &bytes)?;
        Ok((found.events, found.recovery))
    }

    /// Adds a batch in one write. It is durable after the next [`sync`](Self::sync), whole or not at all only
    /// then.
    pub fn append(&mut self, events: &[E]) -> Result<(), SessionError> {
        self.append_later(events)?;
        self.flush()
    }

    /// Adds events to the next batch, which the next append or flush writes.
    pub fn append_later(&mut self, events: &[E]) -> Result<(), SessionError> {
        check(&self.poisoned, &self.path)?;
        let whole = self.buffer.len();
        for event in events {
            if let Err(error) = push_line(&mut self.buffer, event) {
                self.buffer.truncate(whole);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Whether there is something to flush.
    pub fn has_unwritten(&self) -> bool {
        !self.buffer.is_empty()
    }

    /// Writes what was to be appended later.
    pub fn flush(&mut self) -> Result<(), SessionError> {
        check(&self.poisoned, &self.path)?;
        self.write_buffer()
    }

    /// Waits until everything appended so far is on the disk.
    pub fn sync(&self) -> Result<(), SessionError> {
        sync(&self.file, &self.path, &self.poisoned)
    }

    /// A handle that syncs from another thread, for group commit.
    pub fn syncer(&self) -> Syncer {
        Syncer {
            file: self.file.clone(),
            path: self.path.clone(),
            poisoned: self.poisoned.clone(),
        }
    }

    /// From now on `replica` gets every line before the file. It has what the file has.
    pub fn set_replica(&mut self, replica: Box<dyn JournalReplica>) {
        self.replica = Some(replica);
    }

    /// Whether the replica, if there is one, still belongs to this process.
    pub fn check_replica(&self) -> Result<(), SessionError> {
        self.replica.as_ref().map_or(Ok(()), |replica| replica.check())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether what is written here can be found again: the file is still where it was opened.
    pub fn is_in_place(&self) -> bool {
        let name = |found: fs::Metadata| (found.dev(), found.ino());
        match (self.file.metadata(), fs::metadata(&self.path)) {
            (Ok(ours), Ok(there)) => name(ours) == name(there),
            (_, Err(error)) => error.kind() != io::ErrorKind::NotFound,
            (Err(_), Ok(_)) => true,
        }
    }

    /// Keeps a hidden copy of the journal, from which it is restored when another program changes it.
    pub fn keep_copy(&mut self) -> Result<(), SessionError> {
        self.copy = Some(JournalCopy::of(&self.path, self.len)?);
        Ok(())
    }

    /// Restores the journal if another program changed it and there is a copy.
    pub fn restore_if_changed(&mut self) -> Result<(), SessionError> {
        match &mut self.copy {
            Some(copy) => copy.restore(&self.file, &self.path),
            None => Ok(()),
        }
    }

    /// Whether it was restored since the last call.
    pub fn take_restored(&mut self) -> bool {
        let copy = self.copy.as_mut();
        copy.is_some_and(|copy| std::mem::take(&mut copy.restored))
    }

    /// Bytes of whole lines in the file.
    pub fn len_bytes(&self) -> u64 {
        self.len
    }

    fn over(file: File, path: &Path, len: u64) -> Self {
        Self {
            file: Arc::new(file),
            path: path.to_owned(),
            len,
            buffer: Vec::new(),
            poisoned: Arc::default(),
            copy: None,
            replica: None,
            events: PhantomData,
        }
    }

    fn write_header(&mut self) -> Result<(), SessionError> {
        push_line(
            &mut self.buffer,
            &recover::Header {
                wavecrew_journal: JOURNAL_FORMAT,
            },
        )?;
        self.write_buffer()?;
        self.sync()
    }

    fn write_buffer(&mut self) -> Result<(), SessionError> {
        // Events that are appended to a cut journal could not be read again.
        if let Some(copy) = &mut self.copy {
            copy.restore_length(&self.file, &self.path, self.len)?;
        } else if self.file.metadata().is_ok_and(|found| found.len() != self.len) {
            poison(&self.poisoned, "append to", &io::Error::from(Errno::IO));
            let reason = "another program changed it while the session was running";
            return Err(SessionError::malformed(&self.path, &reason));
        }
        if let Some(replica) = self.replica.as_mut().filter(|_| !self.buffer.is_empty())
            && let Err(error) = replica.append(&self.buffer)
        {
            // An event that the replica does not have must not have an effect here, now or later.
            poison(&self.poisoned, "copy", &io::Error::from(Errno::IO));
            return Err(error);
        }
        // `write_all` makes one write(2), and goes on only after a short one: to finish it, or to learn its
        // reason.
        match (&*self.file).write_all(&self.buffer) {
            Ok(()) => {
                // A run without a copy is better than none.
                self.copy.take_if(|copy| copy.append(&self.buffer).is_err());
                self.len += self.buffer.len() as u64;
                self.buffer.clear();
                Ok(())
            }
            Err(error) => {
                poison(&self.poisoned, "append to", &error);
                // When this fails too, the torn tail is cut by the next open.
                let _ = self.file.set_len(self.len);
                Err(error).context("append to", &self.path)
            }
        }
    }
}

impl Syncer {
    pub fn sync(&self) -> Result<(), SessionError> {
        sync(&self.file, &self.path, &self.poisoned)
    }
}

fn sync(file: &File, path: &Path, poisoned: &Poison) -> Result<(), SessionError> {
    // A failed sync is never repeated: the kernel may have dropped the pages, and a second sync would wrongly
    // succeed.
    check(poisoned, path)?;
    file.sync_data()
        .inspect_err(|error| poison(poisoned, "sync", error))
        .context("sync", path)
}

fn check(poisoned: &Poison, path: &Path) -> Result<(), SessionError> {
    match poisoned.get() {
        None => Ok(()),
        Some((operation, errno)) => Err(SessionError::Poisoned {
            path: path.to_owned(),
            operation,
            cause: io::Error::from_raw_os_error(*errno),
        }),
    }
}

fn poison(poisoned: &Poison, operation: &'static str, error: &io::Error) {
    // Of two failures at the same time, only one is kept.
    let _ = poisoned.set((
        operation,
        error.raw_os_error().unwrap_or(Errno::IO.raw_os_error()),
    ));
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).append(true).mode(PRIVATE);
    options
}

fn push_line<T: Serialize>(buffer: &mut Vec<u8>, value: &T) -> Result<(), SessionError> {
    let start = buffer.len();
    buffer.extend_from_slice(b"00000000 ");
    serde_json::to_writer(&mut *buffer, value).map_err(|error| SessionError::NotJson {
        what: "an event",
        reason: error.to_string(),
    })?;
    let crc = crc32fast::hash(&buffer[start + PREFIX_LEN..]);
    let mut hex = &mut buffer[start..start + 8];
    write!(hex, "{crc:08x}")
        .map_err(io::Error::other)
        .expect("eight hex digits fit into eight bytes");
    buffer.push(b'\n');
    Ok(())
}

#[cfg(test)]
mod tests;
