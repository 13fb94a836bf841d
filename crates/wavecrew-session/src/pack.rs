//! Many short texts in one file, because file systems are slow at creating many files.
//!
//! A folder has packs `short.1.pack`, `short.2.pack`, ... An entry is a line `== NAME LENGTH`, the text, and
//! a newline; several share a write. Every run begins a pack of its own, so that an entry that a crash cut
//! short is the last of its file; readers skip it. Refuses to change an entry.

use crate::atomic::PRIVATE;
use crate::error::{IoContext, SessionError};
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Bytes that are written without waiting for more.
const FULL: usize = 64 << 10;

/// The writer's side.
#[derive(Debug)]
pub struct Pack {
    folder: PathBuf,
    /// Made with the first entry.
    file: Option<File>,
    buffer: Vec<u8>,
}

impl Pack {
    pub fn in_folder(folder: PathBuf) -> Self {
        Self {
            folder,
            file: None,
            buffer: Vec::new(),
        }
    }

    /// Adds an entry; it is on disk with the next [`flush`](Self::flush).
    pub fn add(&mut self, name: &str, text: &[u8]) -> Result<(), SessionError> {
        self.buffer
            .extend_from_slice(format!("== {name} {}\n", text.len()).as_bytes());
        self.buffer.extend_from_slice(text);
        self.buffer.push(b'\n');
        if self.buffer.len() < FULL {
            return Ok(());
        }
        self.flush()
    }

    pub fn flush(&mut self) -> Result<(), SessionError> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let mut file = match self.file.take() {
            Some(file) => file,
            None => begin(&self.folder)?,
        };
        let written = file
            .write_all(&self.buffer)
            .context("add to a pack in", &self.folder);
        self.buffer.clear();
        written?;
        // After a failure the next entry begins a pack, for this one may be cut short.
        self.file = Some(file);
        Ok(())
    }
}

fn begin(folder: &Path) -> Result<File, SessionError> {
    let mut number = 1;
    loop {
        let path = path_of(folder, number);
        let mut options = File::options();
        match options.append(true).create_new(true).mode(PRIVATE).open(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
            made => return made.context("create", &path),
        }
    }
}

fn path_of(folder: &Path, number: u32) -> PathBuf {
    folder.join(format!("short.{number}.pack"))
}

/// Reads all packs of a folder from the first entry to the latest, again and again while they grow.
#[derive(Debug)]
pub struct PackReader {
    folder: PathBuf,
    number: u32,
    file: Option<BufReader<File>>,
    /// Where the next entry begins.
    at: u64,
}

#[derive(PartialEq, Eq, Debug)]
pub struct Entry {
    pub name: String,
    pub text: Vec<u8>,
}

impl PackReader {
    pub fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            number: 1,
            file: None,
            at: 0,
        }
    }

    /// The next entry, if there is one by now.
    pub fn next_entry(&mut self) -> io::Result<Option<Entry>> {
        loop {
            let file = match &mut self.file {
                Some(file) => file,
                None => match File::open(path_of(&self.folder, self.number)) {
                    Ok(file) => self.file.insert(BufReader::new(file)),
                    Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
                    Err(error) => return Err(error),
                },
            };
            if let Some((entry, length)) = read_entry(file)? {
                self.at += length;
                return Ok(Some(entry));
            }
            file.seek(SeekFrom::Start(self.at))?;
            if !path_of(&self.folder, self.number + 1).exists() {
                return Ok(None);
            }
            // There is a next pack; entries that were added before it are in this one.
            if let Some((entry, length)) = read_entry(file)? {
                self.at += length;
                return Ok(Some(entry));
            }
            (self.number, self.file, self.at) = (self.number + 1, None, 0);
        }
    }
}

/// A whole entry and its length.
fn read_entry(file: &mut BufReader<File>) -> io::Result<Option<(Entry, u64)>> {
    let mut head = Vec::new();
    file.read_until(b'\n', &mut head)?;
    let Some((name, length)) = parse_head(&head) else {
        return Ok(None);
    };
    let mut text = Vec::new();
    // With the newline that ends the entry.
    file.take(length + 1).read_to_end(&mut text)?;
    if text.len() as u64 != length + 1 {
        return Ok(None);
    }
    text.pop();
    let whole = head.len() as u64 + length + 1;
    Ok(Some((Entry { name, text }, whole)))
}

fn parse_head(line: &[u8]) -> Option<(String, u64)> {
    let line = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let (name, length) = line.strip_prefix("== ")?.rsplit_once(' ')?;
    // No file is this long, so a larger number is invalid.
    let length = length.parse().ok().filter(|length| *length < u64::MAX)?;
    Some((name.to_owned(), length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn all(reader: &mut PackReader) -> Vec<(String, String)> {
        std::iter::from_fn(|| reader.next_entry().unwrap())
            .map(|entry| (entry.name, String::from_utf8(entry.text).unwrap()))
            .collect()
    }

    fn pair(name: &str, text: &str) -> (String, String) {
        (name.to_owned(), text.to_owned())
    }

    #[test]
    fn a_pack_is_read_while_it_grows() {
        let dir = tempfile::tempdir().unwrap();
        let mut reader = PackReader::new(dir.path().to_owned());
        assert_eq!(all(&mut reader), []);
        let mut pack = Pack::in_folder(dir.path().to_owned());
        pack.add("a.1.log", b"== b 3\nno entry\n").unwrap();
        assert_eq!(all(&mut reader), []);
        pack.flush().unwrap();
        assert_eq!(all(&mut reader), [pair("a.1.log", "== b 3\nno entry\n")]);
        pack.add("b.1.log", b"").unwrap();
        pack.add("c.1.log", b"three").unwrap();
        pack.flush().unwrap();
        assert_eq!(all(&mut reader), [pair("b.1.log", ""), pair("c.1.log", "three")]);
    }

    #[test]
    fn a_buffer_that_is_full_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let mut pack = Pack::in_folder(dir.path().to_owned());
        let long = "x".repeat(FULL);
        pack.add("a", b"short").unwrap();
        pack.add("b", long.as_bytes()).unwrap();
        let found = all(&mut PackReader::new(dir.path().to_owned()));
        assert_eq!(found, [pair("a", "short"), pair("b", &long)]);
    }

    #[test]
    fn an_entry_cut_anywhere_is_left_out_and_hides_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = path_of(dir.path(), 1);
        let mut first = Pack::in_folder(dir.path().to_owned());
        first.add("a", b"whole").unwrap();
        first.flush().unwrap();
        let kept = fs::metadata(&path).unwrap().len();
        first.add("b", b"cut\nshort").unwrap();
        first.flush().unwrap();
        let bytes = fs::read(&path).unwrap();
        let mut second = Pack::in_folder(dir.path().to_owned());
        second.add("c", b"later").unwrap();
        second.flush().unwrap();
        for end in usize::try_from(kept).unwrap()..bytes.len() {
            fs::write(&path, &bytes[..end]).unwrap();
            let mut reader = PackReader::new(dir.path().to_owned());
            assert_eq!(
                all(&mut reader),
                [pair("a", "whole"), pair("c", "later")],
                "{end}"
            );
        }
    }
}
