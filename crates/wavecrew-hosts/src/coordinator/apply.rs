//! Copies the results of a worker back from its host: files into the project and the session, commits into
//! the repository.

use super::applied_here::{self, ReturnRecord};
use super::run::Shared;
use crate::files::{Change, Entry};
use crate::git::{self, GitBack};
use crate::objects::{AtHand, ObjectCache, ObjectId, ObjectReader, ObjectStore};
use crate::path_map::PathMap;
use crate::task::{ReturnedChanges, Root, RootKind};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wavecrew_core::view::first_few;
use wavecrew_process::sandbox::Confinement;

/// More paths are not listed in a note.
const LISTED: usize = 5;
/// The name for commits in the list of refused changes.
const COMMITS: &str = "commits";

/// Fetches the results of a turn, with all their objects.
pub(super) async fn fetch_returned(
    store: &ObjectStore,
    id: &ObjectId,
    at_hand: &AtHand,
) -> Result<ReturnedChanges, String> {
    let failed = |error: &dyn std::fmt::Display| error.to_string();
    store
        .fetch(vec![id.clone()], at_hand)
        .await
        .map_err(|error| failed(&error))?;
    let bytes = at_hand.read(id).map_err(|error| failed(&error))?;
    let returned: ReturnedChanges = serde_json::from_slice(&bytes).map_err(|error| failed(&error))?;
    let mut wanted = Vec::new();
    for change in returned.roots.iter().flat_map(|(_, changes)| changes.0.values()) {
        match change {
            Change::Put {
                entry: Entry::File { id, .. },
            }
            | Change::Append { id } => wanted.push(id.clone()),
            Change::Put { .. } | Change::Remove => {}
        }
    }
    wanted.extend(returned.git.iter().map(|git| git.bundle.clone()));
    store
        .fetch(wanted, at_hand)
        .await
        .map_err(|error| failed(&error))?;
    Ok(returned)
}

/// Fetches and applies the results of a turn. Returns notes for the person.
pub(super) async fn return_changes(
    shared: &Arc<Shared>,
    id: ObjectId,
    at_hand: AtHand,
    roots: &[Root],
    map: &PathMap,
    host: &str,
    confinement: Option<Arc<Confinement>>,
) -> Result<Vec<String>, String> {
    let returned = fetch_returned(&shared.store, &id, &at_hand).await;
    let returned =
        returned.map_err(|error| format!("the results from host {host} cannot be read: {error}"))?;
    let turn = AppliedTurn {
        shared: Arc::clone(shared),
        id,
        at_hand,
        roots: roots.to_vec(),
        map: map.clone(),
        host: host.to_owned(),
    };
    tokio::task::spawn_blocking(move || turn.apply(returned, confinement.as_deref()))
        .await
        .map_err(|error| error.to_string())?
        .map_err(|error| format!("the results of the worker cannot be written: {error}"))
}

struct AppliedTurn {
    shared: Arc<Shared>,
    id: ObjectId,
    at_hand: AtHand,
    roots: Vec<Root>,
    map: PathMap,
    host: String,
}

impl AppliedTurn {
    fn apply(
        &self,
        mut returned: ReturnedChanges,
        confinement: Option<&Confinement>,
    ) -> io::Result<Vec<String>> {
        let mut notes = std::mem::take(&mut returned.notes);
        let mut refused = Vec::new();
        let project = self.roots.iter().find(|root| root.kind == RootKind::Project);
        let project = project.map(|root| root.path.clone());
        let mut in_project = false;
        for (path, changes) in &returned.roots {
            let mut roots = self.roots.iter();
            let Some(root) = roots.find(|root| root.path == *path && root.kind.comes_back()) else {
                refused.push(path.display().to_string());
                continue;
            };
            in_project |= root.kind == RootKind::Project;
            let top = self.map.path(&root.path);
            let top = top.canonicalize().unwrap_or(top);
            let allowed = |path: &Path| confinement.is_none_or(|rules| rules.may_write(path));
            let mut hashes = self.shared.files.hashes();
            let left_out = changes.apply(&top, &allowed, &self.at_hand, &mut hashes)?;
            refused.extend(left_out);
        }
        if let Some(back) = &mut returned.git {
            let known = self.roots.iter().any(|root| root.path == back.top);
            in_project |= project.as_ref() == Some(&back.top);
            back.top = self.map.path(&back.top);
            let objects =
                git::git_folder(&back.top).map(|folder| git::common_folder(&folder).join("objects"));
            let may = confinement.is_none_or(|rules| {
                objects.is_some_and(|path| rules.may_write(&path.canonicalize().unwrap_or(path)))
            });
            if known && may {
                notes.extend(take_commits_or_note(&self.shared, back, &self.host)?);
            } else {
                refused.push(COMMITS.to_owned());
            }
        }
        if let Some(project) = project.filter(|_| in_project) {
            let line = ReturnRecord {
                object: self.id.clone(),
                host: self.host.clone(),
                project,
                refused: refused.clone(),
            };
            applied_here::add(&self.shared, &line)?;
        }
        if !refused.is_empty() {
            notes.push(format!(
                "Host {} changed files that the role may not change; not copied back: {}",
                self.host,
                first_few(&refused, LISTED)
            ));
        }
        Ok(notes)
    }
}

/// Applies to this project the changes that a turn made for the coordinator of another machine.
pub(super) fn apply_to_project(
    shared: &Shared,
    mut returned: ReturnedChanges,
    line: &ReturnRecord,
) -> io::Result<Vec<String>> {
    let top = &shared.files.project;
    let allowed = |path: &Path| !line.refused.iter().any(|name| path.ends_with(name));
    for (_, changes) in returned.roots.iter().filter(|(path, _)| *path == line.project) {
        let mut hashes = shared.files.hashes();
        let _ = changes.apply(top, &allowed, &shared.cache, &mut hashes)?;
    }
    match returned.git.as_mut().filter(|back| back.top == line.project) {
        Some(back) if !line.refused.iter().any(|name| name == COMMITS) => {
            back.top.clone_from(top);
            take_commits_or_note(shared, back, &line.host)
        }
        Some(_) | None => Ok(Vec::new()),
    }
}

fn take_commits_or_note(shared: &Shared, back: &GitBack, host: &str) -> io::Result<Vec<String>> {
    match take_commits(back, &shared.cache, &shared.files.temp_file()?) {
        Ok(()) => Ok(Vec::new()),
        Err(error) => Ok(vec![format!("cannot import the commits of host {host}: {error}")]),
    }
}

/// Moves the branch to the worker's commits. If it has moved in the meantime, both are merged.
fn take_commits(back: &GitBack, cache: &ObjectCache, file: &tempfile::NamedTempFile) -> io::Result<()> {
    cache.copy_to(&back.bundle, &mut file.as_file())?;
    let top = back.top.as_path();
    git::unbundle(top, file.path())?;
    let (now, _) = git::head(top).ok_or_else(|| io::Error::other("the repository is gone"))?;
    let target = if now == back.before {
        back.commit.clone()
    } else {
        let ours = now.clone().unwrap_or_default();
        let tree = git::run(top, &["merge-tree", "--write-tree", &ours, &back.commit])?;
        let tree = tree.lines().next().unwrap_or_default().to_owned();
        let message = "Merge the work of another host";
        git::run(
            top,
            &[
                "commit-tree",
                &tree,
                "-p",
                &ours,
                "-p",
                &back.commit,
                "-m",
                message,
            ],
        )?
    };
    let mut args = vec!["update-ref", "HEAD", target.as_str()];
    args.extend(now.as_deref());
    git::run(top, &args)?;
    // The index still has the content of the old commit.
    let paths = match &now {
        Some(now) => git::run(top, &["diff", "--name-only", "-z", now, &target])?,
        None => String::new(),
    };
    let paths: Vec<PathBuf> = paths
        .split('\0')
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
        .collect();
    let texts: Vec<&str> = paths.iter().filter_map(|path| path.to_str()).collect();
    let mut args = vec!["reset", "-q"];
    if texts.len() < 1000 && now.is_some() {
        args.push("--");
        args.extend(texts);
    }
    git::run(top, &args).map(drop)
}
