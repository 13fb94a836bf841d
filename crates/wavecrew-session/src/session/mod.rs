//! The session folder: creates and opens it, and refuses unsuitable folders.

mod id;
mod info;

use crate::atomic::{self, PRIVATE, TEMP_PREFIX, sync_folder};
use crate::bus::MessageBus;
use crate::error::{IoContext, SessionError};
use crate::lock::{Holder, SessionLock};
use crate::paths::{COMMON_FOLDERS, ProjectPaths, SessionPaths};
use crate::shared_state::SharedState;
use crate::wisdom::{Wisdom, WisdomFile};
use crate::{Attempts, DiscoveryBoard, PersonRequests, WorkerQuestions};
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, ErrorKind, Write};
use std::ops::Deref;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

pub use id::session_id;
pub use info::{SESSION_FORMAT, SessionEntry, SessionInfo, SessionState, list_sessions};

/// A session folder that exists and is inside its project. Its files are those of [`SessionPaths`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionDir {
    id: String,
    paths: SessionPaths,
}

impl Deref for SessionDir {
    type Target = SessionPaths;

    fn deref(&self) -> &SessionPaths {
        &self.paths
    }
}

impl SessionDir {
    /// Creates a folder named `id_base`, or `id_base-2`, `-3`, ... if that exists, with `folders` inside.
    pub fn create(root: &Path, id_base: &str, folders: &[&str]) -> Result<Self, SessionError> {
        check_name(id_base)?;
        let parent = ProjectPaths::at(root).sessions_folder();
        make_parent(&parent)?;
        inside_project(root, &parent)?;
        let session = claim(&parent, id_base)?;
        session.make_folders(folders)?;
        for file in WisdomFile::ALL {
            write_new(&session.wisdom().path(file), file.heading())?;
        }
        write_new(&session.discoveries_file(), "")?;
        write_new(&session.messages_file(), "")?;
        write_new(&session.shared_state_file(), "{}\n")?;
        sync_folder(session.path())?;
        sync_folder(&parent)?;
        Ok(session)
    }

    /// Opens an existing session by its id.
    pub fn open(root: &Path, id: &str) -> Result<Self, SessionError> {
        check_name(id)?;
        let folder = ProjectPaths::at(root).sessions_folder();
        let path = folder.join(id);
        if !path.is_dir() {
            return Err(SessionError::NoSuchSession {
                id: id.to_owned(),
                folder,
            });
        }
        inside_project(root, &path)?;
        Ok(Self {
            id: id.to_owned(),
            paths: SessionPaths::at(absolute(&path)?),
        })
    }

    /// Opens the folder that a worker was given in its environment; its id is the folder's name.
    pub fn at(path: &Path) -> Result<Self, SessionError> {
        let path = absolute(path)?;
        match path.file_name().and_then(|name| name.to_str()) {
            Some(id) if path.is_dir() => Ok(Self {
                id: id.to_owned(),
                paths: SessionPaths::at(path),
            }),
            _ => Err(SessionError::malformed(&path, &"it is not a session folder")),
        }
    }

    /// Becomes the session's only writer, after making sure that it can be written at all.
    pub fn lock(&self, holder: &Holder) -> Result<SessionLock, SessionError> {
        drop(atomic::temp_with(&self.path().join("probe"), b"", PRIVATE)?);
        SessionLock::acquire(&self.lock_file(), holder)
    }

    /// Creates the folders that every session has, and these, where they are missing.
    pub fn make_folders(&self, folders: &[&str]) -> Result<(), SessionError> {
        for folder in COMMON_FOLDERS.iter().chain(folders) {
            let path = self.path().join(folder);
            let made = DirBuilder::new().recursive(true).mode(0o700).create(&path);
            made.context("create the folder", &path)?;
        }
        Ok(())
    }

    /// Removes unfinished files of processes that were killed. Only for the holder of the lock, while no worker runs.
    pub fn sweep(&self) -> Result<usize, SessionError> {
        let mut swept = 0;
        for folder in [""].iter().chain(&COMMON_FOLDERS) {
            let folder = self.path().join(folder);
            let entries = match fs::read_dir(&folder) {
                Ok(entries) => entries,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(error).context("list", &folder),
            };
            for entry in entries {
                let entry = entry.context("list", &folder)?;
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                // A folder with such a name is not ours.
                if is_unfinished(&entry.file_name().to_string_lossy()) && !is_folder {
                    fs::remove_file(entry.path()).context("remove", &entry.path())?;
                    swept += 1;
                }
            }
        }
        Ok(swept)
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    /// Absolute.
    pub fn path(&self) -> &Path {
        self.paths.root()
    }

    pub fn board(&self) -> DiscoveryBoard {
        DiscoveryBoard::at(self.discoveries_file())
    }

    pub fn bus(&self) -> MessageBus {
        MessageBus::at(self.messages_file())
    }

    pub fn shared_state(&self) -> SharedState {
        SharedState::at(self.shared_state_file())
    }

    pub fn wisdom(&self) -> Wisdom {
        Wisdom::at(self.wisdom_folder())
    }

    pub fn worker_questions(&self) -> WorkerQuestions {
        WorkerQuestions::in_folder(self.worker_questions_folder())
    }

    pub fn person_requests(&self) -> PersonRequests {
        PersonRequests::in_folder(self.person_requests_folder())
    }

    pub fn attempts(&self) -> Attempts {
        Attempts::at(self.paths.clone())
    }
}

/// The parent appears together with its `.gitignore`, so that a missing `.gitignore` means that a person
/// removed it.
fn make_parent(parent: &Path) -> Result<(), SessionError> {
    if parent.is_dir() {
        return Ok(());
    }
    let above = atomic::folder_of(parent);
    fs::create_dir_all(above).context("create the folder", above)?;
    match put_parent(above, parent) {
        Ok(()) => sync_folder(above),
        // Another process was faster, and may have removed our draft as an abandoned one.
        Err(_) if parent.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

fn put_parent(above: &Path, parent: &Path) -> Result<(), SessionError> {
    let draft = tempfile::Builder::new()
        .prefix(TEMP_PREFIX)
        .permissions(Permissions::from_mode(0o777))
        .tempdir_in(above)
        .context("create a folder in", above)?;
    write_new(&draft.path().join(".gitignore"), "*\n")?;
    fs::rename(draft.path(), parent).context("create the folder", parent)?;
    // Drafts of runs that were killed before this step. From now on no new ones appear.
    for entry in fs::read_dir(above).context("list", above)? {
        let entry = entry.context("list", above)?;
        if entry.file_name().to_string_lossy().starts_with(TEMP_PREFIX) {
            // A leftover draft is no reason to fail a run.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

fn claim(parent: &Path, id_base: &str) -> Result<SessionDir, SessionError> {
    let mut number = 1;
    loop {
        let id = if number == 1 {
            id_base.to_owned()
        } else {
            format!("{id_base}-{number}")
        };
        let path = parent.join(&id);
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => {
                return Ok(SessionDir {
                    id,
                    paths: SessionPaths::at(absolute(&path)?),
                });
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error).context("create the folder", &path),
        }
    }
}

fn inside_project(root: &Path, path: &Path) -> Result<(), SessionError> {
    let root = root.canonicalize().context("find", root)?;
    let target = path.canonicalize().context("find", path)?;
    if target.starts_with(&root) {
        return Ok(());
    }
    Err(SessionError::OutsideProject {
        path: path.to_owned(),
        target,
    })
}

/// An id is one component of a path, whatever a person types.
fn check_name(id: &str) -> Result<(), SessionError> {
    let reason = if id.is_empty() {
        "it is empty"
    } else if id.starts_with(['.', '-']) {
        "it starts with `.` or `-`"
    } else if id.contains(|c: char| c == '/' || c == '\\' || c.is_control()) {
        "it contains a character that cannot be part of a folder's name"
    } else {
        return Ok(());
    };
    Err(SessionError::BadName {
        what: "a session",
        value: id.to_owned(),
        reason: reason.to_owned(),
    })
}

/// Names of files that exist only during a write or a wave.
fn is_unfinished(name: &str) -> bool {
    let wave = name
        .strip_prefix("wave-")
        .and_then(|rest| rest.strip_suffix(".csv"));
    name.starts_with(TEMP_PREFIX)
        || wave.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

fn write_new(path: &Path, text: &str) -> Result<(), SessionError> {
    let mut file = File::options();
    let file = file.write(true).create(true).truncate(true).mode(PRIVATE);
    let mut file = file.open(path).context("create", path)?;
    file.write_all(text.as_bytes()).context("write", path)
}

fn absolute(path: &Path) -> Result<PathBuf, SessionError> {
    let found: io::Result<PathBuf> = path.canonicalize();
    found.context("find", path)
}

#[cfg(test)]
mod tests;
