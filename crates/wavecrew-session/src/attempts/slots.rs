//! The files of open attempts' tokens: `.run/token-{number}`, each used by one attempt after the other, so
//! that there are never more files than attempts that were open at once. Workers may read theirs, and write
//! only their own folder `.run/in-{number}`. One holds a byte for its state, then `{token} {task}.{attempt}`
//! and a line break; a token contains the number of its file.

use super::Token;
use super::{if_there, remove_if_there};
use crate::atomic::read_all;
use crate::error::{IoContext, SessionError};
use crate::paths::SessionPaths;
use crate::worker_file::clear_folder;
use std::collections::HashMap;
use std::fs::{DirBuilder, File};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// How many are kept open; others are opened when they are closed, because each counts against the limit of
/// open files.
const MOST_HELD: usize = 64;

/// The first byte of a file whose attempt is closed.
const VOID: u8 = b'-';
/// Of one whose attempt is open.
const OPEN: u8 = b'o';
/// The same, as an earlier version wrote it once a reporter had been there.
const REPORTER_SEEN: u8 = b'k';

/// The attempt that a file belongs to, and the token that it asks for.
pub(super) struct TokenRecord {
    token: Vec<u8>,
    /// `{task}.{attempt}`.
    pub attempt: String,
}

impl TokenRecord {
    /// Nothing for a file that is void, or that a power cut left half-written.
    fn parse(text: &[u8]) -> Option<Self> {
        let line = text.split(|byte| *byte == b'\n').next()?;
        let (&(OPEN | REPORTER_SEEN), line) = line.split_first().filter(|_| line.len() < text.len())? else {
            return None;
        };
        let (token, attempt) = str::from_utf8(line).ok()?.split_once(' ')?;
        Some(Self {
            token: token.as_bytes().to_vec(),
            attempt: attempt.to_owned(),
        })
    }

    pub fn is(&self, attempt: &str, token: &Token) -> bool {
        self.attempt == attempt && token.matches(&self.token)
    }
}

/// The attempt that uses this file now.
pub(super) fn read_record(file: &mut File, path: &Path) -> Result<Option<TokenRecord>, SessionError> {
    Ok(TokenRecord::parse(&read_all(file, path)?))
}

/// The number of the file of this name.
pub(super) fn parse_name(name: &str) -> Option<u32> {
    u32::from_str_radix(name.strip_prefix("token-")?, 16).ok()
}

/// The coordinator's side.
#[derive(Debug, Default)]
pub(super) struct Slots {
    made: u32,
    /// Void files.
    free: Vec<Slot>,
    taken: HashMap<String, Slot>,
    held: usize,
}

#[derive(Debug)]
struct Slot {
    number: u32,
    /// Where it is held open.
    file: Option<File>,
}

/// For a file that is neither in use nor free.
pub(super) struct Number(pub u32);

impl Slots {
    /// A token for this attempt, written to a file.
    pub fn take(&mut self, paths: &SessionPaths, attempt: String) -> Result<Token, SessionError> {
        let Slot { number, file } = self.free.pop().unwrap_or_else(|| {
            self.made += 1;
            Slot {
                number: self.made,
                file: None,
            }
        });
        let path = paths.token_file(number);
        let file = match file {
            Some(file) => {
                self.held -= 1;
                file
            }
            None => make(&path)?,
        };
        make_inbox(&paths.inbox(number))?;
        let token = Token::random(number)?;
        let line = format!("{}{} {attempt}\n", char::from(OPEN), token.as_str());
        file.write_all_at(line.as_bytes(), 0).context("write", &path)?;
        let slot = self.hold(number, file);
        self.taken.insert(attempt, slot);
        Ok(token)
    }

    /// The file of an attempt that is to be closed. Not for the next one before it is [put back](Self::reuse).
    pub fn release(
        &mut self,
        paths: &SessionPaths,
        attempt: &str,
    ) -> Result<Option<(Number, File, PathBuf)>, SessionError> {
        let Some(slot) = self.taken.remove(attempt) else {
            return Ok(None);
        };
        let path = paths.token_file(slot.number);
        let file = match slot.file {
            Some(file) => {
                self.held -= 1;
                file
            }
            None => File::options()
                .read(true)
                .write(true)
                .open(&path)
                .context("open", &path)?,
        };
        Ok(Some((Number(slot.number), file, path)))
    }

    /// The number of the file of an open attempt.
    pub fn number_of(&self, attempt: &str) -> Option<u32> {
        self.taken.get(attempt).map(|slot| slot.number)
    }

    /// A file that is void now.
    pub fn reuse(&mut self, Number(number): Number, file: File) {
        let slot = self.hold(number, file);
        self.free.push(slot);
    }

    fn hold(&mut self, number: u32, file: File) -> Slot {
        let file = (self.held < MOST_HELD).then_some(file);
        self.held += usize::from(file.is_some());
        Slot { number, file }
    }
}

pub(super) fn invalidate(file: &File, path: &Path) -> Result<(), SessionError> {
    file.write_all_at(&[VOID], 0).context("close", path)
}

/// An empty folder for the worker of an attempt, whatever the last one left in it.
fn make_inbox(folder: &Path) -> Result<(), SessionError> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            clear_folder(folder);
            Ok(())
        }
        made => made.context("create", folder),
    }
}

/// The file that a token names, if it is there.
pub(super) fn open_for(paths: &SessionPaths, token: &Token) -> Result<Option<(File, PathBuf)>, SessionError> {
    let Some(number) = token.slot() else {
        return Ok(None);
    };
    let path = paths.token_file(number);
    let opened = File::open(&path);
    Ok(if_there(opened, &path)?.map(|file| (file, path)))
}

/// Also replaces a file left by a crash, so that a process that still has the old one open cannot use it.
fn make(path: &Path) -> Result<File, SessionError> {
    remove_if_there(path)?;
    File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .context("create", path)
}
