//! How a worker's report reaches the coordinator: as a file that exactly one process can put in place.
//!
//! An open attempt is the file `.run/{task}.{attempt}`, which holds its token. A report becomes visible as
//! `.run/{task}.{attempt}.report` through link(2), which fails when the name is taken: the first one wins.
//! Closing takes the token out of its file while no reporter is on its way; if one is, an empty file takes the
//! report's name first. Either the report was first, or every later one is refused, and the coordinator never waits for a
//! worker that was stopped half-way. Refuses reports for attempts that are closed, were never opened, or carry
//! another token.

mod token;

use crate::atomic::{self, sync_folder};
use crate::error::{At, StoreError};
use crate::session::SessionDir;
use std::collections::HashMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use wavecrew_core::id::check_task_id;

pub use token::Token;

/// Larger reports are refused.
pub const MAX_REPORT: usize = 1024 * 1024;

/// More are opened again when they are closed.
const MOST_HELD: usize = 64;

/// In place of a token's first byte; no token has it.
const VOID: &[u8] = b"-";

/// The answer to a worker.
#[derive(Clone, PartialEq, Eq, Debug)]
#[must_use]
pub enum Submitted {
    /// Durable: the coordinator will find it, even after a crash.
    Accepted,
    Refused(Refusal),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The attempt is over, or never was.
    NotOpen,
    WrongToken,
    AlreadyReported,
    Empty,
    TooLarge {
        size: usize,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotOpen => f.write_str("this attempt is not open: it has ended, or it never started"),
            Self::WrongToken => f.write_str("the token is not that of this attempt"),
            Self::AlreadyReported => f.write_str("this attempt has already reported"),
            Self::Empty => f.write_str("the report is empty"),
            Self::TooLarge { size } => write!(f, "the report has {size} bytes, the limit is {MAX_REPORT}"),
        }
    }
}

/// What closing an attempt found.
#[derive(PartialEq, Eq, Debug)]
#[must_use]
pub struct Closed {
    /// The report that got in before.
    pub report: Option<Vec<u8>>,
    stragglers: Stragglers,
}

/// Whether a reporter was seen on its way while the attempt was closed. If so, the name it is about to take
/// stays taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stragglers {
    None,
    Perhaps,
}

/// A report that was handed in before a crash.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Found {
    pub task: String,
    pub attempt: u32,
    pub report: Vec<u8>,
}

/// The coordinator's side.
#[derive(Debug)]
pub struct Attempts {
    folder: PathBuf,
    /// Files of closed attempts, whose tokens are void. The next ones take them, because a file system is slow to make
    /// files while others are deleted.
    spares: Vec<(PathBuf, File)>,
    /// Files of open attempts; only of some, for every one counts against the limit of open files.
    held: HashMap<PathBuf, File>,
}

/// The worker's side: hands in `json` for one attempt.
pub fn submit(
    session: &SessionDir,
    task: &str,
    attempt: u32,
    token: &Token,
    json: &[u8],
) -> Result<Submitted, StoreError> {
    let refused = |refusal| Ok(Submitted::Refused(refusal));
    if json.is_empty() {
        return refused(Refusal::Empty);
    }
    if json.len() > MAX_REPORT {
        return refused(Refusal::TooLarge { size: json.len() });
    }
    let attempts = session.attempts();
    let path = attempts.token_path(task, attempt);
    let mut open = match attempts.admit(task, attempt, token)? {
        Ok(open) => open,
        Err(refusal) => return refused(refusal),
    };
    let report = attempts.report_path(task, attempt);
    if let Some(taken) = taken(&report)? {
        return refused(taken);
    }
    let draft = atomic::temp_with(&report, json, 0o600)?;
    draft.as_file().sync_all().at("sync", draft.path())?;
    // Says to `close_attempt` that a reporter is on its way; from here it takes microseconds.
    open.lock_shared().at("lock", &path)?;
    open.rewind().at("read", &path)?;
    if open.metadata().at("look at", &path)?.nlink() == 0 || !token.matches(&read_all(&mut open, &path)?) {
        return refused(Refusal::NotOpen);
    }
    match fs::hard_link(draft.path(), &report) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            return refused(taken(&report)?.unwrap_or(Refusal::NotOpen));
        }
        Err(error) => return Err(error).at("hand in", &report),
    }
    sync_folder(&attempts.folder)?;
    Ok(Submitted::Accepted)
}

impl Attempts {
    pub(crate) fn in_folder(folder: PathBuf) -> Self {
        Self {
            folder,
            spares: Vec::new(),
            held: HashMap::new(),
        }
    }

    /// Whether the holder of `token` may speak for this attempt, or why not.
    pub fn check(&self, task: &str, attempt: u32, token: &Token) -> Result<Option<Refusal>, StoreError> {
        Ok(self.admit(task, attempt, token)?.err())
    }

    /// The file of the token, if it is the right one.
    fn admit(&self, task: &str, attempt: u32, token: &Token) -> Result<Result<File, Refusal>, StoreError> {
        // The id comes from outside and becomes a path.
        if check_task_id(task).is_err() {
            return Ok(Err(Refusal::NotOpen));
        }
        let path = self.token_path(task, attempt);
        let Some(mut open) = open_if_there(&path)? else {
            return Ok(Err(Refusal::NotOpen));
        };
        let stored = read_all(&mut open, &path)?;
        if token.matches(&stored) {
            Ok(Ok(open))
        } else if stored.starts_with(VOID) {
            Ok(Err(Refusal::NotOpen))
        } else {
            Ok(Err(Refusal::WrongToken))
        }
    }

    /// Lets the holder of `token` report. One small file, not synced: a power cut ends the attempt anyway.
    pub fn open_attempt(&mut self, task: &str, attempt: u32, token: &Token) -> Result<(), StoreError> {
        if taken(&self.report_path(task, attempt))?.is_some() {
            return Err(StoreError::UnclaimedReport {
                task: task.to_owned(),
                attempt,
            });
        }
        let path = self.token_path(task, attempt);
        let file = match self.take_spare(&path)? {
            Some(file) => file,
            None => make_token_file(&path)?,
        };
        let token = token.as_str().as_bytes();
        file.write_all_at(token, 0).at("write", &path)?;
        if token.len() != Token::LENGTH {
            // Nobody but tests has one; the file of the next is made anew.
            file.set_len(token.len() as u64).at("write", &path)?;
        } else if self.held.len() < MOST_HELD {
            self.held.insert(path, file);
        }
        Ok(())
    }

    /// A void file, in the place of the new one.
    fn take_spare(&mut self, path: &Path) -> Result<Option<File>, StoreError> {
        let Some((spare, file)) = self.spares.pop() else {
            return Ok(None);
        };
        match fs::rename(spare, path) {
            Ok(()) => Ok(Some(file)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).at("create", path),
        }
    }

    /// The report, if there is one. It stays on disk until [`forget`](Self::forget), so that a crash does not
    /// lose it.
    pub fn take_report(&self, task: &str, attempt: u32) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.report_path(task, attempt);
        let Some(mut file) = open_if_there(&path)? else {
            return Ok(None);
        };
        let report = read_all(&mut file, &path)?;
        Ok(if report.is_empty() { None } else { Some(report) })
    }

    /// When the report was handed in.
    pub fn reported_at(&self, task: &str, attempt: u32) -> Option<SystemTime> {
        let found = fs::metadata(self.report_path(task, attempt)).ok()?;
        found.modified().ok()
    }

    /// Moves a bad report aside, so that the worker may report again. Returns how many were rejected by now.
    pub fn reject_report(&self, task: &str, attempt: u32, reason: &str) -> Result<u32, StoreError> {
        let number = self.rejections(task, attempt) + 1;
        let aside = self.rejected_path(task, attempt, number);
        atomic::write_volatile(&reason_path(&aside), reason.as_bytes())?;
        let report = self.report_path(task, attempt);
        fs::rename(&report, &aside).at("set aside", &report)?;
        Ok(number)
    }

    /// A rejected report and the reason, by its number from 1.
    pub fn rejected(&self, task: &str, attempt: u32, number: u32) -> Result<(Vec<u8>, String), StoreError> {
        let path = self.rejected_path(task, attempt, number);
        let report = fs::read(&path).at("read", &path)?;
        let reason = reason_path(&path);
        Ok((report, fs::read_to_string(&reason).at("read", &reason)?))
    }

    /// Ends an attempt: a report either got in before and is returned, or is refused from now on.
    pub fn close_attempt(&mut self, task: &str, attempt: u32) -> Result<Closed, StoreError> {
        let path = self.token_path(task, attempt);
        let held = self.held.remove(&path).map(Ok);
        let of_usual_length = held.is_some();
        let open = match held.unwrap_or_else(|| File::options().read(true).write(true).open(&path)) {
            Ok(open) => open,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(Closed {
                    report: self.take_report(task, attempt)?,
                    stragglers: Stragglers::Perhaps,
                });
            }
            Err(error) => return Err(error).at("open", &path),
        };
        // A reporter holds the lock, shared, from its last look at the token's file until its report is in place.
        // With the lock in hand nobody is in between, and whoever comes later sees that the token is gone.
        if open.try_lock().is_ok() {
            let report = self.take_report(task, attempt)?;
            open.write_all_at(VOID, 0).at("close", &path)?;
            open.unlock().at("close", &path)?;
            if of_usual_length || open.metadata().at("look at", &path)?.len() == Token::LENGTH as u64 {
                self.spares.push((path, open));
            }
            return Ok(Closed {
                report,
                stragglers: Stragglers::None,
            });
        }
        let report = self.block_name(task, attempt)?;
        fs::remove_file(&path).at("remove", &path)?;
        Ok(Closed {
            report,
            stragglers: Stragglers::Perhaps,
        })
    }

    /// Takes the report's name before the reporter that is on its way, or returns the report that has it.
    fn block_name(&self, task: &str, attempt: u32) -> Result<Option<Vec<u8>>, StoreError> {
        let name = self.report_path(task, attempt);
        match File::options()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&name)
        {
            Ok(_) => Ok(None),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => self.take_report(task, attempt),
            Err(error) => Err(error).at("close", &name),
        }
    }

    /// Removes what is left of a closed attempt, once its result is in the journal.
    pub fn forget(&self, task: &str, attempt: u32, closed: &Closed) -> Result<(), StoreError> {
        for number in 1..=self.rejections(task, attempt) {
            let path = self.rejected_path(task, attempt, number);
            remove_if_there(&reason_path(&path))?;
            remove_if_there(&path)?;
        }
        let name = self.report_path(task, attempt);
        match (&closed.report, closed.stragglers) {
            (Some(_), Stragglers::None) => remove_if_there(&name),
            // Empty, it is the mark that keeps late reporters out; the next `sweep` takes it away.
            (Some(_), Stragglers::Perhaps) => {
                File::create(&name).at("empty", &name)?;
                Ok(())
            }
            (None, _) => Ok(()),
        }
    }

    /// After a crash: closes every attempt that is still open and returns all reports that nobody has
    /// forgotten.
    pub fn recover(&mut self) -> Result<Vec<Found>, StoreError> {
        for (task, attempt) in self.names()?.iter().filter_map(|name| parse_numbered(name)) {
            let _ = self.close_attempt(task, attempt)?;
        }
        let mut found = Vec::new();
        for name in self.names()? {
            let Some((task, attempt)) = name.strip_suffix(".report").and_then(parse_numbered) else {
                continue;
            };
            if let Some(report) = self.take_report(task, attempt)? {
                let task = task.to_owned();
                found.push(Found {
                    task,
                    attempt,
                    report,
                });
            }
        }
        found.sort();
        Ok(found)
    }

    /// Removes everything of all attempts. Only when no worker runs and what [`recover`](Self::recover) found
    /// is in the journal.
    pub fn sweep(&self) -> Result<(), StoreError> {
        for name in self.names()?.iter().filter(|name| is_of_an_attempt(name)) {
            match remove_if_there(&self.folder.join(name)) {
                // What a worker made of a name that it was given.
                Err(StoreError::Io { source, .. }) if source.kind() == ErrorKind::IsADirectory => {}
                removed => removed?,
            }
        }
        Ok(())
    }

    fn names(&self) -> Result<Vec<String>, StoreError> {
        let entries = fs::read_dir(&self.folder).at("list", &self.folder)?;
        let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        names.collect::<io::Result<_>>().at("list", &self.folder)
    }

    fn token_path(&self, task: &str, attempt: u32) -> PathBuf {
        self.folder.join(format!("{task}.{attempt}"))
    }

    fn report_path(&self, task: &str, attempt: u32) -> PathBuf {
        self.folder.join(format!("{task}.{attempt}.report"))
    }

    fn rejected_path(&self, task: &str, attempt: u32, number: u32) -> PathBuf {
        self.folder.join(format!("{task}.{attempt}.rejected-{number}"))
    }

    fn rejections(&self, task: &str, attempt: u32) -> u32 {
        let mut number = 0;
        while self.rejected_path(task, attempt, number + 1).exists() {
            number += 1;
        }
        number
    }
}

/// Also in place of a file left by a crash: who still has that one open stays out.
fn make_token_file(path: &Path) -> Result<File, StoreError> {
    remove_if_there(path)?;
    File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .at("create", path)
}

fn reason_path(rejected: &Path) -> PathBuf {
    rejected.with_added_extension("reason")
}

/// Who has the report's name: another report, or the closing of the attempt.
fn taken(report: &Path) -> Result<Option<Refusal>, StoreError> {
    match fs::metadata(report) {
        Ok(found) if found.len() == 0 => Ok(Some(Refusal::NotOpen)),
        Ok(_) => Ok(Some(Refusal::AlreadyReported)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).at("look at", report),
    }
}

/// `{task}.{attempt}`.
fn parse_numbered(name: &str) -> Option<(&str, u32)> {
    let (task, attempt) = name.rsplit_once('.')?;
    check_task_id(task).ok()?;
    Some((task, attempt.parse().ok()?))
}

/// Tokens, reports, rejected reports, and what a worker may leave beside them; records of other kinds are not.
fn is_of_an_attempt(name: &str) -> bool {
    let name = name.strip_suffix(".reason").unwrap_or(name);
    let numbered = match name.rsplit_once('.') {
        Some((rest, last))
            if matches!(last, "report" | "result" | "usage") || last.starts_with("rejected-") =>
        {
            rest
        }
        _ => name,
    };
    parse_numbered(numbered).is_some()
}

fn open_if_there(path: &Path) -> Result<Option<File>, StoreError> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).at("open", path),
    }
}

fn read_all(file: &mut File, path: &Path) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).at("read", path)?;
    Ok(bytes)
}

fn remove_if_there(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error).at("remove", path),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
