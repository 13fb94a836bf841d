//! The files that workers append to: the discovery board, wisdom, messages. The commands for it write only
//! clean text, but a worker may also use `>>`. Such lines are cleaned in place without changing their length,
//! so that lines that others append meanwhile are not disturbed: secrets become `*`, characters that control
//! a terminal or reorder text become `?`.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use wavecrew_agents::Redactor;
use wavecrew_session::worker_file::{WorkerFile, open_change};
use wavecrew_session::{SessionDir, WisdomFile};

/// Bytes that are read at once. A longer line is cleaned in pieces.
const CHUNK: usize = 1 << 20;

pub(crate) struct AppendedFiles {
    /// Each file, and how much of it is clean.
    files: Vec<(PathBuf, u64)>,
}

impl AppendedFiles {
    pub fn of(session: &SessionDir) -> Self {
        let wisdom = WisdomFile::ALL.map(|file| session.wisdom().path(file));
        let others = [session.discoveries_file(), session.messages_file()];
        Self {
            files: others.into_iter().chain(wisdom).map(|path| (path, 0)).collect(),
        }
    }

    /// Cleans what was appended since the last call.
    pub fn clean(&mut self, redactor: &Redactor) {
        for (path, clean) in &mut self.files {
            // After most workers, nothing was appended.
            if path.symlink_metadata().is_ok_and(|found| found.len() == *clean) {
                continue;
            }
            // A file that cannot be opened or written is not shown raw either, because readers clean the text
            // again.
            if let Some(file) = open_change(path).ok().and_then(WorkerFile::regular) {
                *clean = clean_file(&file, *clean, redactor).unwrap_or(*clean);
            }
        }
    }
}

/// Cleans the whole lines from an offset on; returns the offset of the first unfinished one.
fn clean_file(file: &File, from: u64, redactor: &Redactor) -> io::Result<u64> {
    let found = file.metadata()?;
    // A second name may be that of a file outside.
    if found.nlink() != 1 || found.len() == from {
        return Ok(from);
    }
    let mut at = if found.len() < from { 0 } else { from };
    let mut chunk = vec![0; CHUNK];
    while at < found.len() {
        let length = file.read_at(&mut chunk, at)?;
        let bytes = &chunk[..length];
        let end = match memchr::memrchr(b'\n', bytes) {
            Some(newline) => newline + 1,
            None if length == CHUNK => length,
            None => break,
        };
        let secrets = redactor
            .find(&bytes[..end])
            .into_iter()
            .map(|range| (range, b'*'));
        let signs = dangerous(&bytes[..end]).into_iter().map(|range| (range, b'?'));
        for (range, sign) in secrets.chain(signs) {
            file.write_all_at(&vec![sign; range.len()], at + range.start as u64)?;
        }
        at += end as u64;
    }
    Ok(at)
}

/// Characters that control a terminal or reorder text, except line ends and tabs.
fn dangerous(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    for (at, &byte) in bytes.iter().enumerate() {
        let length = match (byte, bytes.get(at + 1), bytes.get(at + 2)) {
            (b'\n' | b'\t' | b'\r', ..) => continue,
            (0..0x20 | 0x7f, ..) => 1,
            (0xc2, Some(0x80..=0x9f), _) | (0xd8, Some(0x9c), _) => 2,
            (0xe2, Some(0x80), Some(0x8e | 0x8f | 0xaa..=0xae)) | (0xe2, Some(0x81), Some(0xa6..=0xa9)) => 3,
            _ => continue,
        };
        found.push(at..at + length);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;

    fn cleaned(lines: &[&str]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("board");
        let redactor = Redactor::new([("MY_TOKEN".into(), "abcdefgh1234".into())]);
        let mut files = AppendedFiles {
            files: vec![(path.clone(), 0)],
        };
        for line in lines {
            let mut file = File::options().append(true).create(true).open(&path).unwrap();
            file.write_all(line.as_bytes()).unwrap();
            files.clean(&redactor);
        }
        fs::read_to_string(&path).unwrap()
    }

    #[test]
    fn secrets_and_control_characters_are_replaced_in_place() {
        assert_eq!(
            cleaned(&["{\"a\":\"abcdefgh1234\"}\n", "\u{1b}[31mred \u{202e}olleh\n"]),
            "{\"a\":\"************\"}\n?[31mred ???olleh\n"
        );
        assert_eq!(cleaned(&["tab\tand é stay\n"]), "tab\tand é stay\n");
    }

    #[test]
    fn a_line_is_cleaned_when_it_is_whole() {
        assert_eq!(cleaned(&["x abcdef", "gh1234\n"]), "x ************\n");
    }

    #[test]
    fn a_file_with_a_second_name_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("of the person"), "abcdefgh1234\n").unwrap();
        fs::hard_link(path("of the person"), path("board")).unwrap();
        let redactor = Redactor::new([("MY_TOKEN".into(), "abcdefgh1234".into())]);
        let mut files = AppendedFiles {
            files: vec![(path("board"), 0)],
        };
        files.clean(&redactor);
        assert_eq!(
            fs::read_to_string(path("of the person")).unwrap(),
            "abcdefgh1234\n"
        );
    }
}
