//! Prepares a turn for a host: scans its folders, sends objects that the store does not have, bundles new
//! commits.

use crate::files::{HashCache, ScanError, Scanned, scan, scan_file};
use crate::git::{self, GitState};
use crate::objects::{Content, INLINE_OBJECT, INLINE_TOTAL, ObjectId, ObjectStore, StoreError};
use crate::task::{Root, RootKind};
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;
use wavecrew_process::LockAnyway;
use wavecrew_run::place::WorkerFacts;
use wavecrew_session::{SessionDir, SessionPaths};

/// How often the folders of one worker are scanned.
const SCAN_TRIES: usize = 5;

#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    #[error(transparent)]
    Scan(#[from] ScanError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{0}")]
    Git(#[from] io::Error),
}

/// The folders of a run, as of the last scan.
#[derive(Debug)]
pub struct RunFiles {
    pub project: PathBuf,
    pub session: SessionDir,
    pub include: Vec<String>,
    hashes: Mutex<HashCache>,
    /// Folders that all workers get, and when their scan began.
    shared: tokio::sync::Mutex<Option<(Instant, Arc<SharedFolders>)>>,
    /// Objects that were sent in an offer. Other turns get them from the store.
    sent_inline: Mutex<HashSet<ObjectId>>,
    /// By repository.
    bundles: Mutex<HashMap<PathBuf, Vec<(ObjectId, String)>>>,
    /// Bundles that are being sent.
    folder: tempfile::TempDir,
}

/// What a host gets with the offer of a turn.
#[derive(Debug)]
pub struct Prepared {
    pub roots: Vec<Root>,
    pub git: Option<GitState>,
    pub inline: Vec<(ObjectId, Vec<u8>)>,
}

/// An object that the store may need: where it is, and its size.
type Needed = (ObjectId, (Content, u64));

#[derive(Debug)]
struct SharedFolders {
    project: Folder,
    session: Folder,
}

/// A folder and its objects.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
    scanned: Scanned,
    id: ObjectId,
    objects: Vec<Needed>,
}

impl Folder {
    fn new(path: &Path, scanned: Scanned) -> Self {
        let (id, trees) = scanned.snapshot.objects();
        let files = scanned.snapshot.file_ids();
        let files = files.map(|(name, id, size)| (id.clone(), (Content::File(path.join(name)), size)));
        let trees = trees.into_iter().map(|(id, bytes)| {
            let size = bytes.len() as u64;
            (id, (Content::Bytes(bytes), size))
        });
        Self {
            objects: files.chain(trees).collect(),
            path: path.to_owned(),
            scanned,
            id,
        }
    }
}

/// The result of a scan for one worker.
struct Looked {
    prepared: Prepared,
    /// For the store.
    objects: Vec<(ObjectId, Content)>,
    /// How many more bytes fit into the offer.
    room: u64,
}

impl RunFiles {
    pub fn new(project: &Path, session: &SessionDir, include: Vec<String>) -> io::Result<Self> {
        Ok(Self {
            project: project.to_owned(),
            session: session.clone(),
            include,
            hashes: Mutex::default(),
            shared: tokio::sync::Mutex::default(),
            sent_inline: Mutex::default(),
            bundles: Mutex::default(),
            folder: tempfile::tempdir()?,
        })
    }

    /// Hashes of the coordinator's files, shared with the code that writes files.
    pub fn hashes(&self) -> MutexGuard<'_, HashCache> {
        self.hashes.lock_anyway()
    }

    /// A file for something that is being moved.
    pub fn temp_file(&self) -> io::Result<tempfile::NamedTempFile> {
        tempfile::NamedTempFile::new_in(self.folder.path())
    }

    /// Scans the folders of a worker and sends new objects, except for those that fit into the offer. Scans again if a file
    /// changes meanwhile, as the table of a run does.
    pub async fn prepare(
        self: &Arc<Self>,
        facts: &WorkerFacts,
        prompt: Option<PathBuf>,
        store: &ObjectStore,
    ) -> Result<Prepared, PrepareError> {
        for _ in 1..SCAN_TRIES {
            let prepared = self.prepare_once(facts, prompt.clone(), store).await;
            if !matches!(prepared, Err(PrepareError::Store(StoreError::Disk(_)))) {
                return prepared;
            }
        }
        self.prepare_once(facts, prompt, store).await
    }

    async fn prepare_once(
        self: &Arc<Self>,
        facts: &WorkerFacts,
        prompt: Option<PathBuf>,
        store: &ObjectStore,
    ) -> Result<Prepared, PrepareError> {
        store.load_known().await?;
        let shared = self.shared_folders().await?;
        let (files, facts, known) = (Arc::clone(self), facts.clone(), store.clone());
        let looked =
            tokio::task::spawn_blocking(move || files.look(&facts, prompt.as_deref(), &shared, &known))
                .await
                .map_err(io::Error::other)??;
        store.put(looked.objects).await?;
        Ok(looked.prepared)
    }

    /// The folders that all workers get. Workers that start at the same time share one scan.
    async fn shared_folders(self: &Arc<Self>) -> Result<Arc<SharedFolders>, PrepareError> {
        let asked = Instant::now();
        let mut last = self.shared.lock().await;
        if let Some((begun, found)) = &*last
            && *begun >= asked
        {
            return Ok(Arc::clone(found));
        }
        let begun = Instant::now();
        let (files, before) = (Arc::clone(self), last.take().map(|(_, found)| found));
        let found = tokio::task::spawn_blocking(move || files.look_at_shared(before.as_deref()))
            .await
            .map_err(io::Error::other)??;
        let found = Arc::new(found);
        *last = Some((begun, Arc::clone(&found)));
        Ok(found)
    }

    fn look_at_shared(&self, before: Option<&SharedFolders>) -> Result<SharedFolders, PrepareError> {
        let relative = SessionPaths::relative();
        let also = [relative.team_file(), relative.plan_file()];
        let before_project = before.map(|before| &before.project);
        let before_session = before.map(|before| &before.session);
        Ok(SharedFolders {
            project: self.look_at(RootKind::Project, &self.project, &[], before_project)?,
            session: self.look_at(RootKind::Session, self.session.path(), &also, before_session)?,
        })
    }

    fn look_at(
        &self,
        kind: RootKind,
        path: &Path,
        also: &[PathBuf],
        before: Option<&Folder>,
    ) -> Result<Folder, PrepareError> {
        let selection = kind.selection(self.include_of(kind), also);
        let scanned = scan(path, &selection, &mut self.hashes())?;
        Ok(match before {
            Some(before) if before.scanned == scanned => Folder {
                path: before.path.clone(),
                scanned,
                id: before.id.clone(),
                objects: before.objects.clone(),
            },
            Some(_) | None => Folder::new(path, scanned),
        })
    }

    fn include_of(&self, kind: RootKind) -> &[String] {
        match kind {
            RootKind::Project | RootKind::Worktree => &self.include,
            RootKind::Session | RootKind::Inbox | RootKind::Private => &[],
        }
    }

    fn look(
        &self,
        facts: &WorkerFacts,
        prompt: Option<&Path>,
        shared: &SharedFolders,
        store: &ObjectStore,
    ) -> Result<Looked, PrepareError> {
        let mut looked = Looked {
            prepared: Prepared {
                roots: Vec::new(),
                git: None,
                inline: Vec::new(),
            },
            objects: Vec::new(),
            room: INLINE_TOTAL,
        };
        self.add(&mut looked, RootKind::Project, &shared.project, Vec::new(), store)?;
        let relative = SessionPaths::relative();
        let mut also = vec![relative.team_file(), relative.plan_file()];
        let prompt = prompt.and_then(|path| path.strip_prefix(self.session.path()).ok());
        if let Some(prompt) = prompt {
            also.push(prompt.to_owned());
            let mut scanned = shared.session.scanned.clone();
            scan_file(self.session.path(), prompt, &mut self.hashes(), &mut scanned)?;
            let session = Folder::new(self.session.path(), scanned);
            self.add(&mut looked, RootKind::Session, &session, also, store)?;
        } else {
            self.add(&mut looked, RootKind::Session, &shared.session, also, store)?;
        }
        let inbox = self.session.inbox(facts.number);
        let mut own = vec![(RootKind::Inbox, inbox.as_path())];
        own.extend(facts.worktree.as_deref().map(|path| (RootKind::Worktree, path)));
        if !facts.private.starts_with(&inbox) {
            own.push((RootKind::Private, &facts.private));
        }
        for (kind, path) in own {
            let folder = self.look_at(kind, path, &[], None)?;
            self.add(&mut looked, kind, &folder, Vec::new(), store)?;
        }
        let top = facts.worktree.clone().or_else(|| {
            let mut above = self.project.ancestors();
            above
                .find(|folder| folder.join(".git").exists())
                .map(Path::to_owned)
        });
        // A repository above the project is not the worker's.
        let top = top.filter(|top| facts.worktree.is_some() || *top == self.project);
        if let Some(top) = top
            && let Some((commit, branch)) = git::head(&top)
        {
            let bundles = match &commit {
                Some(commit) => self.bundles(&top, commit, &mut looked.objects)?,
                None => Vec::new(),
            };
            looked.prepared.git = Some(GitState {
                top,
                commit,
                branch,
                bundles,
            });
        }
        Ok(looked)
    }

    fn add(
        &self,
        looked: &mut Looked,
        kind: RootKind,
        folder: &Folder,
        also: Vec<PathBuf>,
        store: &ObjectStore,
    ) -> Result<(), PrepareError> {
        let mut sent_inline = self.sent_inline.lock_anyway();
        for (id, (content, size)) in store.missing(&folder.objects) {
            let prepared = &mut looked.prepared;
            if prepared.inline.iter().any(|(known, _)| *known == id) {
                continue;
            }
            if size > INLINE_OBJECT.min(looked.room) || !sent_inline.insert(id.clone()) {
                looked.objects.push((id, content));
                continue;
            }
            let bytes = content.read(&id).map_err(StoreError::Disk)?;
            looked.room -= size;
            prepared.inline.push((id, bytes));
        }
        looked.prepared.roots.push(Root {
            kind,
            path: folder.path.clone(),
            snapshot: folder.id.clone(),
            bytes: folder.scanned.bytes,
            include: self.include_of(kind).to_vec(),
            also,
        });
        Ok(())
    }

    /// The bundles that lead to a commit. The first has the whole history, the others only later commits.
    fn bundles(
        &self,
        top: &Path,
        commit: &str,
        objects: &mut Vec<(ObjectId, Content)>,
    ) -> Result<Vec<(ObjectId, String)>, PrepareError> {
        let repository = git::git_folder(top).map(|git| git::common_folder(&git));
        let repository = repository.unwrap_or_else(|| top.to_owned());
        let repository = repository.canonicalize().unwrap_or(repository);
        let mut all = self.bundles.lock_anyway();
        let known = all.entry(repository).or_default();
        if let Some(at) = known.iter().position(|(_, tip)| tip == commit) {
            return Ok(known[..=at].to_vec());
        }
        let since = known.last().map(|(_, tip)| tip.clone());
        let file = self.folder.path().join(format!("{commit}.bundle"));
        let made = git::bundle(top, &file, commit, since.as_deref());
        if made.is_err() {
            // Nothing is new, or the history was rewritten.
            known.clear();
            git::bundle(top, &file, commit, None)?;
        }
        let id = ObjectId::of_reader(&mut std::fs::File::open(&file)?)?;
        objects.push((id.clone(), Content::File(file)));
        known.push((id, commit.to_owned()));
        Ok(known.clone())
    }
}
