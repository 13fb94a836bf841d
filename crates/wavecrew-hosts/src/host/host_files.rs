//! What the slots of a host share: objects on disk, and what is known about them.

use super::repository::repository;
use crate::files::Snapshot;
use crate::git;
use crate::objects::{AtHand, ObjectCache, ObjectId, ObjectReader, ObjectStore, StoreError};
use crate::task::{Details, StdinSource};
use futures_util::future::try_join_all;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use wavecrew_process::LockAnyway;

/// Snapshots that stay in memory.
const LOADED: usize = 64;

#[derive(Debug)]
pub(super) struct HostFiles {
    pub state: PathBuf,
    pub cache: ObjectCache,
    pub store: ObjectStore,
    /// Snapshots all of whose objects are on disk.
    loaded: Mutex<HashMap<ObjectId, Arc<Snapshot>>>,
    /// Commits that are in their repository.
    commits: Mutex<HashSet<(PathBuf, String)>>,
}

impl HostFiles {
    pub fn new(state: PathBuf, cache: ObjectCache, store: ObjectStore) -> Self {
        Self {
            state,
            cache,
            store,
            loaded: Mutex::default(),
            commits: Mutex::default(),
        }
    }

    /// Whether a repository has a commit. Asks git once.
    pub fn has_commit(&self, repository: &Path, commit: &str) -> bool {
        let key = (repository.to_owned(), commit.to_owned());
        let commits = || self.commits.lock_anyway();
        if commits().contains(&key) {
            return true;
        }
        let found = git::has_commit(repository, commit);
        if found {
            commits().insert(key);
        }
        found
    }

    /// Something may be missing on disk.
    pub fn forget(&self) {
        self.loaded.lock_anyway().clear();
        self.commits.lock_anyway().clear();
    }

    /// Fetches the objects of a folder to the host's disk.
    async fn fetch(&self, root: &ObjectId, at_hand: &AtHand) -> Result<Arc<Snapshot>, StoreError> {
        if let Some(known) = self.loaded.lock_anyway().get(root) {
            return Ok(Arc::clone(known));
        }
        let mut folders = vec![root.clone()];
        let mut on_disk = true;
        while !folders.is_empty() {
            on_disk &= !folders.iter().any(|id| at_hand.is_inline(id));
            self.store.fetch(folders.clone(), at_hand).await?;
            let mut below = Vec::new();
            for id in folders {
                below.extend(Snapshot::folders_in(&at_hand.read(&id)?)?);
            }
            folders = below;
        }
        let snapshot = Arc::new(Snapshot::load(root, at_hand)?);
        let ids: Vec<ObjectId> = snapshot.file_ids().map(|(_, id, _)| id.clone()).collect();
        on_disk &= !ids.iter().any(|id| at_hand.is_inline(id));
        self.store.fetch(ids, at_hand).await?;
        if on_disk {
            let mut loaded = self.loaded.lock_anyway();
            if loaded.len() >= LOADED {
                loaded.clear();
            }
            loaded.insert(root.clone(), Arc::clone(&snapshot));
        }
        Ok(snapshot)
    }
}

/// Fetches the objects of a turn to the host's disk.
pub(super) async fn fetch(
    files: &HostFiles,
    details: &Details,
    at_hand: &AtHand,
) -> Result<Vec<Arc<Snapshot>>, StoreError> {
    let roots = details
        .roots
        .iter()
        .map(|root| files.fetch(&root.snapshot, at_hand));
    let snapshots = try_join_all(roots).await?;
    if let StdinSource::Object { id } = &details.stdin {
        files.store.fetch(vec![id.clone()], at_hand).await?;
    }
    if let Some(git) = &details.git {
        let repository = repository(files, details);
        if git
            .commit
            .as_ref()
            .is_some_and(|commit| !files.has_commit(&repository, commit))
        {
            let bundles = git.bundles.iter().map(|(id, _)| id.clone()).collect();
            files.store.fetch(bundles, at_hand).await?;
        }
    }
    Ok(snapshots)
}
