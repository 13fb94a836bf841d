//! A copy of a run's folders in a slot of the host: made equal to the coordinator's, and compared with it
//! after the turn.

use crate::files::{
    Change, Changes, Entry, HashCache, MAPPED_BYTES, Snapshot, map_paths, scan, write_snapshot,
};
use crate::git::{self, GitBack, GitState};
use crate::objects::{Content, ObjectCache, ObjectId, ObjectReader, ObjectStore, StoreError};
use crate::path_map::PathMap;
use crate::task::{BroughtBack, Details, Root, RootKind, is_shared};
use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use wavecrew_remote::names::token;
use wavecrew_session::SessionDir;
use wavecrew_session::worker_file::remove_any;

/// State that the slots of a host share.
#[derive(Debug)]
pub(super) struct HostFiles {
    pub state: PathBuf,
    pub cache: ObjectCache,
    pub store: ObjectStore,
}

/// The folders of one slot. The hashes of their files are kept from turn to turn.
#[derive(Debug)]
pub(super) struct Slot {
    pub number: u32,
    hashes: Mutex<HashCache>,
}

/// A turn's folders, ready for its process.
#[derive(Debug)]
pub(super) struct Mirror {
    pub project: PathBuf,
    pub session: SessionDir,
    /// From the coordinator's paths to the host's.
    pub map: PathMap,
    /// Each folder as the worker receives it.
    before: Vec<(Root, Snapshot)>,
    git: Option<(GitState, PathBuf)>,
}

impl Slot {
    pub fn new(number: u32) -> Self {
        Self {
            number,
            hashes: Mutex::default(),
        }
    }
}

/// Fetches the objects of a turn to the host's disk.
pub(super) async fn fetch(files: &HostFiles, details: &Details) -> Result<(), StoreError> {
    let HostFiles { cache, store, .. } = files;
    for root in &details.roots {
        let mut folders = vec![root.snapshot.clone()];
        while !folders.is_empty() {
            store.fetch(folders.clone(), cache).await?;
            let mut below = Vec::new();
            for id in folders {
                below.extend(Snapshot::folders_in(&cache.read(&id)?)?);
            }
            folders = below;
        }
        let snapshot = Snapshot::load(&root.snapshot, cache)?;
        let ids = snapshot.file_ids().map(|(_, id, _)| id.clone()).collect();
        store.fetch(ids, cache).await?;
    }
    if let Some(git) = &details.git {
        let repository = repository(files, details);
        if git
            .commit
            .as_ref()
            .is_some_and(|commit| !git::has_commit(&repository, commit))
        {
            let bundles = git.bundles.iter().map(|(id, _)| id.clone()).collect();
            store.fetch(bundles, cache).await?;
        }
    }
    Ok(())
}

/// The folder with everything that one slot of a host keeps for a project of one coordinator.
fn slot_folder(files: &HostFiles, slot: u32, details: &Details) -> PathBuf {
    let name = token(&details.project.to_string_lossy());
    files.state.join("slots").join(slot.to_string()).join(name)
}

/// The commits of a project that this host has received.
fn repository(files: &HostFiles, details: &Details) -> PathBuf {
    let name = token(&details.project.to_string_lossy());
    files.state.join("repositories").join(format!("{name}.git"))
}

impl Mirror {
    /// Makes the folders of a slot equal to the coordinator's. Blocks.
    pub fn make(files: &HostFiles, slot: &Slot, details: &Details, program: &Path) -> io::Result<Self> {
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
        let mut hashes = slot.hashes.lock().unwrap_or_else(PoisonError::into_inner);
        let git = match &details.git {
            Some(git) => {
                let top = map.path(&git.top);
                prepare_repository(&repository(files, details), &project, &top, git, &files.cache)?;
                Some((git.clone(), top))
            }
            None => None,
        };
        fs::create_dir_all(&project)?;
        let mut before = Vec::new();
        for root in &details.roots {
            let path = map.path(&root.path);
            let wanted = Snapshot::load(&root.snapshot, &files.cache)?;
            let keeps_own = root.kind == RootKind::Private && details.facts.turn > 1;
            let own: Vec<String> = if keeps_own { names_in(&path) } else { Vec::new() };
            let mut kept = root.kind.kept().to_vec();
            kept.extend(own.iter().map(String::as_str));
            if root.kind == RootKind::Session {
                // Left from earlier turns: prompts, inboxes.
                remove_any(&path.join(".run"));
            }
            write_snapshot(&path, &wanted, &kept, &files.cache, &mut hashes)?;
            if root.kind.has_paths() {
                map_paths(&path, &wanted, &map, &mut hashes)?;
            }
            let selection = root.kind.selection(&root.include, &root.also);
            let found = scan(&path, &selection, &mut hashes).map_err(io::Error::other)?;
            before.push((root.clone(), found.snapshot));
        }
        if let Some((state, top)) = &git
            && state.commit.is_some()
        {
            git::run(top, &["reset", "-q"])?;
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

    /// The worker's changes, and their objects. Blocks.
    pub fn compare(
        &self,
        files: &HostFiles,
        slot: &Slot,
    ) -> io::Result<(BroughtBack, Vec<(ObjectId, Content)>)> {
        let mut hashes = slot.hashes.lock().unwrap_or_else(PoisonError::into_inner);
        let back = self.map.reversed();
        let mut brought = BroughtBack::default();
        let mut objects = Vec::new();
        for (root, before) in self.before.iter().filter(|(root, _)| root.kind.comes_back()) {
            let path = self.map.path(&root.path);
            let selection = root.kind.selection(&root.include, &root.also);
            let after = scan(&path, &selection, &mut hashes).map_err(io::Error::other)?;
            let mut changes = Changes::between(before, &after.snapshot);
            for (name, change) in &mut changes.0 {
                let Change::Put {
                    entry: Entry::File { id, size, .. },
                } = change
                else {
                    continue;
                };
                let file = path.join(name.as_str());
                if root.kind == RootKind::Session
                    && is_shared(name)
                    && let Some(added) = appended(&file, before.0.get(name.as_str()))?
                {
                    let bytes = back.bytes(&added).into_owned();
                    let id = ObjectId::of_bytes(&bytes);
                    objects.push((id.clone(), Content::Bytes(bytes)));
                    *change = Change::Append { id };
                    continue;
                }
                let mapped = mapped_text(&file, *size, &back)?;
                if let Some(bytes) = mapped {
                    *id = ObjectId::of_bytes(&bytes);
                    *size = bytes.len() as u64;
                    objects.push((id.clone(), Content::Bytes(bytes)));
                } else {
                    objects.push((id.clone(), Content::File(file)));
                }
            }
            if !changes.0.is_empty() {
                brought.roots.push((root.path.clone(), changes));
            }
        }
        if let Some((state, top)) = &self.git
            && let Some((Some(commit), branch)) = git::head(top)
            && Some(&commit) != state.commit.as_ref()
        {
            let folder = files.state.join("bundles");
            fs::create_dir_all(&folder)?;
            let file = folder.join(format!("{commit}-{}.bundle", slot.number));
            git::bundle(top, &file, &commit, state.commit.as_deref())?;
            let bundle = ObjectId::of_reader(&mut fs::File::open(&file)?)?;
            objects.push((bundle.clone(), Content::File(file)));
            brought.git = Some(GitBack {
                top: state.top.clone(),
                branch,
                before: state.commit.clone(),
                commit,
                bundle,
            });
        }
        Ok((brought, objects))
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

/// The bytes appended to a file, if its beginning is unchanged.
fn appended(file: &Path, before: Option<&Entry>) -> io::Result<Option<Vec<u8>>> {
    let bytes = fs::read(file)?;
    let Some(Entry::File { id, size, .. }) = before else {
        return Ok(Some(bytes));
    };
    let length = usize::try_from(*size).unwrap_or(usize::MAX);
    let old = bytes.get(..length).filter(|old| ObjectId::of_bytes(old) == *id);
    Ok(old.map(|_| bytes[length..].to_vec()))
}

/// The text of a small file with the coordinator's paths put back, if it contains paths of the host.
fn mapped_text(file: &Path, size: u64, back: &PathMap) -> io::Result<Option<Vec<u8>>> {
    if size > MAPPED_BYTES {
        return Ok(None);
    }
    let bytes = fs::read(file)?;
    Ok(match back.bytes(&bytes) {
        Cow::Owned(mapped) if mapped != bytes && std::str::from_utf8(&bytes).is_ok() => Some(mapped),
        Cow::Owned(_) | Cow::Borrowed(_) => None,
    })
}

/// Checks out the coordinator's commit and branch in the repository of a slot.
fn prepare_repository(
    shared: &Path,
    project: &Path,
    top: &Path,
    state: &GitState,
    cache: &ObjectCache,
) -> io::Result<()> {
    take_bundles(shared, state, cache)?;
    if !project.join(".git").is_dir() {
        remove_any(&project.join(".git"));
        fs::create_dir_all(project)?;
        git::run(project, &["init", "-q"])?;
        let alternates = project.join(".git/objects/info/alternates");
        fs::write(alternates, format!("{}\n", shared.join("objects").display()))?;
        // As on the coordinator: session folders are not part of anybody's work.
        let exclude = project.join(".git/info/exclude");
        fs::create_dir_all(project.join(".git/info"))?;
        fs::write(exclude, format!("/{}/\n", wavecrew_session::WORKFLOW_FOLDER))?;
    }
    let Some(commit) = &state.commit else {
        return Ok(());
    };
    if top == project {
        if git::head(top) == Some((Some(commit.clone()), state.branch.clone())) {
            return Ok(());
        }
        match &state.branch {
            Some(branch) => {
                git::run(top, &["update-ref", branch, commit])?;
                git::run(top, &["symbolic-ref", "HEAD", branch])?;
            }
            None => drop(git::run(top, &["update-ref", "--no-deref", "HEAD", commit])?),
        }
        return Ok(());
    }
    // A worktree. The project itself is at another commit, so that the branch is free.
    if top.join(".git").exists() && git::head(top) == Some((Some(commit.clone()), state.branch.clone())) {
        return Ok(());
    }
    remove_any(top);
    let _ = git::run(project, &["worktree", "prune"]);
    git::run(project, &["update-ref", "--no-deref", "HEAD", commit])?;
    let path = top.to_string_lossy();
    let branch = state
        .branch
        .as_deref()
        .and_then(|name| name.strip_prefix("refs/heads/"));
    let mut args = vec!["worktree", "add", "-f", "--no-checkout"];
    match branch {
        Some(branch) => args.extend(["-B", branch]),
        None => args.push("--detach"),
    }
    args.extend([path.as_ref(), commit.as_str()]);
    git::run(project, &args).map(drop)
}

/// Imports the commits of bundles that this host does not have.
fn take_bundles(shared: &Path, state: &GitState, cache: &ObjectCache) -> io::Result<()> {
    // One slot at a time: git refuses to write the same pack twice at once.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    if !shared.join("HEAD").exists() {
        fs::create_dir_all(shared)?;
        git::run(shared, &["init", "-q", "--bare"])?;
    }
    if state
        .commit
        .as_ref()
        .is_none_or(|commit| git::has_commit(shared, commit))
    {
        return Ok(());
    }
    for (id, tip) in &state.bundles {
        if git::has_commit(shared, tip) {
            continue;
        }
        let mut file = tempfile::NamedTempFile::new()?;
        cache.copy_to(id, file.as_file_mut())?;
        git::unbundle(shared, file.path())?;
    }
    Ok(())
}

/// Sends the results of a turn.
pub(super) async fn bring_back(
    files: Arc<HostFiles>,
    slot: Arc<Slot>,
    mirror: Arc<Mirror>,
    notes: Vec<String>,
) -> Result<ObjectId, StoreError> {
    let (in_task, slot) = (Arc::clone(&files), slot);
    let compared = tokio::task::spawn_blocking(move || mirror.compare(&in_task, &slot)).await;
    let (mut brought, mut objects) = compared.map_err(io::Error::other)??;
    brought.notes = notes;
    let bytes = serde_json::to_vec(&brought).expect("plain data");
    let id = ObjectId::of_bytes(&bytes);
    objects.push((id.clone(), Content::Bytes(bytes)));
    files.store.put(objects).await?;
    Ok(id)
}
