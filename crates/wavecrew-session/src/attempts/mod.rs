//! How a worker's report reaches the coordinator: as a file that exactly one process can create.
//!
//! An open attempt is a file `.run/{task}.{attempt}.token` that holds its token. A report becomes visible as
//! `.run/{task}.{attempt}.report` through link(2), which fails when the name exists: the first report wins.
//! Closing removes the token's file while no reporter is between its last check and the link. If one is, an empty file
//! takes the report's name first. Either the report came first, or every later one is refused; the coordinator never
//! waits for a worker that was stopped half-way. Refuses reports for attempts that are closed or were never opened, and
//! reports with another token.

mod token;

use crate::atomic::{self, sync_folder};
use crate::error::{IoContext, SessionError};
use crate::paths::SessionPaths;
use crate::session::SessionDir;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use wavecrew_core::engine::RecoveredReport;
use wavecrew_core::id::check_task_id;

pub use token::{Token, random_name};

/// Larger reports are refused.
pub const MAX_REPORT: usize = 1024 * 1024;

/// The answer to a worker.
#[derive(Clone, PartialEq, Eq, Debug)]
#[must_use]
pub enum SubmitOutcome {
    /// Durable: the coordinator will find it, even after a crash.
    Accepted,
    Refused(ReportRefusal),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReportRefusal {
    /// The attempt has ended, or was never opened.
    NotOpen,
    WrongToken,
    AlreadyReported,
    Empty,
    TooLarge {
        size: usize,
    },
}

impl fmt::Display for ReportRefusal {
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

/// The outcome of closing an attempt.
#[derive(PartialEq, Eq, Debug)]
#[must_use]
pub struct ClosedAttempt {
    /// The report that was submitted before.
    pub report: Option<Vec<u8>>,
    late_reporter: LateReporter,
}

/// Whether a report was being submitted while the attempt was closed. If so, the name of the report's file stays
/// taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LateReporter {
    None,
    Possible,
}

/// The coordinator's side.
#[derive(Debug)]
pub struct Attempts {
    paths: SessionPaths,
}

/// The worker's side: submits `json` for one attempt.
pub fn submit(
    session: &SessionDir,
    task: &str,
    attempt: u32,
    token: &Token,
    json: &[u8],
) -> Result<SubmitOutcome, SessionError> {
    let refused = |refusal| Ok(SubmitOutcome::Refused(refusal));
    if json.is_empty() {
        return refused(ReportRefusal::Empty);
    }
    if json.len() > MAX_REPORT {
        return refused(ReportRefusal::TooLarge { size: json.len() });
    }
    let attempts = session.attempts();
    let (open, path) = match attempts.open_token_file(task, attempt, token)? {
        Ok(open) => open,
        Err(refusal) => return refused(refusal),
    };
    let report = attempts.paths.report_file(task, attempt);
    if let Some(taken) = taken(&report)? {
        return refused(taken);
    }
    let draft = atomic::temp_with(&report, json, 0o600)?;
    draft.as_file().sync_all().context("sync", draft.path())?;
    // Tells `close_attempt` that a report is coming; from here it takes microseconds.
    open.lock_shared().context("lock", &path)?;
    if open.metadata().context("look at", &path)?.nlink() == 0 {
        return refused(ReportRefusal::NotOpen);
    }
    match fs::hard_link(draft.path(), &report) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            return refused(taken(&report)?.unwrap_or(ReportRefusal::NotOpen));
        }
        Err(error) => return Err(error).context("hand in", &report),
    }
    sync_folder(&attempts.paths.run_folder())?;
    Ok(SubmitOutcome::Accepted)
}

impl Attempts {
    pub(crate) fn at(paths: SessionPaths) -> Self {
        Self { paths }
    }

    /// Why the holder of `token` may not report for this attempt, if so.
    pub fn check(
        &self,
        task: &str,
        attempt: u32,
        token: &Token,
    ) -> Result<Option<ReportRefusal>, SessionError> {
        Ok(self.open_token_file(task, attempt, token)?.err())
    }

    /// The file of the token, if it is the right one.
    fn open_token_file(
        &self,
        task: &str,
        attempt: u32,
        token: &Token,
    ) -> Result<Result<(File, PathBuf), ReportRefusal>, SessionError> {
        // The id comes from outside and becomes a path.
        if check_task_id(task).is_err() {
            return Ok(Err(ReportRefusal::NotOpen));
        }
        let path = self.paths.token_file(task, attempt);
        let Some(mut file) = File::open(&path).if_found("open", &path)? else {
            return Ok(Err(ReportRefusal::NotOpen));
        };
        let stored = read_all(&mut file, &path)?;
        Ok(match stored.strip_suffix(b"\n") {
            Some(stored) if token.matches(stored) => Ok((file, path)),
            Some(_) => Err(ReportRefusal::WrongToken),
            // A power cut left the file half-written.
            None => Err(ReportRefusal::NotOpen),
        })
    }

    /// Lets the holder of the token report. Not synced: a power cut ends the attempt anyway.
    pub fn open_attempt(&self, task: &str, attempt: u32) -> Result<Token, SessionError> {
        if self.paths.report_file(task, attempt).exists() {
            return Err(SessionError::UnclaimedReport {
                task: task.to_owned(),
                attempt,
            });
        }
        let path = self.paths.token_file(task, attempt);
        // A new file, also in place of one that a crash left: reporters that have the old one open are refused.
        remove_if_found(&path)?;
        let token = Token::random()?;
        let mut file = create_private(&path).context("create", &path)?;
        writeln!(file, "{}", token.as_str()).context("write", &path)?;
        Ok(token)
    }

    /// The report, if there is one. It stays on disk until [`forget`](Self::forget), so that a crash does not
    /// lose it.
    pub fn take_report(&self, task: &str, attempt: u32) -> Result<Option<Vec<u8>>, SessionError> {
        let path = self.paths.report_file(task, attempt);
        let report = fs::read(&path).if_found("read", &path)?;
        Ok(report.filter(|report| !report.is_empty()))
    }

    /// When the report was submitted.
    pub fn reported_at(&self, task: &str, attempt: u32) -> Option<SystemTime> {
        let found = fs::metadata(self.paths.report_file(task, attempt)).ok()?;
        found.modified().ok()
    }

    /// Moves a bad report aside, so that the worker may report again. Returns how many were rejected by now.
    pub fn reject_report(&self, task: &str, attempt: u32, reason: &str) -> Result<u32, SessionError> {
        let number = self.rejections(task, attempt) + 1;
        let aside = self.paths.rejected_report(task, attempt, number);
        atomic::write_volatile(&reason_path(&aside), reason.as_bytes())?;
        let report = self.paths.report_file(task, attempt);
        fs::rename(&report, &aside).context("set aside", &report)?;
        Ok(number)
    }

    /// A rejected report and the reason, by its number from 1.
    pub fn rejected(&self, task: &str, attempt: u32, number: u32) -> Result<(Vec<u8>, String), SessionError> {
        let path = self.paths.rejected_report(task, attempt, number);
        let report = fs::read(&path).context("read", &path)?;
        let reason = reason_path(&path);
        Ok((report, fs::read_to_string(&reason).context("read", &reason)?))
    }

    /// Ends an attempt: a report submitted before is returned, a later one is refused.
    pub fn close_attempt(&self, task: &str, attempt: u32) -> Result<ClosedAttempt, SessionError> {
        let path = self.paths.token_file(task, attempt);
        let Some(open) = File::open(&path).if_found("open", &path)? else {
            return Ok(ClosedAttempt {
                report: self.take_report(task, attempt)?,
                late_reporter: LateReporter::Possible,
            });
        };
        // A reporter holds the lock, shared, from its last check of the token's file until its report is in place.
        // With the exclusive lock no reporter is in between, and a later one finds that the file is gone.
        if open.try_lock().is_ok() {
            let report = self.take_report(task, attempt)?;
            fs::remove_file(&path).context("remove", &path)?;
            return Ok(ClosedAttempt {
                report,
                late_reporter: LateReporter::None,
            });
        }
        let report = self.block_name(task, attempt)?;
        fs::remove_file(&path).context("remove", &path)?;
        Ok(ClosedAttempt {
            report,
            late_reporter: LateReporter::Possible,
        })
    }

    /// Takes the report's name before the reporter does, or returns the report that has it.
    fn block_name(&self, task: &str, attempt: u32) -> Result<Option<Vec<u8>>, SessionError> {
        let name = self.paths.report_file(task, attempt);
        match create_private(&name) {
            Ok(_) => Ok(None),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => self.take_report(task, attempt),
            Err(error) => Err(error).context("close", &name),
        }
    }

    /// Removes what is left of a closed attempt, once its result is in the journal.
    pub fn forget(&self, task: &str, attempt: u32, closed: &ClosedAttempt) -> Result<(), SessionError> {
        for number in 1..=self.rejections(task, attempt) {
            let path = self.paths.rejected_report(task, attempt, number);
            remove_if_found(&reason_path(&path))?;
            remove_if_found(&path)?;
        }
        let name = self.paths.report_file(task, attempt);
        match (&closed.report, closed.late_reporter) {
            (Some(_), LateReporter::None) => remove_if_found(&name),
            // An empty file keeps late reporters out; the next `sweep` removes it.
            (Some(_), LateReporter::Possible) => {
                File::create(&name).context("empty", &name)?;
                Ok(())
            }
            (None, _) => Ok(()),
        }
    }

    /// After a crash: closes every open attempt and returns all reports that were not forgotten.
    pub fn recover(&self) -> Result<Vec<RecoveredReport>, SessionError> {
        for name in self.names()? {
            if let Some((task, attempt)) = name.strip_suffix(".token").and_then(parse_numbered) {
                let _ = self.close_attempt(task, attempt)?;
            }
        }
        let mut found = Vec::new();
        for name in self.names()? {
            let Some((task, attempt)) = name.strip_suffix(".report").and_then(parse_numbered) else {
                continue;
            };
            if let Some(report) = self.take_report(task, attempt)? {
                found.push(RecoveredReport {
                    task: task.to_owned(),
                    attempt,
                    body: String::from_utf8_lossy(&report).into_owned(),
                });
            }
        }
        found.sort_by(|a, b| (&a.task, a.attempt).cmp(&(&b.task, b.attempt)));
        Ok(found)
    }

    /// Removes everything of all attempts. Only when no worker runs and what [`recover`](Self::recover) found
    /// is in the journal.
    pub fn sweep(&self) -> Result<(), SessionError> {
        for name in self.names()?.iter().filter(|name| is_of_an_attempt(name)) {
            match remove_if_found(&self.paths.run_folder().join(name)) {
                // A worker may create a folder under a name that it was given.
                Err(SessionError::Io { source, .. }) if source.kind() == ErrorKind::IsADirectory => {}
                removed => removed?,
            }
        }
        Ok(())
    }

    fn names(&self) -> Result<Vec<String>, SessionError> {
        let folder = self.paths.run_folder();
        let entries = fs::read_dir(&folder).context("list", &folder)?;
        let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        names.collect::<io::Result<_>>().context("list", &folder)
    }

    fn rejections(&self, task: &str, attempt: u32) -> u32 {
        let mut number = 0;
        while self.paths.rejected_report(task, attempt, number + 1).exists() {
            number += 1;
        }
        number
    }
}

fn reason_path(rejected: &Path) -> PathBuf {
    rejected.with_added_extension("reason")
}

/// Why the report's name is taken: by another report, or because the attempt was closed.
fn taken(report: &Path) -> Result<Option<ReportRefusal>, SessionError> {
    let found = fs::metadata(report).if_found("look at", report)?;
    Ok(found.map(|found| match found.len() {
        0 => ReportRefusal::NotOpen,
        _ => ReportRefusal::AlreadyReported,
    }))
}

/// `{task}.{attempt}`.
fn parse_numbered(name: &str) -> Option<(&str, u32)> {
    let (task, attempt) = name.rsplit_once('.')?;
    check_task_id(task).ok()?;
    Some((task, attempt.parse().ok()?))
}

/// Whether a file belongs to an attempt: token, report, rejected report, result or usage.
fn is_of_an_attempt(name: &str) -> bool {
    let name = name.strip_suffix(".reason").unwrap_or(name);
    let numbered = match name.rsplit_once('.') {
        Some((rest, last))
            if matches!(last, "token" | "report" | "result" | "usage") || last.starts_with("rejected-") =>
        {
            rest
        }
        _ => name,
    };
    // Earlier versions named tokens' files `token-1`, `token-2`, ...
    parse_numbered(numbered).is_some() || name.starts_with("token-")
}

fn read_all(file: &mut File, path: &Path) -> Result<Vec<u8>, SessionError> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).context("read", path)?;
    Ok(bytes)
}

fn create_private(path: &Path) -> io::Result<File> {
    (File::options().write(true).create_new(true).mode(0o600)).open(path)
}

fn remove_if_found(path: &Path) -> Result<(), SessionError> {
    fs::remove_file(path).if_found("remove", path).map(drop)
}

#[cfg(test)]
mod tests;
