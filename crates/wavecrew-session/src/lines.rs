//! Files of one JSON object per line that many processes append to at once. Knows nothing of what the lines
//! mean.
//!
//! One write(2) with `O_APPEND` per line: writers never tear each other's lines. Another program may leave an
//! incomplete line, so a writer that finds one starts with a newline.

use crate::error::{IoContext, SessionError};
use crate::lock::try_lock_for;
use crate::worker_file::{self, WorkerFile};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

/// Longer lines are refused: readers hold the whole board in memory, and prompts quote it.
pub(crate) const MAX_LINE: usize = 1024 * 1024;

/// Bytes of a file that are read. Every entry needs several times its length in memory.
const MAX_READ: u64 = 8 << 20;

/// The content of a file of lines.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Lines<T> {
    pub entries: Vec<T>,
    /// Malformed lines.
    pub malformed: usize,
}

pub(crate) fn append_json<T: Serialize>(path: &Path, value: &T) -> Result<(), SessionError> {
    let mut line = vec![b'\n'];
    serde_json::to_writer(&mut line, value).map_err(|error| SessionError::NotJson {
        what: "the entry",
        reason: error.to_string(),
    })?;
    append(path, line)
}

/// Appends `line`, which starts with a newline that is omitted if the file ends with one.
pub(crate) fn append(path: &Path, mut line: Vec<u8>) -> Result<(), SessionError> {
    debug_assert!(line.first() == Some(&b'\n') && memchr::memchr(b'\n', &line[1..]).is_none());
    if line.len() > MAX_LINE {
        return Err(SessionError::TooLarge {
            path: path.to_owned(),
            size: line.len() - 1,
            limit: MAX_LINE,
        });
    }
    line.push(b'\n');
    let file = worker_file::open_append(path)?;
    // A writer that was stopped while it held the lock must not block the others: without the lock, the
    // newline is always written, and readers ignore empty lines.
    let locked = try_lock_for(&file, path, Duration::from_millis(50))?;
    let from = usize::from(locked && ends_with_newline(&file, path)?);
    (&file).write_all(&line[from..]).context("append to", path)
}

fn ends_with_newline(file: &File, path: &Path) -> Result<bool, SessionError> {
    let len = file.metadata().context("look at", path)?.len();
    let mut last = [b'\n'];
    if len > 0 {
        file.read_exact_at(&mut last, len - 1).context("read", path)?;
    }
    Ok(last == [b'\n'])
}

/// Reads all lines. The last one counts if it is whole, even without its newline. If it is not, a process may
/// still be writing it, so it is skipped and does not count as malformed. A missing file is empty. Of a very
/// large one only the end is read: the skipped part counts as one malformed line, and so does a path that is
/// not a regular file.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<Lines<T>, SessionError> {
    let mut lines = Lines {
        entries: Vec::new(),
        malformed: 0,
    };
    let bytes = match worker_file::read_end(path, MAX_READ).context("read", path)? {
        WorkerFile::Regular((bytes, true)) => {
            let first = memchr::memchr(b'\n', &bytes).map_or(bytes.len(), |at| at + 1);
            lines.malformed += 1;
            bytes[first..].to_vec()
        }
        WorkerFile::Regular((bytes, false)) => bytes,
        WorkerFile::Nothing => Vec::new(),
        WorkerFile::Foreign => {
            lines.malformed += 1;
            Vec::new()
        }
    };
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        let (line, ended) = match memchr::memchr(b'\n', rest) {
            Some(at) => (&rest[..at], true),
            None => (rest, false),
        };
        rest = &rest[line.len() + usize::from(ended)..];
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        match serde_json::from_slice(line) {
            Ok(entry) => lines.entries.push(entry),
            Err(_) => lines.malformed += usize::from(ended),
        }
    }
    Ok(lines)
}
