//! One slot of a host, and what stays known about its folders from turn to turn.

use crate::files::{Entry, HashCache, MAPPED_BYTES, Snapshot};
use crate::git;
use crate::objects::{AtHand, ObjectId, ObjectReader};
use crate::path_map::PathMap;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use wavecrew_process::LockAnyway;
use wavecrew_run::sandbox::{Sandbox, SandboxSettings};
use wavecrew_session::FileStamp;

/// Files of a slot that are known to have no paths.
const REMEMBERED: usize = 10_000;

#[derive(Debug)]
pub(super) struct Slot {
    pub number: u32,
    hashes: Mutex<HashCache>,
    /// Files without a path that would have to be replaced, and the paths that were looked for.
    plain: Mutex<(PathMap, HashSet<ObjectId>)>,
    /// The index of each working tree as it was made last, and for which commit.
    indexes: Mutex<HashMap<PathBuf, (String, FileStamp)>>,
    /// The sandbox of the last turn: the next one of the same run uses its mounts and rules again.
    sandbox: Mutex<Option<(SandboxOf, Sandbox)>>,
}

/// What a sandbox is for: its settings, the session, and the project.
pub(super) type SandboxOf = (SandboxSettings, PathBuf, PathBuf);

impl Slot {
    pub fn new(number: u32) -> Self {
        Self {
            number,
            hashes: Mutex::default(),
            plain: Mutex::default(),
            indexes: Mutex::default(),
            sandbox: Mutex::default(),
        }
    }

    /// The sandbox that the last turn left, if it was for the same.
    pub fn take_sandbox(&self, wanted: &SandboxOf) -> Option<Sandbox> {
        let (of, sandbox) = self.sandbox.lock_anyway().take()?;
        (of == *wanted).then_some(sandbox)
    }

    pub fn keep_sandbox(&self, of: SandboxOf, sandbox: Sandbox) {
        *self.sandbox.lock_anyway() = Some((of, sandbox));
    }

    /// Makes the index of a working tree that of its commit, unless it is.
    pub fn reset_index(&self, top: &Path, commit: &str) -> io::Result<()> {
        let version = || {
            let found = git::git_folder(top)?.join("index").metadata().ok()?;
            Some((commit.to_owned(), FileStamp::of(&found)))
        };
        let mut indexes = self.indexes.lock_anyway();
        if version().is_some_and(|now| indexes.get(top) == Some(&now)) {
            return Ok(());
        }
        git::run(top, &["reset", "-q"])?;
        indexes.remove(top);
        indexes.extend(version().map(|now| (top.to_owned(), now)));
        Ok(())
    }

    /// A snapshot with the host's paths in its small text files.
    pub fn with_paths(&self, given: &Snapshot, map: &PathMap, objects: &mut AtHand) -> io::Result<Snapshot> {
        let mut plain = self.plain.lock_anyway();
        if plain.0 != *map || plain.1.len() > REMEMBERED {
            *plain = (map.clone(), HashSet::new());
        }
        let mut mapped = given.clone();
        for entry in mapped.0.values_mut() {
            let Entry::File { id, size, .. } = entry else {
                continue;
            };
            if *size > MAPPED_BYTES || plain.1.contains(id) {
                continue;
            }
            match mapped_text(&objects.read(id)?, map) {
                Some(text) => {
                    *size = text.len() as u64;
                    *id = objects.add(text);
                }
                None => drop(plain.1.insert(id.clone())),
            }
        }
        Ok(mapped)
    }

    /// Hashes of the files in its folders.
    pub fn hashes(&self) -> MutexGuard<'_, HashCache> {
        self.hashes.lock_anyway()
    }
}

/// The text with its paths replaced, if it contains any.
pub(super) fn mapped_text(bytes: &[u8], map: &PathMap) -> Option<Vec<u8>> {
    match map.bytes(bytes) {
        Cow::Owned(mapped) if mapped != bytes && std::str::from_utf8(bytes).is_ok() => Some(mapped),
        Cow::Owned(_) | Cow::Borrowed(_) => None,
    }
}
