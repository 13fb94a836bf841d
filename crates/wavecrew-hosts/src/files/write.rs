//! Makes a folder equal to a snapshot: writes what differs, removes the rest.

use super::scan::entry_of;
use super::{Entry, HashCache, Snapshot};
use crate::objects::ObjectReader;
use rustix::fs::OFlags;
use std::fs::{self, File, FileTimes, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};
use wavecrew_session::worker_file::remove_any;

/// Files get a modification time slightly in the past, so that every later change, however soon, changes the
/// time.
const PAST: Duration = Duration::from_secs(2);
/// Larger files are treated as data, in which no path is replaced.
pub(crate) const MAPPED_BYTES: u64 = 1 << 20;
/// The mode of a file that is not executable.
const PLAIN: u32 = 0o644;

/// Writes a snapshot to `root`, which holds nothing else afterwards except the `kept` paths. Nobody else uses it meanwhile.
pub fn write_snapshot(
    root: &Path,
    wanted: &Snapshot,
    kept: &[&str],
    objects: &dyn ObjectReader,
    hashes: &mut HashCache,
) -> io::Result<()> {
    fs::create_dir_all(root)?;
    remove_surplus(root, "", wanted, kept)?;
    for (name, entry) in &wanted.0 {
        let path = root.join(name);
        if entry_of(&path, hashes).ok().flatten().as_ref() != Some(entry)
            && !rewrite(&path, entry, objects, hashes)?
        {
            write_entry(&path, entry, objects, hashes)?;
        }
    }
    Ok(())
}

/// Writes a small file in place, because mounts of a sandbox stay with the file. Returns whether this was possible.
fn rewrite(
    path: &Path,
    entry: &Entry,
    objects: &dyn ObjectReader,
    hashes: &mut HashCache,
) -> io::Result<bool> {
    let Entry::File {
        id,
        executable: false,
        size: 0..=MAPPED_BYTES,
    } = entry
    else {
        return Ok(false);
    };
    let safe = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = OpenOptions::new()
        .write(true)
        .custom_flags(flags(safe))
        .open(path);
    let Ok(mut file) = opened else { return Ok(false) };
    let found = file.metadata()?;
    // A second name may be that of a file outside.
    if !found.is_file() || found.nlink() != 1 || found.mode() & 0o7777 != PLAIN {
        return Ok(false);
    }
    file.set_len(0)?;
    objects.copy_to(id, &mut file)?;
    set_past(&file)?;
    hashes.note(path, id);
    Ok(true)
}

fn flags(flags: OFlags) -> i32 {
    i32::try_from(flags.bits()).unwrap_or(0)
}

/// Writes one entry and replaces whatever has its name.
pub(super) fn write_entry(
    path: &Path,
    entry: &Entry,
    objects: &dyn ObjectReader,
    hashes: &mut HashCache,
) -> io::Result<()> {
    match entry {
        Entry::Folder => {
            if !path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
                remove_any(path);
                fs::create_dir(path)?;
            }
        }
        Entry::Link { to } => {
            remove_any(path);
            symlink(to, path)?;
        }
        Entry::File { id, executable, .. } => {
            if path.symlink_metadata().is_ok_and(|found| !found.is_file()) {
                remove_any(path);
            }
            let mode = if *executable { 0o755 } else { PLAIN };
            let folder = path.parent().unwrap_or(path);
            let mut draft = tempfile::Builder::new()
                .prefix(".wavecrew-")
                .permissions(fs::Permissions::from_mode(mode))
                .tempfile_in(folder)?;
            objects.copy_to(id, draft.as_file_mut())?;
            draft.as_file_mut().flush()?;
            set_past(draft.as_file())?;
            draft.persist(path).map_err(|error| error.error)?;
            hashes.note(path, id);
        }
    }
    Ok(())
}

/// Appends bytes to a file that other processes append to as well.
pub(super) fn append(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o644)
        .custom_flags(flags(OFlags::NOFOLLOW))
        .open(path)?;
    file.write_all(bytes)
}

fn set_past(file: &File) -> io::Result<()> {
    let time = SystemTime::now()
        .checked_sub(PAST)
        .unwrap_or(SystemTime::UNIX_EPOCH);
    file.set_times(FileTimes::new().set_modified(time))
}

fn remove_surplus(root: &Path, folder: &str, wanted: &Snapshot, kept: &[&str]) -> io::Result<()> {
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let name = entry.file_name();
        let path = name.to_str().map(|name| {
            if folder.is_empty() {
                name.to_owned()
            } else {
                format!("{folder}/{name}")
            }
        });
        match path {
            Some(path) if kept.contains(&path.as_str()) => {}
            Some(path) => match wanted.0.get(&path) {
                Some(Entry::Folder) if entry.file_type()?.is_dir() => {
                    remove_surplus(root, &path, wanted, kept)?;
                }
                Some(Entry::Folder | Entry::Link { .. } | Entry::File { .. }) => {}
                None => remove_any(&entry.path()),
            },
            None => remove_any(&entry.path()),
        }
    }
    Ok(())
}
