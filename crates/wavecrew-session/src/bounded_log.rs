//! A worker's log with a size limit: its start and its end are kept, and one line says how much is missing.
//!
//! The start is written directly; the end goes into a ring buffer in a second file beside it, which `finish` appends.
//! That file holds its own position, so that a [`LogReader`](crate::LogReader) can follow it, also after a crash.

use crate::error::{IoContext, SessionError};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

#[derive(Debug)]
pub struct BoundedLog {
    path: PathBuf,
    /// Bytes kept of the start, and as many of the end.
    half: u64,
    written: u64,
    head: Option<File>,
    ring: Option<File>,
}

/// The ring starts with the length of a half and the bytes written so far, as two numbers of eight bytes.
const RING_HEAD: u64 = 16;

/// The ring as a reader sees it.
#[derive(Debug)]
pub(crate) struct LogTail {
    file: File,
    half: u64,
}

impl LogTail {
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let half = number(&file, 0)?.max(1);
        Ok(Self { file, half })
    }

    pub fn half(&self) -> u64 {
        self.half
    }

    /// Bytes written to it so far.
    pub fn written(&self) -> io::Result<u64> {
        number(&self.file, 8)
    }

    pub fn written_at(&self) -> io::Result<SystemTime> {
        self.file.metadata()?.modified()
    }

    /// Bytes from `at` to the end of the contiguous piece, at most `most`.
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

/// The number of missing bytes in the line between start and end, and the line's length.
pub(crate) fn left_out(seam: &[u8]) -> Option<(u64, u64)> {
    let text = seam.strip_prefix(b"\n[")?;
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let missing = std::str::from_utf8(&text[..digits]).ok()?.parse().ok()?;
    let rest = b" bytes left out here]\n";
    text[digits..]
        .starts_with(rest)
        .then_some((missing, (2 + digits + rest.len()) as u64))
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
        }
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<(), SessionError> {
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

    /// Appends the end to the start.
    pub fn finish(mut self) -> Result<(), SessionError> {
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
        Ok(())
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
        // Only the end of a chunk that is longer than the ring is kept.
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
        // Last, so that a reader of the number finds the bytes.
        let total = (self.written - self.half).to_le_bytes();
        ring.write_all_at(&total, 8).context("write", &path)
    }
}

fn opened<'f>(slot: &'f mut Option<File>, path: &Path) -> Result<&'f mut File, SessionError> {
    if slot.is_none() {
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(path)
            .context("create", path)?;
        *slot = Some(file);
    }
    Ok(slot.as_mut().expect("it was just filled"))
}

/// Copies the bytes from `start` to `end` of the ring.
fn copy(ring: &mut File, start: u64, end: u64, to: &mut File) -> io::Result<u64> {
    ring.seek(SeekFrom::Start(RING_HEAD + start))?;
    io::copy(&mut ring.take(end - start), to)
}

pub(crate) fn tail_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".tail");
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn run(limit: u64, chunks: &[Vec<u8>]) -> Option<Vec<u8>> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.log");
        let mut log = BoundedLog::create(&path, limit);
        for chunk in chunks {
            log.write(chunk).unwrap();
        }
        log.finish().unwrap();
        assert!(!tail_path(&path).exists());
        fs::read(&path).ok()
    }

    #[test]
    fn a_silent_worker_has_no_log() {
        assert_eq!(run(10, &[]), None);
    }

    #[test]
    fn long_output_keeps_both_ends_and_says_so() {
        let log = run(8, &[b"abcdefgh".to_vec(), b"ijklmnop".to_vec(), b"q".to_vec()]);
        assert_eq!(log.unwrap(), b"abcd\n[9 bytes left out here]\nnopq");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

        #[test]
        fn any_chunks_give_head_and_tail(half in 1_usize..20, chunks in vec(vec(any::<u8>(), 0..30), 0..8)) {
            let all = chunks.concat();
            let log = run(half as u64 * 2, &chunks);
            let expected = if all.len() <= half * 2 {
                all.clone()
            } else {
                let gap = all.len() - half * 2;
                let note = format!("\n[{gap} bytes left out here]\n");
                [&all[..half], note.as_bytes(), &all[all.len() - half..]].concat()
            };
            prop_assert_eq!(log.unwrap_or_default(), expected);
        }
    }
}
