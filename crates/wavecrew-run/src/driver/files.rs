//! Files of a worker: its prompt, its private files, the result that it may leave.

use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use wavecrew_core::engine::MAX_REPORT_BYTES;
use wavecrew_session::SessionError;

/// Files that only the user may read: some hold the worker's token.
pub fn write_files(scratch: &Path, files: &[(PathBuf, String)]) -> Result<(), SessionError> {
    if files.is_empty() {
        return Ok(());
    }
    make_private(scratch)?;
    for (path, content) in files {
        let file = File::options()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(path);
        file.and_then(|mut file| file.write_all(content.as_bytes()))
            .map_err(|source| SessionError::Io {
                operation: "write",
                path: path.clone(),
                source,
            })?;
    }
    Ok(())
}

/// A folder that only the user may look into.
pub(super) fn make_private(folder: &Path) -> Result<(), SessionError> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|source| SessionError::Io {
        operation: "create",
        path: folder.to_owned(),
        source,
    })
}

/// The prompt as a file that is also the worker's stdin: nothing has to be pumped, and one that does not read it is
/// no error.
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
    let failed = |source| SessionError::Io {
        operation: "write",
        path: path.to_owned(),
        source,
    };
    write().map(OwnedFd::from).map_err(failed)
}

/// The result file, if the worker wrote one; taken away so that the next turn starts without it.
///
/// A shortage of the machine must not cost a report, and what a worker may make of the name (a folder, a pipe that
/// nobody writes to) must not cost the run.
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
        // One more than is taken, so that too much is noticed.
        file.take(MAX_REPORT_BYTES as u64 + 1).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    };
    let bytes = match read() {
        Ok(Some(bytes)) => bytes,
        Ok(None) => {
            remove_whatever(path);
            return Ok(None);
        }
        Err(error) => match Errno::from_io_error(&error) {
            Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::IO) => {
                return Err(SessionError::Io {
                    operation: "read",
                    path: path.to_owned(),
                    source: error,
                });
            }
            Some(Errno::NOENT) => return Ok(None),
            _ => {
                remove_whatever(path);
                return Ok(None);
            }
        },
    };
    let _ = fs::remove_file(path);
    let text = String::from_utf8_lossy(&bytes).trim().to_owned();
    Ok((!text.is_empty()).then_some(text))
}

/// The next worker may be given the same name.
fn remove_whatever(path: &Path) {
    if fs::remove_file(path).is_err() {
        let _ = fs::remove_dir_all(path);
    }
}
