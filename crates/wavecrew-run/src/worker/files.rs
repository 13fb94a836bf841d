//! Files of a worker: its prompt, its private files, its result file.

use rustix::io::Errno;
use std::fs::{self, File};
use std::io::{Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use wavecrew_core::engine::MAX_REPORT_BYTES;
use wavecrew_session::worker_file::{WorkerFile, create, read_limited, remove_any};
use wavecrew_session::{IoContext, SessionError};

/// Writes files that only the user can read: some contain the worker's token.
pub fn write_files(scratch: &Path, files: &[(PathBuf, String)]) -> Result<(), SessionError> {
    if files.is_empty() {
        return Ok(());
    }
    create_private_folder(scratch)?;
    for (path, content) in files {
        let file = File::options()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(path);
        file.and_then(|mut file| file.write_all(content.as_bytes()))
            .context("write", path)?;
    }
    Ok(())
}

/// Creates a folder that only the user can read.
pub(crate) fn create_private_folder(folder: &Path) -> Result<(), SessionError> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.context("create", folder)
}

/// Writes the prompt to a file that is also the worker's stdin: no task has to feed it, and a worker may leave it
/// unread.
pub fn write_prompt(path: &Path, message: &str) -> Result<OwnedFd, SessionError> {
    let mut file = create(path)?;
    let written = file.write_all(message.as_bytes()).and_then(|()| file.rewind());
    written.context("write", path)?;
    Ok(file.into())
}

/// Reads and removes the result file, if the worker wrote one.
///
/// Fails only if the machine lacks resources, so that no report is lost. Anything else that a worker may
/// create under the name (a folder, a pipe without a writer) is removed and ignored.
pub(super) fn read_result_file(path: &Path) -> Result<Option<String>, SessionError> {
    // One byte more than allowed, so that a report that is too long is recognised.
    let found = match read_limited(path, MAX_REPORT_BYTES as u64 + 1) {
        Ok(WorkerFile::Regular((bytes, _))) => Some(bytes),
        Ok(WorkerFile::Nothing) => return Ok(None),
        Ok(WorkerFile::Foreign) => None,
        Err(error) => match Errno::from_io_error(&error) {
            Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::IO) => {
                return Err(error).context("read", path);
            }
            _ => None,
        },
    };
    remove_any(path);
    let text = String::from_utf8_lossy(&found.unwrap_or_default())
        .trim()
        .to_owned();
    Ok((!text.is_empty()).then_some(text))
}
