//! What a worker changed in a folder: found on its host, applied to the coordinator's folder. A host may send anything, so
//! nothing is written through a link or outside of the folder.

use super::write::{append, write_entry};
use super::{Entry, HashCache, Snapshot};
use crate::objects::{ObjectId, ObjectReader};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use wavecrew_session::worker_file::remove_any;

/// What happened to one path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Change {
    Put {
        entry: Entry,
    },
    /// New lines of a file that several workers append to.
    Append {
        id: ObjectId,
    },
    Remove,
}

/// Paths relative to a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes(pub BTreeMap<String, Change>);

impl Changes {
    /// The difference between the files that a worker received and those that it left.
    pub fn between(before: &Snapshot, after: &Snapshot) -> Self {
        let mut changes = BTreeMap::new();
        for (path, entry) in &after.0 {
            if before.0.get(path) != Some(entry) {
                changes.insert(path.clone(), Change::Put { entry: entry.clone() });
            }
        }
        for path in before.0.keys().filter(|path| !after.0.contains_key(*path)) {
            changes.insert(path.clone(), Change::Remove);
        }
        Self(changes)
    }

    /// Applies the changes below `root`. Returns the changes that were not applied: those of paths that
    /// `allowed` refuses.
    pub fn apply(
        &self,
        root: &Path,
        allowed: &dyn Fn(&Path) -> bool,
        objects: &dyn ObjectReader,
        hashes: &mut HashCache,
    ) -> io::Result<Vec<String>> {
        let mut refused = Vec::new();
        // Removals first, the deepest paths first: a file may have become a folder, and the reverse.
        let removals = self
            .0
            .iter()
            .rev()
            .filter(|(_, change)| **change == Change::Remove);
        let rest = self.0.iter().filter(|(_, change)| **change != Change::Remove);
        for (name, change) in removals.chain(rest) {
            let path = root.join(name);
            if !is_inside(name) || !allowed(&path) {
                refused.push(name.clone());
                continue;
            }
            let parent = name.rsplit_once('/').map_or("", |(folder, _)| folder);
            match (is_plain_folder(root, parent), change) {
                (true, Change::Remove) => remove_any(&path),
                (true, Change::Put { entry }) => write_entry(&path, entry, objects, hashes)?,
                (true, Change::Append { id }) => append(&path, &objects.read(id)?)?,
                (false, Change::Remove) => {}
                (false, Change::Put { .. } | Change::Append { .. }) => refused.push(name.clone()),
            }
        }
        Ok(refused)
    }
}

fn is_inside(name: &str) -> bool {
    !name.is_empty()
        && name
            .split('/')
            .all(|part| !matches!(part, "" | "." | ".." | ".git"))
}

/// Whether a folder below `root` can be reached without following a link.
fn is_plain_folder(root: &Path, folder: &str) -> bool {
    if folder.is_empty() {
        return true;
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(root_fd) = openat(CWD, root, flags, Mode::empty()) else {
        return false;
    };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    match openat2(&root_fd, folder, flags, Mode::empty(), resolve) {
        Ok(_) => true,
        // The kernel is older than 5.6, or a filter refuses the system call.
        Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => {
            let mut path = root.to_owned();
            folder.split('/').all(|part| {
                path.push(part);
                path.symlink_metadata().is_ok_and(|found| found.is_dir())
            })
        }
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Selection, scan, write_snapshot};
    use super::*;
    use crate::objects::ObjectCache;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn fill(cache: &ObjectCache, root: &Path, snapshot: &Snapshot) {
        for (path, _, _) in snapshot.file_ids() {
            cache.add(&mut fs::File::open(root.join(path)).unwrap()).unwrap();
        }
    }

    #[test]
    fn a_folder_travels_and_its_changes_come_back() {
        let base = tempfile::tempdir().unwrap();
        let (here, there) = (base.path().join("here"), base.path().join("there"));
        fs::create_dir_all(here.join("a/b")).unwrap();
        fs::write(here.join("a/b/x"), "x").unwrap();
        fs::write(here.join("gone"), "gone").unwrap();
        fs::write(here.join("same"), "same").unwrap();
        symlink("same", here.join("link")).unwrap();
        let cache = ObjectCache::open(&base.path().join("objects")).unwrap();
        let mut hashes = HashCache::default();
        let all = Selection::default();
        let before = scan(&here, &all, &mut hashes).unwrap().snapshot;
        fill(&cache, &here, &before);
        fs::create_dir_all(there.join("old")).unwrap();
        fs::write(there.join("old/file"), "of the last task").unwrap();
        let mut host_hashes = HashCache::default();
        write_snapshot(&there, &before, &[], &cache, &mut host_hashes).unwrap();
        assert_eq!(scan(&there, &all, &mut host_hashes).unwrap().snapshot, before);
        // Changed at once, with the same length: the change must be found.
        fs::write(there.join("a/b/x"), "y").unwrap();
        fs::remove_file(there.join("gone")).unwrap();
        fs::remove_file(there.join("link")).unwrap();
        fs::create_dir(there.join("link")).unwrap();
        fs::write(there.join("link/new"), "new").unwrap();
        let after = scan(&there, &all, &mut host_hashes).unwrap().snapshot;
        fill(&cache, &there, &after);
        let changes = Changes::between(&before, &after);
        assert_eq!(
            changes.0.keys().map(String::as_str).collect::<Vec<_>>(),
            ["a/b/x", "gone", "link", "link/new"]
        );
        let refused = changes.apply(&here, &|_| true, &cache, &mut hashes).unwrap();
        assert!(refused.is_empty(), "{refused:?}");
        assert_eq!(scan(&here, &all, &mut hashes).unwrap().snapshot, after);
    }

    #[test]
    fn nothing_is_written_outside_or_where_it_is_not_allowed() {
        let base = tempfile::tempdir().unwrap();
        let (root, outside) = (base.path().join("root"), base.path().join("outside"));
        fs::create_dir_all(root.join("locked")).unwrap();
        fs::create_dir_all(&outside).unwrap();
        symlink(&outside, root.join("way-out")).unwrap();
        let cache = ObjectCache::open(&base.path().join("objects")).unwrap();
        let id = cache.add(&mut &b"evil"[..]).unwrap();
        let entry = Entry::File {
            id,
            executable: false,
            size: 4,
        };
        let names = [
            "../x",
            "/etc/x",
            "way-out/x",
            ".git/hooks/x",
            "locked/x",
            "a/../../x",
        ];
        let changes = Changes(
            names
                .iter()
                .map(|name| ((*name).to_owned(), Change::Put { entry: entry.clone() }))
                .collect(),
        );
        let allowed = |path: &Path| !path.starts_with(root.join("locked"));
        let refused = changes
            .apply(&root, &allowed, &cache, &mut HashCache::default())
            .unwrap();
        assert_eq!(refused.len(), names.len(), "{refused:?}");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    }
}
