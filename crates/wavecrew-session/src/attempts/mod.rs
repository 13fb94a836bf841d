//! How a worker's report reaches the coordinator: as a file that exactly one process can put in place.
//!
//! An open attempt is a file that holds its token ([`slots`]), and a folder that only its worker can write.
//! There a report becomes visible as `{task}.{attempt}.report` through link(2), which fails when the name is
//! taken: the first one wins. The coordinator copies it to `.run`, where no worker can write, and trusts only
//! what is there. Closing removes the token from its file while no reporter is active. If one is, an empty
//! file takes the report's name first. Either the report was first, or every later one is refused, and the
//! coordinator never waits for a worker that was stopped half-way. Refuses reports for attempts that are
//! closed, were never opened, or carry another token.

mod inbox;
mod slots;
mod token;

use crate::atomic::{self, sync_folder};
use crate::error::{IoContext, SessionError};
use crate::paths::{INBOX, SessionPaths};
use crate::session::SessionDir;
use crate::worker_file::remove_any;
use slots::{Number, Slots};
use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Seek};
use std::os::unix::fs::MetadataExt;
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
    /// Durable: the coordinator finds it, even after a crash.
    Accepted,
    Refused(ReportRefusal),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReportRefusal {
    /// The attempt is over, or was never open.
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

/// What closing an attempt found.
#[derive(PartialEq, Eq, Debug)]
#[must_use]
pub struct ClosedAttempt {
    /// The report that arrived before the closing.
    pub report: Option<Vec<u8>>,
    late_reporter: LateReporter,
}

/// Whether a reporter was active while the attempt was closed. If so, the name that it is about to use stays
/// occupied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LateReporter {
    None,
    Possible,
}

/// The coordinator's side.
#[derive(Debug)]
pub struct Attempts {
    paths: SessionPaths,
    /// Known once an attempt was opened.
    unclaimed_reports: Option<BTreeSet<String>>,
    slots: Slots,
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
    let (mut open, path) = match attempts.open_token_file(task, attempt, token)? {
        Ok(open) => open,
        Err(refusal) => return refused(refusal),
    };
    let Some(number) = token.slot() else {
        return refused(ReportRefusal::NotOpen);
    };
    let report = attempts.paths.submitted_report(number, task, attempt);
    for name in [&attempts.paths.report_file(task, attempt), &report] {
        if let Some(refusal) = refusal_for_existing(name)? {
            return refused(refusal);
        }
    }
    let draft = atomic::temp_with(&report, json, 0o600)?;
    draft.as_file().sync_all().context("sync", draft.path())?;
    // Shows `close_attempt` that a reporter is active; from here it takes microseconds.
    open.lock_shared().context("lock", &path)?;
    open.rewind().context("read", &path)?;
    let holder = slots::read_record(&mut open, &path)?;
    let is_its_own = holder.is_some_and(|holder| holder.is(&name(task, attempt), token));
    if open.metadata().context("look at", &path)?.nlink() == 0 || !is_its_own {
        return refused(ReportRefusal::NotOpen);
    }
    match fs::hard_link(draft.path(), &report) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            return refused(refusal_for_existing(&report)?.unwrap_or(ReportRefusal::NotOpen));
        }
        Err(error) => return Err(error).context("hand in", &report),
    }
    sync_folder(&attempts.paths.inbox(number))?;
    Ok(SubmitOutcome::Accepted)
}

impl Attempts {
    pub(crate) fn at(paths: SessionPaths) -> Self {
        Self {
            paths,
            unclaimed_reports: None,
            slots: Slots::default(),
        }
    }

    /// Whether the holder of `token` may speak for this attempt, or why not.
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
        let name = name(task, attempt);
        if let Some((mut file, path)) = slots::open_for(&self.paths, token)?
            && slots::read_record(&mut file, &path)?.is_some_and(|holder| holder.is(&name, token))
        {
            return Ok(Ok((file, path)));
        }
        Ok(Err(match self.find(&name)? {
            Some(_) => ReportRefusal::WrongToken,
            None => ReportRefusal::NotOpen,
        }))
    }

    /// The file of an open attempt, of this or another coordinator.
    fn find(&self, attempt: &str) -> Result<Option<(Number, PathBuf)>, SessionError> {
        for number in self.names()?.iter().filter_map(|name| slots::parse_name(name)) {
            let path = self.paths.token_file(number);
            let opened = File::open(&path);
            if opened
                .as_ref()
                .is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
            {
                // A confined worker reads its own only.
                continue;
            }
            let Some(mut file) = if_there(opened, &path)? else {
                continue;
            };
            if slots::read_record(&mut file, &path)?.is_some_and(|holder| holder.attempt == attempt) {
                return Ok(Some((Number(number), path)));
            }
        }
        Ok(None)
    }

    /// Lets the holder of the token report. One small write, not synced: a power cut ends the attempt anyway.
    pub fn open_attempt(&mut self, task: &str, attempt: u32) -> Result<Token, SessionError> {
        let name = name(task, attempt);
        if self.unclaimed_reports()?.contains(&name) {
            return Err(SessionError::UnclaimedReport {
                task: task.to_owned(),
                attempt,
            });
        }
        self.slots.take(&self.paths, name)
    }

    /// Attempts of another coordinator whose reports were not collected. From now on only this coordinator
    /// opens attempts.
    fn unclaimed_reports(&mut self) -> Result<&BTreeSet<String>, SessionError> {
        if self.unclaimed_reports.is_none() {
            self.collect_foreign_reports()?;
            let mut reports = BTreeSet::new();
            for name in self.names()? {
                if slots::parse_name(&name).is_some() || name.starts_with(INBOX) {
                    remove_any(&self.paths.run_folder().join(name));
                } else if let Some(attempt) = name.strip_suffix(".report") {
                    reports.insert(attempt.to_owned());
                }
            }
            self.unclaimed_reports = Some(reports);
        }
        Ok(self
            .unclaimed_reports
            .as_ref()
            .expect("it has just been looked at"))
    }

    /// The report, if there is one. It stays on disk until [`forget`](Self::forget), so that a crash does not
    /// lose it.
    pub fn take_report(&self, task: &str, attempt: u32) -> Result<Option<Vec<u8>>, SessionError> {
        self.take_from(self.number_of(task, attempt)?, task, attempt)
    }

    /// The number of an open attempt's file, of this or another coordinator.
    fn number_of(&self, task: &str, attempt: u32) -> Result<Option<u32>, SessionError> {
        let name = name(task, attempt);
        Ok(match self.slots.number_of(&name) {
            Some(number) => Some(number),
            None => self.find(&name)?.map(|(Number(number), _)| number),
        })
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
        let slot = self.number_of(task, attempt)?;
        // Moves it over, if that has not happened yet.
        let _ = self.take_from(slot, task, attempt)?;
        let report = self.paths.report_file(task, attempt);
        fs::rename(&report, &aside).context("set aside", &report)?;
        if let Some(slot) = slot {
            remove_any(&self.paths.submitted_report(slot, task, attempt));
        }
        Ok(number)
    }

    /// A rejected report and the reason, by its number from 1.
    #[cfg(test)]
    pub(crate) fn rejected(
        &self,
        task: &str,
        attempt: u32,
        number: u32,
    ) -> Result<(Vec<u8>, String), SessionError> {
        let path = self.paths.rejected_report(task, attempt, number);
        let report = fs::read(&path).context("read", &path)?;
        let reason = reason_path(&path);
        Ok((report, fs::read_to_string(&reason).context("read", &reason)?))
    }

    /// Ends an attempt: a report that arrived before is returned, and later ones are refused.
    pub fn close_attempt(&mut self, task: &str, attempt: u32) -> Result<ClosedAttempt, SessionError> {
        let name = name(task, attempt);
        let (number, slot, open, path) = match self.slots.release(&self.paths, &name)? {
            Some((slot, file, path)) => (slot.0, Some(slot), file, path),
            None => match self.find(&name)? {
                Some((Number(number), path)) => {
                    let opened = File::options().read(true).write(true).open(&path);
                    (number, None, opened.context("open", &path)?, path)
                }
                None => {
                    return Ok(ClosedAttempt {
                        report: self.take_report(task, attempt)?,
                        late_reporter: LateReporter::Possible,
                    });
                }
            },
        };
        // A reporter holds the lock, shared, from its last check of the token's file until its report is in
        // place. While this process holds the lock, no reporter is between these steps, and later ones find
        // the token gone.
        if open.try_lock().is_ok() {
            let report = if self.is_empty(number, task, attempt) {
                None
            } else {
                self.take_from(Some(number), task, attempt)?
            };
            slots::invalidate(&open, &path)?;
            open.unlock().context("close", &path)?;
            if let Some(slot) = slot {
                self.slots.reuse(slot, open);
            }
            return Ok(ClosedAttempt {
                report,
                late_reporter: LateReporter::None,
            });
        }
        let report = self.block_name(number, task, attempt)?;
        fs::remove_file(&path).context("remove", &path)?;
        Ok(ClosedAttempt {
            report,
            late_reporter: LateReporter::Possible,
        })
    }

    /// Removes what is left of a closed attempt, once its result is in the journal.
    pub fn forget(&self, task: &str, attempt: u32, closed: &ClosedAttempt) -> Result<(), SessionError> {
        for number in 1..=self.rejections(task, attempt) {
            let path = self.paths.rejected_report(task, attempt, number);
            remove_if_there(&reason_path(&path))?;
            remove_if_there(&path)?;
        }
        let name = self.paths.report_file(task, attempt);
        match (&closed.report, closed.late_reporter) {
            (Some(_), LateReporter::None) => remove_if_there(&name),
            // If empty, it keeps late reporters out; the next `sweep` removes it.
            (Some(_), LateReporter::Possible) => {
                File::create(&name).context("empty", &name)?;
                Ok(())
            }
            (None, _) => Ok(()),
        }
    }

    /// Attempts whose token is still there: the number of its file, the task and the attempt.
    fn open_attempts(&self) -> Result<Vec<(u32, String, u32)>, SessionError> {
        let mut found = Vec::new();
        for number in self.names()?.iter().filter_map(|name| slots::parse_name(name)) {
            let path = self.paths.token_file(number);
            let Some(mut file) = open_if_there(&path)? else {
                continue;
            };
            let holder = slots::read_record(&mut file, &path)?;
            let attempt = holder.as_ref().and_then(|holder| parse_numbered(&holder.attempt));
            found.extend(attempt.map(|(task, attempt)| (number, task.to_owned(), attempt)));
        }
        Ok(found)
    }

    /// After a crash: closes every attempt that is still open and returns all reports that nobody has
    /// forgotten.
    pub fn recover(&mut self) -> Result<Vec<RecoveredReport>, SessionError> {
        for (_, task, attempt) in self.open_attempts()? {
            let _ = self.close_attempt(&task, attempt)?;
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
            let path = self.paths.run_folder().join(name);
            if name.starts_with(INBOX) {
                remove_any(&path);
                continue;
            }
            match remove_if_there(&path) {
                // The name as a worker of an earlier version wrote it.
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

/// The stem of the names of all files of an attempt.
fn name(task: &str, attempt: u32) -> String {
    format!("{task}.{attempt}")
}

fn reason_path(rejected: &Path) -> PathBuf {
    rejected.with_added_extension("reason")
}

/// Who has the report's name: another report, or the closing of the attempt.
fn refusal_for_existing(report: &Path) -> Result<Option<ReportRefusal>, SessionError> {
    match fs::metadata(report) {
        Ok(found) if found.len() == 0 => Ok(Some(ReportRefusal::NotOpen)),
        Ok(_) => Ok(Some(ReportRefusal::AlreadyReported)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).context("look at", report),
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
    if name.starts_with(INBOX) {
        return true;
    }
    let name = name.strip_suffix(".reason").unwrap_or(name);
    let numbered = match name.rsplit_once('.') {
        Some((rest, last))
            if matches!(last, "report" | "result" | "usage") || last.starts_with("rejected-") =>
        {
            rest
        }
        _ => name,
    };
    parse_numbered(numbered).is_some() || slots::parse_name(name).is_some()
}

fn open_if_there(path: &Path) -> Result<Option<File>, SessionError> {
    if_there(File::open(path), path)
}

fn if_there(opened: io::Result<File>, path: &Path) -> Result<Option<File>, SessionError> {
    match opened {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).context("open", path),
    }
}

fn remove_if_there(path: &Path) -> Result<(), SessionError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error).context("remove", path),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
