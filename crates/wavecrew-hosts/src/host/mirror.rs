//! A copy of a run's folders in a slot of the host: made equal to the coordinator's, and compared with it
//! after the turn.

use super::host_files::{HostFiles, fetch};
use super::repository::{prepare_repository, repository};
use super::slot::Slot;
use super::turn::HostContext;
use crate::files::{Entry, Snapshot, write_snapshot};
use crate::git::GitState;
use crate::objects::{AtHand, StoreError};
use crate::path_map::PathMap;
use crate::task::{Details, Root, RootKind};
use bytes::Bytes;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wavecrew_remote::names::token;
use wavecrew_session::worker_file::{WorkerFile, open_change, remove_any};
use wavecrew_session::{SessionDir, SessionPaths};

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
        let inbox = details.roots.iter().find(|root| root.kind == RootKind::Inbox);
        let inbox = inbox.map(|root| map.path(&root.path)).unwrap_or_default();
        let mut before = Vec::new();
        for (root, snapshot) in details.roots.iter().zip(snapshots) {
            let path = map.path(&root.path);
            let mut wanted = if root.kind.has_paths() {
                slot.with_paths(&snapshot, &map, &mut at_hand)?
            } else {
                Snapshot::clone(&snapshot)
            };
            let keeps_own = root.kind == RootKind::Private && details.facts.turn > 1;
            let own: Vec<String> = if keeps_own { names_in(&path) } else { Vec::new() };
            let mut kept = root.kind.kept().to_vec();
            kept.extend(own.iter().map(String::as_str));
            let emptied = match root.kind {
                RootKind::Session => empty_folders(&path, &inbox, &wanted),
                RootKind::Inbox => {
                    wanted
                        .0
                        .extend(own_folder(details, root).map(|name| (name, Entry::Folder)));
                    Vec::new()
                }
                RootKind::Project | RootKind::Worktree | RootKind::Private => Vec::new(),
            };
            kept.extend(emptied.iter().map(String::as_str));
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

/// Removes what earlier turns left in the folders of `.run`, except in the worker's inbox, which is written later. Mounts of the
/// sandbox stay with the folders and with the files for prompts, so these stay themselves, empty. Returns what stays.
fn empty_folders(session: &Path, inbox: &Path, wanted: &Snapshot) -> Vec<String> {
    let paths = SessionPaths::relative();
    let (run, prompts) = (paths.run_folder(), paths.scratch_folder());
    let mut stays = Vec::new();
    let entries = |folder: &Path| fs::read_dir(session.join(folder)).into_iter().flatten().flatten();
    for folder in entries(&run) {
        if !folder.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let name = run.join(folder.file_name());
        if folder.path() != inbox {
            for entry in entries(&name) {
                let path = name.join(entry.file_name());
                if name == prompts && empty_file(&entry.path()) {
                    stays.push(path);
                } else {
                    remove_any(&entry.path());
                }
            }
        }
        stays.push(name);
    }
    let names = stays
        .into_iter()
        .filter_map(|path| path.to_str().map(str::to_owned));
    names.filter(|name| !wanted.0.contains_key(name)).collect()
}

/// Whether it is a regular file, which is empty now.
fn empty_file(path: &Path) -> bool {
    let found = open_change(path).ok().and_then(WorkerFile::regular);
    found.is_some_and(|file| {
        let alone = file.metadata().is_ok_and(|found| found.nlink() == 1);
        alone && file.set_len(0).is_ok()
    })
}

/// The folder with files for the worker's agent, if it is in its inbox. It is no change that the worker made.
fn own_folder(details: &Details, inbox: &Root) -> Option<String> {
    let name = details.facts.private.strip_prefix(&inbox.path).ok()?.to_str()?;
    (!name.is_empty() && !name.contains('/')).then(|| name.to_owned())
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_earlier_turns_left_goes_and_mounted_places_stay() {
        let base = tempfile::tempdir().unwrap();
        let (session, outside) = (base.path().join("session"), base.path().join("outside"));
        let run = session.join(".run");
        for folder in ["in-1", "in-2/deep", "asks", "scratch"] {
            fs::create_dir_all(run.join(folder)).unwrap();
        }
        fs::create_dir_all(&outside).unwrap();
        for file in [
            outside.join("f"),
            outside.join("g"),
            run.join("in-1/mine"),
            run.join("in-2/deep/other"),
            run.join("asks/question"),
            run.join("scratch/prompt-1"),
            run.join("team.toml"),
        ] {
            fs::write(file, "old").unwrap();
        }
        symlink(outside.join("f"), run.join("scratch/prompt-2")).unwrap();
        fs::hard_link(outside.join("g"), run.join("scratch/prompt-3")).unwrap();
        symlink(&outside, run.join("in-3")).unwrap();
        let before = fs::metadata(run.join("scratch/prompt-1")).unwrap().ino();
        let mut stays = empty_folders(&session, &run.join("in-1"), &Snapshot::default());
        stays.sort();
        let wanted = [
            ".run/asks",
            ".run/in-1",
            ".run/in-2",
            ".run/scratch",
            ".run/scratch/prompt-1",
        ];
        assert_eq!(stays, wanted);
        let names = |folder: &str| names_in(&run.join(folder)).len();
        assert_eq!(
            [names("in-1"), names("in-2"), names("asks"), names("scratch")],
            [1, 0, 0, 1]
        );
        let after = fs::metadata(run.join("scratch/prompt-1")).unwrap();
        assert_eq!((after.ino(), after.len()), (before, 0));
        for file in ["f", "g"] {
            assert_eq!(fs::read_to_string(outside.join(file)).unwrap(), "old");
        }
    }
}
