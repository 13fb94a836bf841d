//! A worker's output in a file of bounded size: its beginning and its end are kept, and one line states how
//! much is missing between them.
//!
//! The beginning is written directly; the end is written to a ring in a second file, which `finish` appends.
//! The ring contains its position, so that a [`LogReader`](crate::LogReader) can follow it, also after a
//! crash. A log that begins in memory has no file while it is short and not requested.

use crate::error::{IoContext, SessionError};
use crate::worker_file::{self, WorkerFile};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

#[derive(Debug)]
pub struct BoundedLog {
    path: PathBuf,
    /// Bytes kept of the beginning, and as many of the end.
    half: u64,
    written: u64,
    head: Option<File>,
    ring: Option<File>,
    /// Output without a file.
    in_memory: Option<Vec<u8>>,
}

/// The maximum that is kept in memory.
const MAX_IN_MEMORY: usize = 8 << 10;

/// The ring begins with how long each half is and how much went into it, as two numbers of eight bytes.
const RING_HEAD: u64 = 16;

/// The ring as a reader sees it.
#[derive(Debug)]
pub(crate) struct LogTail {
    file: File,
    half: u64,
}

impl LogTail {
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = open_log(path)?;
        let half = number(&file, 0)?.max(1);
        Ok(Self { file, half })
    }

    pub fn half(&self) -> u64 {
        self.half
    }

    /// Bytes that went into it so far.
    pub fn written(&self) -> io::Result<u64> {
        number(&self.file, 8)
    }

    pub fn written_at(&self) -> io::Result<SystemTime> {
        self.file.metadata()?.modified()
    }

    /// Bytes from `at` on, as far as they are contiguous.
    pub fn read(&self, at: u64, most: u64) -> io::Result<Vec<u8>> {
        let start = at % self.half;
        let length = most.min(self.half - start);
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
        self.file.read_exact_at(&mut bytes, RING_HEAD + start)?;
        Ok(bytes)
    }
}

fn number(file: &File, at: u64) -> io::Result<u64> {
    let mut bytes = [0; 8];
    file.read_exact_at(&mut bytes, at)?;
    Ok(u64::from_le_bytes(bytes))
}

/// The number of missing bytes in the line between the halves, and that line's length.
pub(crate) fn left_out(seam: &[u8]) -> Option<(u64, u64)> {
    let text = seam.strip_prefix(b"\n[")?;
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let missing = std::str::from_utf8(&text[..digits]).ok()?.parse().ok()?;
    let rest = b" bytes left out here]\n";
    text[digits..]
        .starts_with(rest)
        .then_some((missing, (2 + digits + rest.len()) as u64))
}

/// The state of a worker's output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogSummary {
    pub written: u64,
    pub left_out: u64,
}

impl BoundedLog {
    /// The file is created with the first byte, so that a silent worker costs nothing.
    pub fn create(path: impl Into<PathBuf>, limit: u64) -> Self {
        Self {
            path: path.into(),
            half: (limit / 2).max(1),
            written: 0,
            head: None,
            ring: None,
            in_memory: None,
        }
    }

    /// The same, but without a file until the output is longer, or until [`surface`](Self::surface).
    pub fn begin_in_memory(path: impl Into<PathBuf>, limit: u64) -> Self {
        Self {
            in_memory: Some(Vec::new()),
            ..Self::create(path, limit)
        }
    }

    /// Writes the output in memory, and from now on all output directly.
    pub fn surface(&mut self) -> Result<(), SessionError> {
        match self.in_memory.take() {
            Some(text) => self.write_through(&text),
            None => Ok(()),
        }
    }

    /// The whole log, if it is only in memory. From here on, the caller stores it.
    pub fn take_in_memory(&mut self) -> Option<Vec<u8>> {
        self.in_memory.take()
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes that are in files so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<(), SessionError> {
        if let Some(in_memory) = &mut self.in_memory {
            in_memory.extend_from_slice(bytes);
            return if in_memory.len() > MAX_IN_MEMORY {
                self.surface()
            } else {
                Ok(())
            };
        }
        self.write_through(bytes)
    }

    fn write_through(&mut self, bytes: &[u8]) -> Result<(), SessionError> {
        let room = self.half.saturating_sub(self.written);
        let (head, tail) = bytes.split_at(usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len()));
        if !head.is_empty() {
            let path = &self.path;
            opened(&mut self.head, path)?
                .write_all(head)
                .context("write", path)?;
            self.written += head.len() as u64;
        }
        if !tail.is_empty() {
            self.write_tail(tail)?;
        }
        Ok(())
    }

    /// Puts beginning and end together.
    pub fn finish(mut self) -> Result<LogSummary, SessionError> {
        self.surface()?;
        let tail_len = self.written.saturating_sub(self.half);
        let left_out = tail_len.saturating_sub(self.half);
        if let (Some(head), Some(ring)) = (&mut self.head, &mut self.ring) {
            if left_out > 0 {
                write!(head, "\n[{left_out} bytes left out here]\n").context("write", &self.path)?;
            }
            let tail_path = tail_path(&self.path);
            let oldest = if left_out > 0 { tail_len % self.half } else { 0 };
            copy(ring, oldest, tail_len.min(self.half), head).context("write", &self.path)?;
            copy(ring, 0, oldest, head).context("write", &self.path)?;
            fs::remove_file(&tail_path).context("remove", &tail_path)?;
        }
        Ok(LogSummary {
            written: self.written,
            left_out,
        })
    }

    fn write_tail(&mut self, bytes: &[u8]) -> Result<(), SessionError> {
        let path = tail_path(&self.path);
        let is_new = self.ring.is_none();
        let ring = opened(&mut self.ring, &path)?;
        if is_new {
            let mut head = self.half.to_le_bytes().to_vec();
            head.extend([0; 8]);
            ring.write_all_at(&head, 0).context("write", &path)?;
        }
        // Of a chunk longer than the ring only the end can stay.
        let skipped = bytes
            .len()
            .saturating_sub(usize::try_from(self.half).unwrap_or(usize::MAX));
        let start = (self.written - self.half + skipped as u64) % self.half;
        let kept = &bytes[skipped..];
        let to_the_end = usize::try_from(self.half - start)
            .unwrap_or(usize::MAX)
            .min(kept.len());
        ring.write_all_at(&kept[..to_the_end], RING_HEAD + start)
            .context("write", &path)?;
        ring.write_all_at(&kept[to_the_end..], RING_HEAD)
            .context("write", &path)?;
        self.written += bytes.len() as u64;
        // Written last, so that a reader of the number finds the bytes.
        let total = (self.written - self.half).to_le_bytes();
        ring.write_all_at(&total, 8).context("write", &path)
    }
}

/// Opens a log, but nothing that a worker put in its place.
pub(crate) fn open_log(path: &Path) -> io::Result<File> {
    match worker_file::open_read(path)? {
        WorkerFile::Regular(file) => Ok(file),
        WorkerFile::Nothing => Err(io::ErrorKind::NotFound.into()),
        WorkerFile::Foreign => Err(io::Error::other(
            "it is not a regular file; something replaced it",
        )),
    }
}

fn opened<'f>(slot: &'f mut Option<File>, path: &Path) -> Result<&'f mut File, SessionError> {
    if slot.is_none() {
        *slot = Some(worker_file::create(path)?);
    }
    Ok(slot.as_mut().expect("it was just filled"))
}

/// Copies the bytes from `start` to `end` of the ring.
fn copy(ring: &mut File, start: u64, end: u64, to: &mut File) -> io::Result<u64> {
    ring.seek(SeekFrom::Start(RING_HEAD + start))?;
    io::copy(&mut ring.take(end - start), to)
}

pub fn tail_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".tail");
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn run(limit: u64, chunks: &[Vec<u8>]) -> (Option<Vec<u8>>, LogSummary) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.log");
        let mut log = BoundedLog::create(&path, limit);
        for chunk in chunks {
            log.write(chunk).unwrap();
        }
        let summary = log.finish().unwrap();
        assert!(!tail_path(&path).exists());
        (fs::read(&path).ok(), summary)
    }

    #[test]
    fn a_silent_worker_has_no_log() {
        assert_eq!(
            run(10, &[]),
            (
                None,
                LogSummary {
                    written: 0,
                    left_out: 0
                }
            )
        );
    }

    #[test]
    fn long_output_keeps_both_ends_and_says_so() {
        let (log, summary) = run(8, &[b"abcdefgh".to_vec(), b"ijklmnop".to_vec(), b"q".to_vec()]);
        assert_eq!(log.unwrap(), b"abcd\n[9 bytes left out here]\nnopq");
        assert_eq!(
            summary,
            LogSummary {
                written: 17,
                left_out: 9
            }
        );
    }

    #[test]
    fn a_young_log_has_a_file_when_it_is_long_or_called_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.log");
        let mut log = BoundedLog::begin_in_memory(&path, 1 << 20);
        log.write(b"one ").unwrap();
        assert!(!path.exists());
        log.surface().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"one ");
        log.write(b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"one two");
        assert_eq!(log.take_in_memory(), None);

        let mut lengthy = BoundedLog::begin_in_memory(&path, 1 << 20);
        lengthy.write(&[b'x'; MAX_IN_MEMORY]).unwrap();
        lengthy.write(b"y").unwrap();
        assert_eq!(fs::read(&path).unwrap().len(), MAX_IN_MEMORY + 1);

        let mut short = BoundedLog::begin_in_memory(dir.path().join("b.log"), 1 << 20);
        short.write(b"short").unwrap();
        assert_eq!(short.take_in_memory().as_deref(), Some(b"short".as_slice()));
        assert_eq!(short.finish().unwrap().written, 0);
        assert!(!dir.path().join("b.log").exists());
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

        #[test]
        fn any_chunks_give_head_and_tail(half in 1_usize..20, chunks in vec(vec(any::<u8>(), 0..30), 0..8)) {
            let all = chunks.concat();
            let (log, summary) = run(half as u64 * 2, &chunks);
            let expected = if all.len() <= half * 2 {
                all.clone()
            } else {
                let gap = all.len() - half * 2;
                let note = format!("\n[{gap} bytes left out here]\n");
                [&all[..half], note.as_bytes(), &all[all.len() - half..]].concat()
            };
            prop_assert_eq!(log.unwrap_or_default(), expected);
            prop_assert_eq!(summary.written, all.len() as u64);
        }
    }
}
