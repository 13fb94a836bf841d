//! Opens files in places that workers can write. A worker may put anything there under any name: a link to a
//! file of the person, a pipe without a writer, a device, a file of many gigabytes, a folder. None of these
//! may make the coordinator hang, follow a link, overwrite a file or run out of memory. So only regular files
//! are opened, below a folder that the worker cannot replace, and only so much of them is read.

use crate::error::{IoContext, SessionError};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What a name that a worker may have used refers to.
#[derive(Debug)]
pub enum WorkerFile<T> {
    Regular(T),
    Nothing,
    /// Anything else, which wavecrew never creates there.
    Foreign,
}

impl<T> WorkerFile<T> {
    pub fn regular(self) -> Option<T> {
        match self {
            Self::Regular(found) => Some(found),
            Self::Nothing | Self::Foreign => None,
        }
    }
}

/// Opens `path`, whose last `below` components a worker may have made. Never waits, and follows no link among
/// them.
fn open(path: &Path, below: usize, flags: OFlags) -> io::Result<WorkerFile<File>> {
    let folder = path.ancestors().nth(below).unwrap_or(path);
    let name: PathBuf = path.strip_prefix(folder).unwrap_or(path).to_owned();
    let mode = Mode::from_raw_mode(0o600);
    let safe = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let opened = openat(
        CWD,
        folder,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .and_then(|folder| open_beneath(&folder, &name, flags | safe, mode));
    match opened {
        Ok(file) => {
            let file = File::from(file);
            let is_file = file.metadata()?.is_file();
            Ok(if is_file {
                WorkerFile::Regular(file)
            } else {
                WorkerFile::Foreign
            })
        }
        Err(Errno::NOENT) => Ok(WorkerFile::Nothing),
        Err(Errno::LOOP | Errno::XDEV | Errno::ISDIR | Errno::NOTDIR | Errno::NXIO | Errno::NODEV) => {
            Ok(WorkerFile::Foreign)
        }
        Err(error) => Err(error.into()),
    }
}

fn open_beneath(folder: &OwnedFd, name: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let mode_or_none = if flags.contains(OFlags::CREATE) {
        mode
    } else {
        Mode::empty()
    };
    match openat2(folder, name, flags, mode_or_none, resolve) {
        // The kernel is older than 5.6, or a filter refuses the system call: ensures at least that the last
        // component is not a link.
        Err(Errno::NOSYS | Errno::PERM) => openat(folder, name, flags, mode),
        Err(Errno::AGAIN) => openat2(folder, name, flags, mode_or_none, resolve),
        opened => opened,
    }
}

/// Opens a regular file for reading; the worker controls its name, but not its folder.
pub fn open_read(path: &Path) -> io::Result<WorkerFile<File>> {
    open(path, 1, OFlags::RDONLY)
}

/// Opens a regular file for changes in place; the worker controls its name, but not its folder.
pub fn open_change(path: &Path) -> io::Result<WorkerFile<File>> {
    open(path, 1, OFlags::RDWR)
}

/// At most `limit` bytes of a regular file; the flag is set if there are more.
pub fn read_limited(path: &Path, limit: u64) -> io::Result<WorkerFile<(Vec<u8>, bool)>> {
    Ok(match open_read(path)? {
        WorkerFile::Regular(file) => {
            let mut bytes = Vec::new();
            file.take(limit + 1).read_to_end(&mut bytes)?;
            let more = bytes.len() as u64 > limit;
            bytes.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
            WorkerFile::Regular((bytes, more))
        }
        WorkerFile::Nothing => WorkerFile::Nothing,
        WorkerFile::Foreign => WorkerFile::Foreign,
    })
}

/// At most the last `limit` bytes of a regular file; the flag is set if there are more before them.
pub fn read_end(path: &Path, limit: u64) -> io::Result<WorkerFile<(Vec<u8>, bool)>> {
    Ok(match open_read(path)? {
        WorkerFile::Regular(mut file) => {
            let skipped = file.metadata()?.len().saturating_sub(limit);
            file.seek(SeekFrom::Start(skipped))?;
            let mut bytes = Vec::new();
            file.take(limit).read_to_end(&mut bytes)?;
            WorkerFile::Regular((bytes, skipped > 0))
        }
        WorkerFile::Nothing => WorkerFile::Nothing,
        WorkerFile::Foreign => WorkerFile::Foreign,
    })
}

/// A file to append to, created if it is missing. A path that is not a regular file is refused.
pub fn open_append(path: &Path) -> Result<File, SessionError> {
    match open(path, 1, OFlags::RDWR | OFlags::APPEND | OFlags::CREATE).context("open", path)? {
        WorkerFile::Regular(file) => Ok(file),
        WorkerFile::Nothing | WorkerFile::Foreign => Err(not_a_file(path)),
    }
}

/// A file to write from its start, created if it is missing. A previous file that is not regular, or that has
/// a second name, is removed first.
pub fn create(path: &Path) -> Result<File, SessionError> {
    let file = open_own(path)?;
    if file.metadata().context("look at", path)?.len() > 0 {
        file.set_len(0).context("empty", path)?;
    }
    Ok(file)
}

/// The same, with the content of the file.
pub fn open_own(path: &Path) -> Result<File, SessionError> {
    for _ in 0..2 {
        let opened = open(path, 1, OFlags::RDWR | OFlags::CREATE).context("open", path)?;
        match opened {
            WorkerFile::Regular(file) if file.metadata().is_ok_and(|found| found.nlink() == 1) => {
                return Ok(file);
            }
            _ => remove_any(path),
        }
    }
    Err(not_a_file(path))
}

/// Removes whatever has this name, without following it.
pub fn remove_any(path: &Path) {
    if fs::remove_file(path).is_ok() || fs::remove_dir(path).is_ok() {
        return;
    }
    // Tries again: the first time, too many files may have been open.
    if fs::remove_dir_all(path).is_err() {
        let _ = fs::remove_dir_all(path);
    }
}

/// Removes everything in a folder, which stays.
pub(crate) fn clear_folder(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.for_each(|entry| remove_any(&entry.path()));
}

pub(crate) fn not_a_file(path: &Path) -> SessionError {
    SessionError::malformed(path, &"it is not a regular file; something replaced it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// Everything that a worker may put in place of a file.
    fn plant(folder: &Path) -> Vec<PathBuf> {
        fs::write(folder.join("target"), "of the person").unwrap();
        symlink(folder.join("target"), folder.join("link")).unwrap();
        symlink("/dev/zero", folder.join("endless")).unwrap();
        symlink("loop", folder.join("loop")).unwrap();
        fs::create_dir(folder.join("folder")).unwrap();
        let pipe = folder.join("pipe");
        rustix::fs::mknodat(
            CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        drop(std::os::unix::net::UnixListener::bind(folder.join("socket")).unwrap());
        ["link", "endless", "loop", "folder", "pipe", "socket"]
            .map(|name| folder.join(name))
            .to_vec()
    }

    #[test]
    fn nothing_but_regular_files_is_read() {
        let root = tempfile::tempdir().unwrap();
        for path in plant(root.path()) {
            let read = read_limited(&path, 10).unwrap();
            assert!(matches!(read, WorkerFile::Foreign), "{} {read:?}", path.display());
        }
        let target = root.path().join("target");
        let WorkerFile::Regular((bytes, more)) = read_limited(&target, 6).unwrap() else {
            panic!("a regular file");
        };
        assert_eq!((bytes.as_slice(), more), (&b"of the"[..], true));
        assert!(matches!(
            read_limited(&root.path().join("none"), 1).unwrap(),
            WorkerFile::Nothing
        ));
    }

    #[test]
    fn nothing_but_regular_files_is_written() {
        let root = tempfile::tempdir().unwrap();
        for path in plant(root.path()) {
            assert!(open_append(&path).is_err(), "{}", path.display());
            create(&path).unwrap();
            assert!(fs::symlink_metadata(&path).unwrap().is_file());
        }
        let target = root.path().join("target");
        assert_eq!(fs::read_to_string(&target).unwrap(), "of the person");
        let other = root.path().join("other");
        fs::hard_link(&target, &other).unwrap();
        create(&other).unwrap();
        assert_eq!(
            fs::read_to_string(&target).unwrap(),
            "of the person",
            "also not by a second name"
        );
    }

    #[test]
    fn a_folder_in_between_may_not_be_a_link() {
        let root = tempfile::tempdir().unwrap();
        let (place, outside) = (root.path().join("place"), root.path().join("outside"));
        fs::create_dir(&place).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("file"), "x").unwrap();
        symlink(&outside, place.join("sub")).unwrap();
        let path = place.join("sub/file");
        assert!(matches!(
            open(&path, 2, OFlags::RDONLY).unwrap(),
            WorkerFile::Foreign
        ));
    }
}
