//! Merges two commits into a third without any checkout of the person's. Changes no branch.

use super::error::TreeError;
use super::git::{Git, GitError};
use std::path::{Path, PathBuf};

/// What came of a merge.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Merge {
    Commit(String),
    Conflict { files: Vec<String> },
}

/// Merges `theirs` into `ours`.
pub(super) fn merge(
    git: &Git,
    scratch: &Path,
    ours: &str,
    theirs: &str,
    message: &str,
) -> Result<Merge, TreeError> {
    if git.contains(theirs, ours)? {
        return Ok(Merge::Commit(theirs.to_owned()));
    }
    if writes_trees(git)? {
        merge_in_memory(git, ours, theirs, message)
    } else {
        merge_in_worktree(git, scratch, ours, theirs, message)
    }
}

/// Whether this git merges without a checkout: from 2.38 on.
fn writes_trees(git: &Git) -> Result<bool, GitError> {
    let version = git.run(&["version"])?;
    let mut numbers = version
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|number| number.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    Ok(version >= (2, 38))
}

fn merge_in_memory(git: &Git, ours: &str, theirs: &str, message: &str) -> Result<Merge, TreeError> {
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
            Ok(Merge::Commit(git.run(&words)?))
        }
        Some(1) => Ok(Merge::Conflict {
            files: parts.map(str::to_owned).collect(),
        }),
        Some(_) | None => Err(GitError::Failed {
            command: words.join(" "),
            said: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        }
        .into()),
    }
}

/// The same with a checkout that is ours and goes again.
pub(super) fn merge_in_worktree(
    git: &Git,
    scratch: &Path,
    ours: &str,
    theirs: &str,
    message: &str,
) -> Result<Merge, TreeError> {
    let place: PathBuf = scratch.join("merging");
    let shown = place.to_string_lossy().into_owned();
    // One that a crash left behind: everything in it can be made again.
    let _ = git.output(&["worktree", "remove", "--force", &shown])?;
    git.run(&["worktree", "prune"])?;
    git.run(&["worktree", "add", "--quiet", "--detach", &shown, ours])?;
    let there = Git::at(&place);
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
        Ok(_) => there.run(&["rev-parse", "HEAD"]).map(Merge::Commit),
        Err(error) => match there.run(&["diff", "--name-only", "--diff-filter=U"]) {
            Ok(files) if !files.is_empty() => Ok(Merge::Conflict {
                files: files.lines().map(str::to_owned).collect(),
            }),
            Ok(_) | Err(_) => Err(error),
        },
    };
    git.run(&["worktree", "remove", "--force", &shown])?;
    Ok(merged?)
}
