//! Brings back what a worker left on its host: files into the project and the session, commits into the repository.

use super::run::Shared;
use crate::files::{Change, Entry};
use crate::git::{self, GitBack};
use crate::objects::{ObjectCache, ObjectId, ObjectReader};
use crate::path_map::PathMap;
use crate::task::{BroughtBack, Root};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wavecrew_process::sandbox::Confinement;

/// More paths are not listed in a note.
const LISTED: usize = 5;

/// Fetches and applies what a turn brought back. Returns what the person should know.
pub(super) async fn bring_back(
    shared: &Arc<Shared>,
    id: ObjectId,
    roots: &[Root],
    map: &PathMap,
    host: &str,
    confinement: Option<Arc<Confinement>>,
) -> Result<Vec<String>, String> {
    let (store, cache) = (&shared.store, &shared.cache);
    let failed =
        |error: &dyn std::fmt::Display| format!("the results from host {host} cannot be read: {error}");
    store
        .fetch(vec![id.clone()], cache)
        .await
        .map_err(|error| failed(&error))?;
    let bytes = cache.read(&id).map_err(|error| failed(&error))?;
    let brought: BroughtBack = serde_json::from_slice(&bytes).map_err(|error| failed(&error))?;
    let mut wanted = Vec::new();
    for change in brought.roots.iter().flat_map(|(_, changes)| changes.0.values()) {
        match change {
            Change::Put {
                entry: Entry::File { id, .. },
            }
            | Change::Append { id } => wanted.push(id.clone()),
            Change::Put { .. } | Change::Remove => {}
        }
    }
    wanted.extend(brought.git.iter().map(|git| git.bundle.clone()));
    store.fetch(wanted, cache).await.map_err(|error| failed(&error))?;
    let (shared, roots, host) = (Arc::clone(shared), roots.to_vec(), host.to_owned());
    let map = map.clone();
    tokio::task::spawn_blocking(move || apply(&shared, brought, &roots, &map, &host, confinement.as_deref()))
        .await
        .map_err(|error| error.to_string())?
        .map_err(|error| format!("the results of the worker cannot be written: {error}"))
}

fn apply(
    shared: &Shared,
    mut brought: BroughtBack,
    roots: &[Root],
    map: &PathMap,
    host: &str,
    confinement: Option<&Confinement>,
) -> io::Result<Vec<String>> {
    let mut notes = std::mem::take(&mut brought.notes);
    let mut refused = Vec::new();
    for (path, changes) in &brought.roots {
        let Some(root) = roots
            .iter()
            .find(|root| root.path == *path && root.kind.comes_back())
        else {
            refused.push(path.display().to_string());
            continue;
        };
        let top = map.path(&root.path);
        let top = top.canonicalize().unwrap_or(top);
        let allowed = |path: &Path| confinement.is_none_or(|rules| rules.may_write(path));
        let mut hashes = shared.files.hashes();
        let left_out = changes.apply(&top, &allowed, &shared.cache, &mut hashes)?;
        refused.extend(left_out);
    }
    if let Some(back) = &mut brought.git {
        let known = roots.iter().any(|root| root.path == back.top);
        back.top = map.path(&back.top);
        let objects = git::git_folder(&back.top).map(|folder| git::common_folder(&folder).join("objects"));
        let may = confinement.is_none_or(|rules| {
            objects.is_some_and(|path| rules.may_write(&path.canonicalize().unwrap_or(path)))
        });
        if known && may {
            if let Err(error) = take_commits(back, &shared.cache, &shared.files.temp_file()?) {
                notes.push(format!(
                    "The commits of host {host} could not be taken over: {error}"
                ));
            }
        } else {
            refused.push("commits".to_owned());
        }
    }
    if !refused.is_empty() {
        let more = refused.len().saturating_sub(LISTED);
        let mut text = refused[..refused.len().min(LISTED)].join(", ");
        if more > 0 {
            text += &format!(" and {more} more");
        }
        notes.push(format!(
            "Host {host} changed what the worker may not change; left out: {text}"
        ));
    }
    Ok(notes)
}

/// Moves the branch to what the worker committed. If it has moved in the meantime, both are merged.
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
    // The index still says what the old commit had.
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
