//! Errors of the session folder. Each names the file, the operation, and what to do about it.
//!
//! No bare `io::Error` leaves this crate: every one carries its file and its operation.

use crate::lock::Holder;
use rustix::io::Errno;
use std::borrow::Cow;
use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use wavecrew_core::plan::Problem;
use wavecrew_core::team::TeamProblem;

#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error("cannot {operation} `{}`: {source}", path.display())]
    Io {
        operation: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("`{}` is damaged at line {line}: {reason}", path.display())]
    Damaged {
        path: PathBuf,
        line: usize,
        reason: String,
    },
    #[error("`{}` has an event at line {line} that this version does not know: {reason}", path.display())]
    UnknownEvent {
        path: PathBuf,
        line: usize,
        reason: String,
    },
    #[error("`{}` has format {found}, and this version of wavecrew reads up to {known}", path.display())]
    NewerFormat { path: PathBuf, found: u32, known: u32 },
    #[error("`{}` takes no more events since the run failed to {operation} it: {cause}", path.display())]
    Poisoned {
        path: PathBuf,
        operation: &'static str,
        cause: io::Error,
    },
    #[error("the session `{}` is in use{}", session_of(path), by(holder.as_deref()))]
    Locked {
        path: PathBuf,
        holder: Option<Box<Holder>>,
    },
    /// The copy of the session on NATS cannot be written, or now belongs to another coordinator.
    #[error("{message}")]
    Copy { message: String, help: String },
    #[error("the session folder `{}` was deleted or moved during its run", path.display())]
    Gone { path: PathBuf },
    #[error("the journal `{}` was removed or replaced during its run", path.display())]
    JournalGone { path: PathBuf },
    #[error("`{}` stayed locked by another process", path.display())]
    Busy { path: PathBuf },
    #[error("`{}` leads out of the project, to `{}`", path.display(), target.display())]
    OutsideProject { path: PathBuf, target: PathBuf },
    #[error("there is no session `{id}` in `{}`", folder.display())]
    NoSuchSession { id: String, folder: PathBuf },
    #[error("`{}` is not readable: {reason}", path.display())]
    Malformed { path: PathBuf, reason: String },
    #[error("an entry of {size} bytes is too large for `{}`, the limit is {limit}", path.display())]
    TooLarge {
        path: PathBuf,
        size: usize,
        limit: usize,
    },
    #[error("cannot write {what} as JSON: {reason}")]
    NotJson { what: &'static str, reason: String },
    #[error("role `{role}` may not set `{field}`, which belongs to `{owner}`")]
    NotOwner {
        field: String,
        role: String,
        owner: String,
    },
    #[error("the shared state has no field `{field}`")]
    UnknownField { field: String, known: Vec<String> },
    #[error("`{from}` may not write to `{to}`")]
    NotCoordinator { from: String, to: String },
    #[error("attempt {attempt} of task `{task}` still has a report from an earlier run")]
    UnclaimedReport { task: String, attempt: u32 },
    /// The table is not a plan.
    #[error("{}", lines(problems.iter().map(|p| format!("{}:{}: {}", path.display(), p.line, p.message))))]
    InvalidPlan { path: PathBuf, problems: Vec<Problem> },
    #[error("{}", lines(problems.iter().map(ToString::to_string)))]
    InvalidTeam {
        path: PathBuf,
        problems: Vec<TeamProblem>,
    },
    #[error("cannot read the session `{id}`: {}", problems.join("; "))]
    Unreadable {
        id: String,
        folder: PathBuf,
        problems: Vec<String>,
    },
    #[error("`{value}` cannot name {what}: {reason}")]
    BadName {
        what: &'static str,
        value: String,
        reason: String,
    },
}

fn lines(problems: impl Iterator<Item = String>) -> String {
    problems.collect::<Vec<_>>().join("\n")
}

/// The name of the session whose lock this is.
fn session_of(lock: &Path) -> Cow<'_, str> {
    let name = lock.parent().and_then(Path::file_name);
    name.map_or_else(|| lock.to_string_lossy(), OsStr::to_string_lossy)
}

fn by(holder: Option<&Holder>) -> String {
    holder.map_or_else(
        || " by another process".to_owned(),
        |holder| format!(" by {holder}"),
    )
}

impl SessionError {
    /// The system's error number, when the system refused.
    #[cfg(test)]
    pub(crate) fn errno(&self) -> Option<i32> {
        match self {
            Self::Io { source, .. } | Self::Poisoned { cause: source, .. } => source.raw_os_error(),
            _ => None,
        }
    }

    /// What a person can do about it, in one or two sentences.
    pub fn help(&self) -> String {
        match self {
            Self::Io { source, .. } | Self::Poisoned { cause: source, .. } => io_help(source).to_owned(),
            Self::Damaged { path, line, .. } => format!(
                "good lines follow the damaged one, so nothing was cut. Restore the file from a backup, or \
                 keep a copy and give up everything from that line on: \
                 `head -n {} {p} > {p}.cut && mv {p}.cut {p}`, then continue",
                line - 1,
                p = path.display()
            ),
            Self::UnknownEvent { .. } | Self::NewerFormat { .. } => {
                "it was written by a newer wavecrew: continue it with that version, or update this one".into()
            }
            Self::Locked { .. } => {
                "wait for that run, or stop it with `wavecrew cancel`; `wavecrew status` works meanwhile"
                    .into()
            }
            Self::Copy { help, .. } => help.clone(),
            Self::Gone { .. } => "if it was moved, move it back".into(),
            Self::JournalGone { .. } => {
                "continue the session if its journal was restored, or restore it".into()
            }
            Self::Busy { .. } => {
                "try again; if that does not help, look for a stopped process that has the file open".into()
            }
            Self::OutsideProject { .. } => {
                "replace the link by a real folder: sessions are only kept inside their project".into()
            }
            Self::NoSuchSession { .. } => "see `wavecrew list` for the sessions of this project".into(),
            Self::Malformed { .. } => "fix it or restore it from a backup; nothing was changed".into(),
            Self::TooLarge { .. } => "put the bulk into a file and name that file in the entry".into(),
            Self::NotJson { .. } => "give plain JSON values".into(),
            Self::NotOwner { owner, .. } => {
                format!("each field has one owner; tell `{owner}` the value through the coordinator")
            }
            Self::UnknownField { known, .. } if known.is_empty() => "this team shares no state".into(),
            Self::UnknownField { known, .. } => format!("known fields: {}", known.join(", ")),
            Self::NotCoordinator { .. } => {
                "workers send messages only to the coordinator: omit the recipient".into()
            }
            Self::UnclaimedReport { .. } => {
                "continue the session, so that the report is recorded first".into()
            }
            Self::InvalidPlan { .. } => "fix the table, then continue".into(),
            Self::InvalidTeam { .. } => "fix the team file, then continue".into(),
            Self::Unreadable { folder, .. } => format!("check the files in {}", folder.display()),
            Self::BadName { .. } => "use letters, digits, `-`, `_` and `.`".into(),
        }
    }

    /// The message without its further problems.
    pub fn first_line(&self) -> String {
        let message = self.to_string();
        message.lines().next().unwrap_or_default().to_owned()
    }

    pub(crate) fn malformed(path: &Path, reason: &dyn std::fmt::Display) -> Self {
        Self::Malformed {
            path: path.to_owned(),
            reason: reason.to_string(),
        }
    }
}

fn io_help(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            return "the disk or quota is full: free some space, then continue the session";
        }
        ErrorKind::ReadOnlyFilesystem => {
            return "the file system is read-only: mount it for writing or use a project elsewhere";
        }
        ErrorKind::PermissionDenied => {
            return "permission is missing: check owner and mode of the file and of the folders above it";
        }
        ErrorKind::FileTooLarge => {
            return "the file size limit was reached: raise it (`ulimit -f`), then continue the session";
        }
        ErrorKind::NotFound => {
            return "the file or its folder is gone: check that the session folder was not moved or removed";
        }
        _ => {}
    }
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::MFILE | Errno::NFILE) => {
            "too many files are open: raise the limit (`ulimit -n`) or lower the concurrency, then continue"
        }
        Some(Errno::IO) => {
            "the device reported an error: check the disk and the system log before continuing the session"
        }
        _ => "the session stays as it is on disk; fix the cause, then continue it",
    }
}

/// Adds the operation and the file to a system error.
/// Adds the operation and the path to an I/O error.
pub trait IoContext<T> {
    fn context(self, operation: &'static str, path: &Path) -> Result<T, SessionError>;
}

impl<T, E: Into<io::Error>> IoContext<T> for Result<T, E> {
    fn context(self, operation: &'static str, path: &Path) -> Result<T, SessionError> {
        self.map_err(|source| SessionError::Io {
            operation,
            path: path.to_owned(),
            source: source.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn io(errno: Errno) -> SessionError {
        Err::<(), _>(errno)
            .context("write", Path::new("/p/journal.ndjson"))
            .unwrap_err()
    }

    #[test]
    fn each_system_error_gets_its_own_advice() {
        let advised = [
            Errno::NOSPC,
            Errno::ROFS,
            Errno::ACCESS,
            Errno::MFILE,
            Errno::IO,
            Errno::FBIG,
            Errno::NOENT,
        ];
        let mut texts: Vec<String> = advised.iter().map(|errno| io(*errno).help()).collect();
        texts.sort();
        texts.dedup();
        assert_eq!(texts.len(), advised.len());
    }

    #[test]
    fn an_error_names_operation_path_and_number() {
        let error = io(Errno::NOSPC);
        assert_eq!(error.errno(), Some(28));
        assert!(
            error
                .to_string()
                .starts_with("cannot write `/p/journal.ndjson`: No space left"),
            "{error}"
        );
    }
}
