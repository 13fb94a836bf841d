//! Gets a turn ready for a host: looks at its folders, sends what the object store does not have, bundles new commits.

use crate::files::{HashCache, ScanError, scan};
use crate::git::{self, GitState};
use crate::objects::{Content, ObjectId, ObjectStore, StoreError};
use crate::task::{Root, RootKind};
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wavecrew_run::place::WorkerFacts;
use wavecrew_session::{SessionDir, SessionPaths};

#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    #[error(transparent)]
    Scan(#[from] ScanError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{0}")]
    Git(#[from] io::Error),
}

/// The folders of a run, as they were looked at last.
#[derive(Debug)]
pub struct RunFiles {
    pub project: PathBuf,
    pub session: SessionDir,
    pub include: Vec<String>,
    hashes: Mutex<HashCache>,
    /// By repository.
    bundles: Mutex<HashMap<PathBuf, Vec<(ObjectId, String)>>>,
    /// Bundles that are being sent.
    folder: tempfile::TempDir,
}

/// What was found, and what the store needs.
struct Looked {
    roots: Vec<Root>,
    objects: Vec<(ObjectId, Content)>,
    git: Option<GitState>,
}

impl RunFiles {
    pub fn new(project: &Path, session: &SessionDir, include: Vec<String>) -> io::Result<Self> {
        Ok(Self {
            project: project.to_owned(),
            session: session.clone(),
            include,
            hashes: Mutex::default(),
            bundles: Mutex::default(),
            folder: tempfile::tempdir()?,
        })
    }

    /// Hashes of the coordinator's files; shared with whoever writes them.
    pub fn hashes(&self) -> MutexGuard<'_, HashCache> {
        self.hashes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A file for something that is being moved.
    pub fn temp_file(&self) -> io::Result<tempfile::NamedTempFile> {
        tempfile::NamedTempFile::new_in(self.folder.path())
    }

    /// Looks at the folders of a worker and sends what is new.
    pub async fn prepare(
        self: &Arc<Self>,
        facts: &WorkerFacts,
        prompt: Option<PathBuf>,
        store: &ObjectStore,
    ) -> Result<(Vec<Root>, Option<GitState>), PrepareError> {
        let (files, facts) = (Arc::clone(self), facts.clone());
        let looked = tokio::task::spawn_blocking(move || files.look(&facts, prompt.as_deref()))
            .await
            .map_err(io::Error::other)??;
        store.put(looked.objects).await?;
        Ok((looked.roots, looked.git))
    }

    fn look(&self, facts: &WorkerFacts, prompt: Option<&Path>) -> Result<Looked, PrepareError> {
        let mut looked = Looked {
            roots: Vec::new(),
            objects: Vec::new(),
            git: None,
        };
        self.add(&mut looked, RootKind::Project, &self.project, Vec::new())?;
        let relative = SessionPaths::relative();
        let mut also = vec![relative.team_file(), relative.plan_file()];
        let prompt = prompt.and_then(|path| path.strip_prefix(self.session.path()).ok());
        also.extend(prompt.map(Path::to_owned));
        self.add(&mut looked, RootKind::Session, self.session.path(), also)?;
        let inbox = self.session.inbox(facts.number);
        self.add(&mut looked, RootKind::Inbox, &inbox, Vec::new())?;
        if let Some(worktree) = &facts.worktree {
            self.add(&mut looked, RootKind::Worktree, worktree, Vec::new())?;
        }
        if !facts.private.starts_with(&inbox) {
            self.add(&mut looked, RootKind::Private, &facts.private, Vec::new())?;
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
            looked.git = Some(GitState {
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
        path: &Path,
        also: Vec<PathBuf>,
    ) -> Result<(), PrepareError> {
        let include = match kind {
            RootKind::Project | RootKind::Worktree => self.include.clone(),
            RootKind::Session | RootKind::Inbox | RootKind::Private => Vec::new(),
        };
        let scanned = scan(path, &kind.selection(&include, &also), &mut self.hashes())?;
        let (snapshot, trees) = scanned.snapshot.objects();
        let files = scanned.snapshot.file_ids();
        let files = files.map(|(name, id, _)| (id.clone(), Content::File(path.join(name))));
        looked.objects.extend(files);
        looked
            .objects
            .extend(trees.into_iter().map(|(id, bytes)| (id, Content::Bytes(bytes))));
        looked.roots.push(Root {
            kind,
            path: path.to_owned(),
            snapshot,
            bytes: scanned.bytes,
            include,
            also,
        });
        Ok(())
    }

    /// The bundles that lead to a commit. The first has the whole history, the others what came since.
    fn bundles(
        &self,
        top: &Path,
        commit: &str,
        objects: &mut Vec<(ObjectId, Content)>,
    ) -> Result<Vec<(ObjectId, String)>, PrepareError> {
        let repository = git::git_folder(top).map(|git| git::common_folder(&git));
        let repository = repository.unwrap_or_else(|| top.to_owned());
        let repository = repository.canonicalize().unwrap_or(repository);
        let mut all = self.bundles.lock().unwrap_or_else(PoisonError::into_inner);
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
