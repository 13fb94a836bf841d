//! Reads a worker's log: from its beginning to its current end, repeatedly while it grows, or only its end.
//! Reads both halves of a [`BoundedLog`](crate::BoundedLog), the file and the ring that has the end while the
//! worker runs, and the packs with short logs.

use crate::atomic::folder_of;
use crate::bounded_log::{LogTail, left_out, open_log, tail_path};
use crate::pack::PackReader;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

const CHUNK: u64 = 64 << 10;
/// Longer than the line that states how much is missing.
const NOTE: u64 = 64;

#[derive(Debug)]
pub struct LogReader {
    path: PathBuf,
    /// How much of the worker's output was returned or is lost.
    at: u64,
    /// Bytes before the ring, once it was seen.
    half: Option<u64>,
    /// Set until a part of the log is found.
    packs: Option<PackReader>,
}

impl LogReader {
    pub fn new(path: PathBuf) -> Self {
        Self {
            packs: Some(PackReader::new(folder_of(&path).to_owned())),
            path,
            at: 0,
            half: None,
        }
    }

    /// A reader that begins at most this many bytes before the end of the log, and how many bytes it skips.
    pub fn of_end(path: PathBuf, most: u64) -> (Self, u64) {
        let length = open_log(&path).and_then(|file| file.metadata());
        let skipped = length.map_or(0, |meta| meta.len().saturating_sub(most));
        let mut reader = Self::new(path);
        reader.at = skipped;
        (reader, skipped)
    }

    /// Returns new output. A log that does not exist yet is empty.
    pub fn catch_up(&mut self, take: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        match LogTail::open(&tail_path(&self.path)) {
            Ok(ring) => {
                self.half = Some(ring.half());
                self.read_file(self.at, ring.half(), take)?;
                self.read_ring(&ring, take)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let from = self.place_in_whole(take)?;
                self.read_file(from, u64::MAX, take)?;
                if self.at == 0 {
                    self.read_packed(take)?;
                }
                Ok(())
            }
            // It was just created and has no position yet.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The log as an entry of a pack, which is always complete.
    fn read_packed(&mut self, take: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let (Some(packs), Some(name)) = (&mut self.packs, self.path.file_name()) else {
            return Ok(());
        };
        while let Some(entry) = packs.next_entry()? {
            if name == entry.name.as_str() {
                self.at = entry.text.len() as u64;
                self.packs = None;
                return take(&entry.text);
            }
        }
        Ok(())
    }

    /// Where to continue in a log whose halves were joined.
    fn place_in_whole(&mut self, take: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<u64> {
        let Some(half) = self.half.take_if(|half| self.at > *half) else {
            return Ok(self.at);
        };
        let mut note = Vec::new();
        let mut file = open_log(&self.path)?;
        file.seek(SeekFrom::Start(half))?;
        file.take(NOTE).read_to_end(&mut note)?;
        let (missing, length) = left_out(&note).unwrap_or((0, 0));
        let seen = self.at - half;
        if missing > seen {
            take(note_of(missing - seen).as_bytes())?;
        }
        self.at = half + length + seen.saturating_sub(missing);
        Ok(self.at)
    }

    fn read_file(
        &mut self,
        from: u64,
        to: u64,
        take: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        if from >= to {
            return Ok(());
        }
        let mut file = match open_log(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        file.seek(SeekFrom::Start(from))?;
        let mut rest = file.take(to - from);
        let mut chunk = Vec::new();
        loop {
            chunk.clear();
            (&mut rest).take(CHUNK).read_to_end(&mut chunk)?;
            if chunk.is_empty() {
                return Ok(());
            }
            self.at += chunk.len() as u64;
            take(&chunk)?;
        }
    }

    fn read_ring(&mut self, ring: &LogTail, take: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let half = ring.half();
        loop {
            let end = half + ring.written()?;
            if self.at < half || self.at >= end {
                return Ok(());
            }
            let kept = end.saturating_sub(half).max(half);
            if self.at < kept {
                take(note_of(kept - self.at).as_bytes())?;
                self.at = kept;
            }
            let chunk = ring.read(self.at - half, CHUNK.min(end - self.at))?;
            // Bytes that the ring overwrote during the reading.
            if ring.written()? > self.at {
                continue;
            }
            self.at += chunk.len() as u64;
            take(&chunk)?;
        }
    }
}

/// The end of a log, at most this many bytes, and the time of the last write.
pub fn end_of_log(path: &Path, most: u64) -> io::Result<(Vec<u8>, SystemTime)> {
    let mut file = open_log(path)?;
    let (length, mut written_at) = (file.metadata()?.len(), file.metadata()?.modified()?);
    let (mut ringed, mut room) = (Vec::new(), most);
    // Before the ring exists, and after the worker has ended, the file has everything.
    if let Ok(ring) = LogTail::open(&tail_path(path)) {
        let end = ring.written()?;
        let mut at = end - end.min(ring.half()).min(most);
        // The output that the ring has lost is between it and the file.
        room = if at > 0 { 0 } else { most - end };
        while at < end {
            let piece = ring.read(at, end - at)?;
            at += piece.len() as u64;
            ringed.extend(piece);
        }
        written_at = ring.written_at()?;
    }
    file.seek(SeekFrom::Start(length.saturating_sub(room)))?;
    let mut bytes = Vec::new();
    file.take(room).read_to_end(&mut bytes)?;
    bytes.extend(ringed);
    Ok((bytes, written_at))
}

fn note_of(missing: u64) -> String {
    format!("\n[{missing} bytes left out here]\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BoundedLog;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn more(reader: &mut LogReader) -> Vec<u8> {
        let mut bytes = Vec::new();
        reader
            .catch_up(&mut |chunk| {
                bytes.extend_from_slice(chunk);
                Ok(())
            })
            .unwrap();
        bytes
    }

    #[test]
    fn a_log_is_followed_past_its_first_half() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.log");
        let mut reader = LogReader::new(path.clone());
        assert_eq!(more(&mut reader), b"");
        let mut log = BoundedLog::create(&path, 8);
        let mut seen = Vec::new();
        for word in ["abc", "def", "gh", "ij", "k"] {
            log.write(word.as_bytes()).unwrap();
            seen.push(String::from_utf8(more(&mut reader)).unwrap());
        }
        assert_eq!(seen, ["abc", "def", "gh", "ij", "k"]);
        log.write(b"lmnopqrst").unwrap();
        assert_eq!(more(&mut reader), b"\n[5 bytes left out here]\nqrst");
        log.write(b"uvwxyz").unwrap();
        log.finish().unwrap();
        assert_eq!(more(&mut reader), b"\n[2 bytes left out here]\nwxyz");
        assert_eq!(more(&mut reader), b"");
        let mut late = LogReader::new(path);
        assert_eq!(more(&mut late), b"abcd\n[18 bytes left out here]\nwxyz");
    }

    #[test]
    fn the_end_of_a_long_log_is_followed_without_its_beginning() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.log");
        let mut log = BoundedLog::create(&path, 200);
        log.write(b"abcdefghij").unwrap();
        let (mut reader, skipped) = LogReader::of_end(path.clone(), 4);
        assert_eq!((skipped, more(&mut reader)), (6, b"ghij".to_vec()));
        log.write(b"kl").unwrap();
        assert_eq!(more(&mut reader), b"kl");
        let (mut whole, skipped) = LogReader::of_end(path, 100);
        assert_eq!((skipped, more(&mut whole)), (0, b"abcdefghijkl".to_vec()));
    }

    #[test]
    fn a_log_that_ended_in_a_pack_is_read_once() {
        let dir = tempfile::tempdir().unwrap();
        let mut reader = LogReader::new(dir.path().join("b.1.log"));
        let mut pack = crate::Pack::in_folder(dir.path().to_owned());
        pack.add("a.1.log", b"another").unwrap();
        pack.flush().unwrap();
        assert_eq!(more(&mut reader), b"");
        pack.add("b.1.log", b"this one").unwrap();
        pack.flush().unwrap();
        assert_eq!(more(&mut reader), b"this one");
        assert_eq!(more(&mut reader), b"");
    }

    #[test]
    fn the_end_is_where_the_worker_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.log");
        let mut log = BoundedLog::create(&path, 20);
        let mut all = String::new();
        for word in ["abcdefgh", "ijk", "lmnopqrst", "uvw", "xyzabcdefghijklm"] {
            log.write(word.as_bytes()).unwrap();
            all.push_str(word);
            for most in 1..8 {
                let (end, _) = end_of_log(&path, most as u64).unwrap();
                let expected = &all[all.len().saturating_sub(most)..];
                assert_eq!(String::from_utf8(end).unwrap(), expected, "{most} of {all}");
            }
        }
        log.finish().unwrap();
        assert_eq!(end_of_log(&path, 3).unwrap().0, b"klm");
    }

    proptest! {
        #[test]
        fn one_who_looks_often_misses_nothing(chunks in vec(vec(b'a'..=b'z', 0..5), 0..20), limit in 10u64..30) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("a.log");
            let mut log = BoundedLog::create(&path, limit);
            let mut reader = LogReader::new(path);
            let mut seen = Vec::new();
            for chunk in &chunks {
                log.write(chunk).unwrap();
                seen.extend(more(&mut reader));
            }
            log.finish().unwrap();
            seen.extend(more(&mut reader));
            prop_assert_eq!(seen, chunks.concat());
        }
    }
}
