//! Files of a worker: its prompt, its private files, its result file.

use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use wavecrew_core::engine::MAX_REPORT_BYTES;
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
    let write = || -> io::Result<File> {
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(path)?;
        file.write_all(message.as_bytes())?;
        file.rewind()?;
        Ok(file)
    };
    write().map(OwnedFd::from).context("write", path)
}

/// Reads and removes the result file, if the worker wrote one.
///
/// Fails only if the machine lacks resources, so that no report is lost. Anything else that a worker may create under the
/// name (a folder, a pipe that nobody writes to) is removed and ignored.
pub(super) fn read_result_file(path: &Path) -> Result<Option<String>, SessionError> {
    let read = || -> io::Result<Option<Vec<u8>>> {
        let file = File::options()
            .read(true)
            .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
            .open(path)?;
        if !file.metadata()?.is_file() {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        // One byte more than allowed, so that a report that is too long is recognised.
        file.take(MAX_REPORT_BYTES as u64 + 1).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    };
    let found = match read() {
        Ok(found) => found,
        Err(error) => match Errno::from_io_error(&error) {
            Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::IO) => {
                return Err(error).context("read", path);
            }
            Some(Errno::NOENT) => return Ok(None),
            _ => None,
        },
    };
    remove_any(path);
    let text = String::from_utf8_lossy(&found.unwrap_or_default())
        .trim()
        .to_owned();
    Ok((!text.is_empty()).then_some(text))
}

/// Removes a file or a folder: the next worker may get the same name.
fn remove_any(path: &Path) {
    if fs::remove_file(path).is_err() {
        let _ = fs::remove_dir_all(path);
    }
}
