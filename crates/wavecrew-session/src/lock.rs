//! One writer per session. The lock file names the holder, for the message to a second one.
//!
//! The lock is the kernel's and dies with its process; the text in the file is only for people.

use crate::atomic::{PRIVATE, folder_of};
use crate::error::{IoContext, SessionError};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

/// Who holds a session.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Holder {
    pub pid: u32,
    /// When it took the lock, RFC 3339 in UTC.
    pub since: String,
    pub host: String,
    pub command: String,
}

impl Holder {
    /// This process; the caller passes the time and the command.
    pub fn this_process(since: &str, command: &str) -> Self {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Self {
            pid: std::process::id(),
            since: since.to_owned(),
            host,
            command: command.to_owned(),
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` (process {} on {}, since {})",
            self.command, self.pid, self.host, self.since
        )
    }
}

/// Held as long as this value lives.
#[derive(Debug)]
pub struct SessionLock {
    file: File,
    /// Locked too, in case the lock file is removed.
    _folder: Option<File>,
}

impl SessionLock {
    pub fn acquire(path: &Path, holder: &Holder) -> Result<Self, SessionError> {
        let folder = File::open(folder_of(path)).context("open the folder of", path)?;
        // Some network file systems cannot lock folders.
        let folder = match try_lock_for(&folder, path, Duration::from_millis(100)) {
            Ok(true) => Some(folder),
            Ok(false) => {
                let holder = File::open(path).ok().and_then(|mut file| read_holder(&mut file));
                return Err(SessionError::Locked {
                    path: path.to_owned(),
                    holder: holder.map(Box::new),
                });
            }
            Err(_) => None,
        };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(PRIVATE)
            .open(path)
            .context("open the lock", path)?;
        if !try_lock_for(&file, path, Duration::from_millis(100))? {
            let holder = read_holder(&mut file).map(Box::new);
            return Err(SessionError::Locked {
                path: path.to_owned(),
                holder,
            });
        }
        let mut text = serde_json::to_vec(holder).map_err(|error| SessionError::NotJson {
            what: "the lock's holder",
            reason: error.to_string(),
        })?;
        text.push(b'\n');
        file.set_len(0).context("write", path)?;
        file.write_all(&text).context("write", path)?;
        Ok(Self {
            file,
            _folder: folder,
        })
    }
}

impl Drop for SessionLock {
    fn drop(&mut self) {
        // Only for people who look into the file; the kernel releases the lock itself.
        let _ = self.file.set_len(0);
    }
}

/// Who runs this session right now. Does not block other processes.
pub fn holder(path: &Path) -> Result<Option<Holder>, SessionError> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(holder_of_folder(path)),
        Err(error) => return Err(error).context("open the lock", path),
    };
    match file.try_lock_shared() {
        // It may be another file than the one that was locked.
        Ok(()) => Ok(holder_of_folder(path)),
        Err(TryLockError::WouldBlock) => Ok(Some(read_holder(&mut file).unwrap_or_else(unnamed))),
        Err(TryLockError::Error(error)) => Err(error).context("look at the lock", path),
    }
}

fn holder_of_folder(path: &Path) -> Option<Holder> {
    let tried = File::open(folder_of(path)).map(|folder| folder.try_lock_shared());
    matches!(tried, Ok(Err(TryLockError::WouldBlock))).then(unnamed)
}

/// Tries for a moment, because a process that only checks holds the lock for microseconds.
pub(crate) fn try_lock_for(file: &File, path: &Path, patience: Duration) -> Result<bool, SessionError> {
    let pause = Duration::from_millis(2);
    let mut waited = Duration::ZERO;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) if waited >= patience => return Ok(false),
            Err(TryLockError::WouldBlock) => {
                std::thread::sleep(pause);
                waited += pause;
            }
            Err(TryLockError::Error(error)) => return Err(error).context("lock", path),
        }
    }
}

fn read_holder(file: &mut File) -> Option<Holder> {
    let mut text = Vec::new();
    file.rewind().ok()?;
    file.take(64 * 1024).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

/// The lock is held, and its holder has not written its name yet.
fn unnamed() -> Holder {
    Holder {
        pid: 0,
        since: "just now".into(),
        host: "unknown host".into(),
        command: "wavecrew".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_one_is_told_who_was_first() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".lock");
        let me = Holder::this_process("2026-11-15T10:00:00Z", "wavecrew run a.csv");
        let lock = SessionLock::acquire(&path, &me).unwrap();
        assert_eq!(holder(&path).unwrap(), Some(me.clone()));
        let error = SessionLock::acquire(&path, &me).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("`wavecrew run a.csv` (process "), "{text}");
        assert!(text.ends_with("since 2026-11-15T10:00:00Z)"), "{text}");
        drop(lock);
        assert_eq!(holder(&path).unwrap(), None);
        SessionLock::acquire(&path, &me).unwrap();
    }

    #[test]
    fn a_removed_lock_file_lets_nobody_in() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".lock");
        let me = Holder::this_process("now", "w");
        let lock = SessionLock::acquire(&path, &me).unwrap();
        for replacement in [None, Some("")] {
            std::fs::remove_file(&path).unwrap();
            if let Some(text) = replacement {
                std::fs::write(&path, text).unwrap();
            }
            assert!(holder(&path).unwrap().is_some(), "{replacement:?}");
            let error = SessionLock::acquire(&path, &me).unwrap_err();
            assert!(error.to_string().contains("in use"), "{error}");
            std::fs::write(&path, "").unwrap();
        }
        drop(lock);
        assert_eq!(holder(&path).unwrap(), None);
    }

    #[test]
    fn a_killed_holder_leaves_no_lock_behind() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".lock");
        let dead = Holder {
            pid: 1,
            since: "then".into(),
            host: "here".into(),
            command: "gone, with a longer text".into(),
        };
        std::fs::write(&path, serde_json::to_vec(&dead).unwrap()).unwrap();
        assert_eq!(holder(&path).unwrap(), None);
        let me = Holder::this_process("now", "w");
        let _lock = SessionLock::acquire(&path, &me).unwrap();
        assert_eq!(holder(&path).unwrap(), Some(me));
    }

    #[test]
    fn a_holder_without_a_name_is_still_a_holder() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".lock");
        let file = File::create(&path).unwrap();
        file.lock().unwrap();
        let error = SessionLock::acquire(&path, &Holder::this_process("now", "w")).unwrap_err();
        assert!(
            error.to_string().ends_with("in use by another process"),
            "{error}"
        );
        assert!(holder(&path).unwrap().is_some());
    }
}
