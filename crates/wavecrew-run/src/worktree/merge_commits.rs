//! Merges two commits into a third without touching the person's checkout. Changes no branch.

use super::error::WorktreeError;
use super::git::{Git, GitError};
use std::path::{Path, PathBuf};

/// The result of a merge.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CommitMerge {
    Commit(String),
    Conflict { files: Vec<String> },
}

/// Merges `theirs` into `ours`.
pub(super) fn merge_commits(
    git: &Git,
    scratch: &Path,
    ours: &str,
    theirs: &str,
    message: &str,
) -> Result<CommitMerge, WorktreeError> {
    if git.contains(theirs, ours)? {
        return Ok(CommitMerge::Commit(theirs.to_owned()));
    }
    if merges_without_checkout(git)? {
        merge_in_memory(git, ours, theirs, message)
    } else {
        merge_in_worktree(git, scratch, ours, theirs, message)
    }
}

/// Git can merge without a checkout since 2.38.
fn merges_without_checkout(git: &Git) -> Result<bool, GitError> {
    let version = git.run(&["version"])?;
    let mut numbers = version
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|number| number.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    Ok(version >= (2, 38))
}

fn merge_in_memory(git: &Git, ours: &str, theirs: &str, message: &str) -> Result<CommitMerge, WorktreeError> {
    let words = [
        "merge-tree",
        "--write-tree",
        "--name-only",
        "--no-messages",
        "-z",
        ours,
        theirs,
    ];
    let output = git.output(&words)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut parts = text.split('\0').filter(|part| !part.is_empty());
    let tree = parts.next().unwrap_or_default();
    match output.status.code() {
        Some(0) => {
            let mut words = git.identity()?.to_vec();
            words.extend(["commit-tree", tree, "-p", ours, "-p", theirs, "-m", message]);
            Ok(CommitMerge::Commit(git.run(&words)?))
        }
        Some(1) => Ok(CommitMerge::Conflict {
            files: parts.map(str::to_owned).collect(),
        }),
        Some(_) | None => Err(GitError::Failed {
            command: words.join(" "),
            message: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        }
        .into()),
    }
}

/// The same in a temporary worktree.
pub(super) fn merge_in_worktree(
    git: &Git,
    scratch: &Path,
    ours: &str,
    theirs: &str,
    message: &str,
) -> Result<CommitMerge, WorktreeError> {
    let path: PathBuf = scratch.join("merging");
    let shown = path.to_string_lossy().into_owned();
    // One that a crash left behind has nothing of value.
    let _ = git.output(&["worktree", "remove", "--force", &shown])?;
    git.run(&["worktree", "prune"])?;
    git.run(&["worktree", "add", "--quiet", "--detach", &shown, ours])?;
    let there = Git::at(&path);
    let mut words = git.identity()?.to_vec();
    words.extend([
        "merge",
        "--quiet",
        "--no-ff",
        "--no-verify",
        "-m",
        message,
        theirs,
    ]);
    let merged = match there.run(&words) {
        Ok(_) => there.run(&["rev-parse", "HEAD"]).map(CommitMerge::Commit),
        Err(error) => match there.run(&["diff", "--name-only", "--diff-filter=U"]) {
            Ok(files) if !files.is_empty() => Ok(CommitMerge::Conflict {
                files: files.lines().map(str::to_owned).collect(),
            }),
            Ok(_) | Err(_) => Err(error),
        },
    };
    git.run(&["worktree", "remove", "--force", &shown])?;
    Ok(merged?)
}
