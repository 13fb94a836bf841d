//! A copy of a run's folders in a slot of the host: made equal to the coordinator's, and compared with it
//! after the turn.

use super::host_files::{HostFiles, fetch};
use super::repository::{prepare_repository, repository};
use super::slot::Slot;
use super::turn::HostContext;
use crate::files::{Snapshot, write_snapshot};
use crate::git::GitState;
use crate::objects::{AtHand, StoreError};
use crate::path_map::PathMap;
use crate::task::{Details, Root, RootKind};
use bytes::Bytes;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wavecrew_remote::names::token;
use wavecrew_session::SessionDir;
use wavecrew_session::worker_file::remove_any;

/// A turn's folders, ready for its process.
#[derive(Debug)]
pub(super) struct Mirror {
    pub project: PathBuf,
    pub session: SessionDir,
    /// From the coordinator's paths to the host's.
    pub map: PathMap,
    /// Each folder as the worker receives it.
    pub before: Vec<(Root, Snapshot)>,
    pub git: Option<(GitState, PathBuf)>,
}

/// Makes the folders of a turn, from the objects that came with it, and those in the store.
pub(super) async fn make(
    context: Arc<HostContext>,
    slot: Arc<Slot>,
    details: Arc<Details>,
    objects: Bytes,
) -> Result<Arc<Mirror>, String> {
    let files = Arc::clone(&context.files);
    let made = async {
        let at_hand = AtHand::with(&files.cache, &details.inline, &objects)?;
        let snapshots = fetch(&files, &details, &at_hand).await?;
        let files = Arc::clone(&files);
        let making = tokio::task::spawn_blocking(move || {
            Mirror::make(&files, &slot, &details, &context.program, at_hand, snapshots)
        });
        Ok::<_, StoreError>(making.await.map_err(io::Error::other)??)
    };
    made.await.map(Arc::new).map_err(|error| {
        files.forget();
        error.to_string()
    })
}

/// The folder with everything that one slot of a host keeps for a project of one coordinator.
fn slot_folder(files: &HostFiles, slot: u32, details: &Details) -> PathBuf {
    let name = token(&details.project.to_string_lossy());
    files.state.join("slots").join(slot.to_string()).join(name)
}

impl Mirror {
    /// Makes the folders of a slot equal to the coordinator's. Blocks.
    fn make(
        files: &HostFiles,
        slot: &Slot,
        details: &Details,
        program: &Path,
        mut at_hand: AtHand,
        snapshots: Vec<Arc<Snapshot>>,
    ) -> io::Result<Self> {
        let folder = slot_folder(files, slot.number, details);
        let project = folder.join(details.project.file_name().unwrap_or("project".as_ref()));
        let mut pairs = vec![
            (details.project.clone(), project.clone()),
            (details.facts.private.clone(), folder.join("private")),
            (details.program.clone(), program.to_owned()),
        ];
        if !details.session.starts_with(&details.project) {
            let name = details.session.file_name().unwrap_or("session".as_ref());
            pairs.push((details.session.clone(), folder.join("session").join(name)));
        }
        if details.facts.private.starts_with(&details.session) {
            pairs.retain(|(from, _)| *from != details.facts.private);
        }
        let map = PathMap::new(pairs);
        let session = map.path(&details.session);
        remove_other_sessions(&session);
        let mut hashes = slot.hashes();
        let git = match &details.git {
            Some(git) => {
                let top = map.path(&git.top);
                prepare_repository(files, &repository(files, details), &project, &top, git)?;
                Some((git.clone(), top))
            }
            None => None,
        };
        fs::create_dir_all(&project)?;
        let mut before = Vec::new();
        for (root, snapshot) in details.roots.iter().zip(snapshots) {
            let path = map.path(&root.path);
            let wanted = if root.kind.has_paths() {
                slot.with_paths(&snapshot, &map, &mut at_hand)?
            } else {
                Snapshot::clone(&snapshot)
            };
            let keeps_own = root.kind == RootKind::Private && details.facts.turn > 1;
            let own: Vec<String> = if keeps_own { names_in(&path) } else { Vec::new() };
            let mut kept = root.kind.kept().to_vec();
            kept.extend(own.iter().map(String::as_str));
            if root.kind == RootKind::Session {
                // Left from earlier turns: prompts, inboxes.
                remove_any(&path.join(".run"));
            }
            write_snapshot(&path, &wanted, &kept, &at_hand, &mut hashes)?;
            before.push((root.clone(), wanted));
        }
        if let Some((state, top)) = &git
            && let Some(commit) = &state.commit
        {
            slot.reset_index(top, commit)?;
        }
        drop(hashes);
        let session = SessionDir::at(&session).map_err(io::Error::other)?;
        Ok(Self {
            project,
            session,
            map,
            before,
            git,
        })
    }
}

/// A slot mirrors one session at a time.
fn remove_other_sessions(session: &Path) {
    let Some(parent) = session.parent() else { return };
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if entry.path() != session {
            remove_any(&entry.path());
        }
    }
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect()
}
