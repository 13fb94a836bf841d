//! The repositories of a host: one with all commits of a project, and those of slots, which stand where the coordinator's does.

use super::host_files::HostFiles;
use crate::git::{self, GitState};
use crate::objects::ObjectReader;
use crate::task::Details;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use wavecrew_process::LockAnyway;
use wavecrew_remote::names::token;
use wavecrew_session::worker_file::remove_any;

/// The commits of a project that this host has received.
pub(super) fn repository(files: &HostFiles, details: &Details) -> PathBuf {
    let name = token(&details.project.to_string_lossy());
    files.state.join("repositories").join(format!("{name}.git"))
}

/// Checks out the coordinator's commit and branch in the repository of a slot.
pub(super) fn prepare_repository(
    files: &HostFiles,
    shared: &Path,
    project: &Path,
    top: &Path,
    state: &GitState,
) -> io::Result<()> {
    take_bundles(files, shared, state)?;
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
fn take_bundles(files: &HostFiles, shared: &Path, state: &GitState) -> io::Result<()> {
    // One slot at a time: git refuses to write the same pack twice at once.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock_anyway();
    if !shared.join("HEAD").exists() {
        fs::create_dir_all(shared)?;
        git::run(shared, &["init", "-q", "--bare"])?;
    }
    if state
        .commit
        .as_ref()
        .is_none_or(|commit| files.has_commit(shared, commit))
    {
        return Ok(());
    }
    for (id, tip) in &state.bundles {
        if files.has_commit(shared, tip) {
            continue;
        }
        let mut file = tempfile::NamedTempFile::new()?;
        files.cache.copy_to(id, file.as_file_mut())?;
        git::unbundle(shared, file.path())?;
    }
    Ok(())
}
