//! Makes a folder equal to a snapshot: writes what differs, removes the rest.

use super::scan::entry_of;
use super::{Entry, HashCache, Snapshot};
use crate::objects::ObjectReader;
use std::fs::{self, File, FileTimes, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};
use wavecrew_session::worker_file::remove_any;

/// Files get a modification time slightly in the past, so that every later change, however soon, changes the
/// time.
const PAST: Duration = Duration::from_secs(2);
/// Larger files are treated as data, in which no path is replaced.
pub(crate) const MAPPED_BYTES: u64 = 1 << 20;

/// Writes a snapshot to `root`, which holds nothing else afterwards except `kept` names at its top.
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
        if entry_of(&path, hashes).ok().flatten().as_ref() != Some(entry) {
            write_entry(&path, entry, objects, hashes)?;
        }
    }
    Ok(())
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
            let mode = if *executable { 0o755 } else { 0o644 };
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
        .custom_flags(i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0))
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
            Some(path) if folder.is_empty() && kept.contains(&path.as_str()) => {}
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
