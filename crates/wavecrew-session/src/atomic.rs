//! Whole files that are either old or new, never half. Refuses to write in place.

use crate::error::{IoContext, SessionError};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use tempfile::NamedTempFile;

/// The prefix of unfinished files; they are removed when a session is opened for writing.
pub(crate) const TEMP_PREFIX: &str = ".tmp-";

/// The mode of files that only the user may read: sessions contain prompts, code and what agents print.
pub(crate) const PRIVATE: u32 = 0o600;
/// The mode of files in the project, which the umask narrows.
const SHARED: u32 = 0o666;

/// Replaces `path` durably: after this returns the new content survives a power cut. Only the user may read it.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), SessionError> {
    write_with(path, bytes, PRIVATE)
}

/// The same for a file of the project, which others may read like any other.
pub fn write_shared(path: &Path, bytes: &[u8]) -> Result<(), SessionError> {
    write_with(path, bytes, SHARED)
}

fn write_with(path: &Path, bytes: &[u8], mode: u32) -> Result<(), SessionError> {
    let temp = temp_with(path, bytes, mode)?;
    temp.as_file().sync_all().context("sync", temp.path())?;
    persist(temp, path)?;
    sync_folder(folder_of(path))
}

/// Replaces `path` so that readers never see half of it, without waiting for the disk. Only the user may read it.
pub fn write_volatile(path: &Path, bytes: &[u8]) -> Result<(), SessionError> {
    persist(temp_with(path, bytes, PRIVATE)?, path)
}

/// Makes names created, renamed or removed in `folder` durable.
pub fn sync_folder(folder: &Path) -> Result<(), SessionError> {
    File::open(folder)
        .context("open", folder)?
        .sync_all()
        .context("sync", folder)
}

/// What is left to read in an open file.
pub(crate) fn read_all(file: &mut File, path: &Path) -> Result<Vec<u8>, SessionError> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).context("read", path)?;
    Ok(bytes)
}

/// A temporary file beside `path` that holds `bytes`, not yet synced. The mode is narrowed by the umask.
pub(crate) fn temp_with(path: &Path, bytes: &[u8], mode: u32) -> Result<NamedTempFile, SessionError> {
    let folder = folder_of(path);
    // Opened directly, because the library's function hides the system's error number.
    let mut options = File::options();
    options.write(true).create_new(true).mode(mode);
    let mut temp = tempfile::Builder::new()
        .prefix(TEMP_PREFIX)
        .make_in(folder, |path| options.open(path))
        .context("create a file in", folder)?;
    temp.as_file_mut().write_all(bytes).context("write", path)?;
    Ok(temp)
}

pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn persist(temp: NamedTempFile, path: &Path) -> Result<(), SessionError> {
    temp.persist(path)
        .map_err(|error| error.error)
        .context("replace", path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn replaces_the_whole_file_and_leaves_nothing_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.json");
        write(&path, b"a longer first version").unwrap();
        write(&path, b"second").unwrap();
        write_volatile(&path, b"third").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"third");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn others_may_read_only_what_is_shared() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        write(&path("private"), b"x").unwrap();
        write_volatile(&path("volatile"), b"x").unwrap();
        write_shared(&path("shared"), b"x").unwrap();
        fs::write(path("plain"), b"x").unwrap();
        let mode = |name: &str| fs::metadata(path(name)).unwrap().permissions().mode();
        assert_eq!(mode("private") & 0o777, 0o600);
        assert_eq!(mode("volatile") & 0o777, 0o600);
        assert_eq!(
            mode("shared"),
            mode("plain"),
            "like any file that the user creates"
        );
    }

    #[test]
    fn a_missing_folder_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let error = write(&dir.path().join("gone/a"), b"x").unwrap_err();
        assert!(error.to_string().contains("/gone`: No such file"), "{error}");
        assert_eq!(error.errno(), Some(2));
    }
}
