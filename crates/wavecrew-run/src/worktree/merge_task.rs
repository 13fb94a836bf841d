//! Merges the work of one worktree: into the checkout if that is clean, into a ref of the session otherwise. It can be
//! interrupted anywhere and repeated: what is already merged is recognised.

use super::error::WorktreeError;
use super::git::Git;
use super::lifecycle::{Worktree, head, session_folder_excluded};
use super::merge_commits::{CommitMerge, merge_commits};
use super::names::session_ref;
use super::submodules;
use std::path::Path;

/// The result of merging a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    /// Nothing was changed in it.
    Nothing,
    Commit {
        /// Contains everything that is merged so far.
        commit: String,
        into: Target,
    },
}

/// Where merged work goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The branch that is checked out in the project.
    Checkout { branch: String },
    /// A ref of the session, because the checkout has changes or is on no branch.
    Beside,
}

/// How often the checkout may move during a merge.
const TRIES: usize = 3;

/// Commits what is uncommitted in the worktree, and merges its branch.
pub(super) fn merge_worktree(
    project: &Path,
    session: &str,
    scratch: &Path,
    worktree: &Worktree,
    commit_message: &str,
    merge_message: &str,
) -> Result<Merged, WorktreeError> {
    let git = Git::at(project);
    let beside = session_ref(session);
    if !worktree.exists() {
        return Err(WorktreeError::Gone {
            path: worktree.path.clone(),
            branch: worktree.branch.clone(),
        });
    }
    worktree.tip()?;
    worktree.commit_all(commit_message)?;
    let tip = worktree.tip()?;
    if git.contains(&worktree.base, &tip)? {
        return Ok(Merged::Nothing);
    }
    let paths = submodules::changed(&git, &worktree.base, &tip)?;
    if !paths.is_empty() {
        return Err(WorktreeError::Submodules {
            branch: worktree.branch.clone(),
            paths,
        });
    }
    for _ in 0..TRIES {
        let ours = git.commit(&beside)?;
        let (into, ours, is_new) = match ours {
            Some(ours) => (Target::Beside, ours, false),
            None => (checkout(&git)?, head(&git)?, true),
        };
        if git.contains(&ours, &tip)? {
            return Ok(Merged::Commit { commit: ours, into });
        }
        let commit = match merge_commits(&git, scratch, &ours, &tip, merge_message)? {
            CommitMerge::Commit(commit) => commit,
            CommitMerge::Conflict { files } => {
                return Err(WorktreeError::Conflict {
                    branch: worktree.branch.clone(),
                    files,
                });
            }
        };
        if let Target::Checkout { .. } = into {
            // Refuses by itself where a file would be overwritten.
            if git
                .run(&["merge", "--quiet", "--ff-only", "--no-verify", &commit])
                .is_ok()
            {
                return Ok(Merged::Commit { commit, into });
            }
            if head(&git)? != ours {
                continue;
            }
        }
        let old = if is_new { String::new() } else { ours };
        git.run(&["update-ref", &beside, &commit, &old])?;
        let into = Target::Beside;
        return Ok(Merged::Commit { commit, into });
    }
    Err(WorktreeError::Moving {
        branch: worktree.branch.clone(),
    })
}

/// Where to merge while the session has no ref of its own.
fn checkout(git: &Git) -> Result<Target, WorktreeError> {
    let on = git.output(&["symbolic-ref", "--quiet", "HEAD"])?;
    let on = String::from_utf8_lossy(&on.stdout).trim().to_owned();
    let Some(branch) = on.strip_prefix("refs/heads/") else {
        return Ok(Target::Beside);
    };
    Ok(if is_clean(git)? {
        Target::Checkout {
            branch: branch.to_owned(),
        }
    } else {
        Target::Beside
    })
}

/// Whether the checkout can move: no change to a tracked file, no unfinished merge. Sessions and untracked files do not
/// count.
fn is_clean(git: &Git) -> Result<bool, WorktreeError> {
    for unfinished in ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"] {
        if git.commit(unfinished)?.is_some() {
            return Ok(false);
        }
    }
    let excluded = session_folder_excluded(git)?;
    let words = [
        "status",
        "--porcelain",
        "--untracked-files=no",
        "--",
        ":(top)",
        &excluded,
    ];
    Ok(git.run(&words)?.is_empty())
}
