//! Errors of worktrees, with what to do about them.

use super::git::GitError;
use std::path::PathBuf;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorktreeError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("isolation `worktree` requires a git repository; create one with `git init` and a first commit")]
    NotARepository,
    #[error(
        "isolation `worktree` requires a git repository with at least one commit; create one with `git add` and `git commit`"
    )]
    NoCommit,
    #[error(
        "its worktree `{}` was removed while in use; commits made there are on branch `{branch}`", path.display()
    )]
    Gone { path: PathBuf, branch: String },
    #[error(
        "the work is on {found}, not on branch `{branch}` of its worktree; nothing was merged: \
         see `{}`", path.display()
    )]
    WrongBranch {
        path: PathBuf,
        branch: String,
        /// In words.
        found: String,
    },
    #[error("its worktree `{}` has an unfinished merge: {}", path.display(), files.join(", "))]
    Unfinished { path: PathBuf, files: Vec<String> },
    #[error(
        "the work changes submodules ({}), which cannot be merged automatically; branch `{branch}` and its worktree are kept: \
         push the commits of the submodule, then `git merge {branch}`", paths.join(", ")
    )]
    Submodules { branch: String, paths: Vec<String> },
    #[error(
        "merge conflict in {}; branch `{branch}` is kept: `git merge {branch}`, resolve the conflict, commit",
        files.join(", ")
    )]
    Conflict { branch: String, files: Vec<String> },
    #[error(
        "the checked out branch kept moving during the merge; branch `{branch}` is kept: `git merge {branch}`"
    )]
    Moving { branch: String },
    #[error("the folder `{}` already exists and is not a worktree", path.display())]
    InTheWay { path: PathBuf },
    #[error("the submodule `{path}` could not be checked out in the worktree: {why}")]
    SubmoduleMissing { path: String, why: String },
}
