//! Brings the work of one worktree to where the person wants it: into the checkout when that is clean, beside it
//! otherwise. Can be cut off anywhere and begun again: what is merged is found merged.

use super::error::TreeError;
use super::git::Git;
use super::merge::{Merge, merge};
use super::names::session_ref;
use super::submodules;
use super::tree::{Worktree, head, ours};
use std::path::Path;

/// What became of the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Landed {
    /// Nothing was changed.
    Nothing,
    Merged {
        /// Where everything that is merged so far ends.
        commit: String,
        into: Target,
    },
}

/// Where merged work goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The branch that is checked out in the project.
    Checkout { branch: String },
    /// A place of the session's own, because the checkout has changes or is on no branch.
    Beside,
}

/// How often a checkout may move while something is merged into it.
const TRIES: usize = 3;

/// Commits what is uncommitted in the tree, and merges its branch.
pub(super) fn land(
    project: &Path,
    session: &str,
    scratch: &Path,
    tree: &Worktree,
    rest: &str,
    merged: &str,
) -> Result<Landed, TreeError> {
    let git = Git::at(project);
    let beside = session_ref(session);
    if !tree.is_there() {
        return Err(TreeError::Gone {
            path: tree.path.clone(),
            branch: tree.branch.clone(),
        });
    }
    tree.tip()?;
    tree.commit_rest(rest)?;
    let tip = tree.tip()?;
    if git.contains(&tree.base, &tip)? {
        return Ok(Landed::Nothing);
    }
    let paths = submodules::changed(&git, &tree.base, &tip)?;
    if !paths.is_empty() {
        return Err(TreeError::Submodules {
            branch: tree.branch.clone(),
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
            return Ok(Landed::Merged { commit: ours, into });
        }
        let commit = match merge(&git, scratch, &ours, &tip, merged)? {
            Merge::Commit(commit) => commit,
            Merge::Conflict { files } => {
                return Err(TreeError::Conflict {
                    branch: tree.branch.clone(),
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
                return Ok(Landed::Merged { commit, into });
            }
            if head(&git)? != ours {
                continue;
            }
        }
        let old = if is_new { String::new() } else { ours };
        git.run(&["update-ref", &beside, &commit, &old])?;
        let into = Target::Beside;
        return Ok(Landed::Merged { commit, into });
    }
    Err(TreeError::Moving {
        branch: tree.branch.clone(),
    })
}

/// Where to merge while nothing of the session lies beside the checkout.
fn checkout(git: &Git) -> Result<Target, TreeError> {
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

/// Whether the checkout can move: no change to a tracked file, nothing half merged. Sessions and untracked files do
/// not count.
fn is_clean(git: &Git) -> Result<bool, TreeError> {
    for half in ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"] {
        if git.commit(half)?.is_some() {
            return Ok(false);
        }
    }
    let ours = ours(git)?;
    let words = [
        "status",
        "--porcelain",
        "--untracked-files=no",
        "--",
        ":(top)",
        &ours,
    ];
    Ok(git.run(&words)?.is_empty())
}
