//! What can be in the way of work in a worktree, in words that say what to do.

use super::git::GitError;
use std::path::PathBuf;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(
        "isolation `worktree` needs a git repository, and the project folder is in none; make one with `git init` and a commit"
    )]
    NotARepository,
    #[error(
        "isolation `worktree` needs a git repository with a commit, and this one has none yet; make one with `git add` and `git commit`"
    )]
    NoCommit,
    #[error(
        "its worktree `{}` was removed while it was worked in; what was committed there is on branch `{branch}`", path.display()
    )]
    Gone { path: PathBuf, branch: String },
    #[error(
        "the work is on {found} and not on branch `{branch}` of its worktree; nothing was merged: \
         look at it in `{}`", path.display()
    )]
    WrongBranch {
        path: PathBuf,
        branch: String,
        /// In words.
        found: String,
    },
    #[error("a merge in its worktree `{}` was left unfinished: {}", path.display(), files.join(", "))]
    Unfinished { path: PathBuf, files: Vec<String> },
    #[error(
        "the work changes submodules ({}), which cannot be merged here; branch `{branch}` and its worktree are kept: \
         push the commits of the submodule, then `git merge {branch}`", paths.join(", ")
    )]
    Submodules { branch: String, paths: Vec<String> },
    #[error(
        "merge conflict in {}; branch `{branch}` is kept: `git merge {branch}`, settle the conflict, commit",
        files.join(", ")
    )]
    Conflict { branch: String, files: Vec<String> },
    #[error(
        "the branch that is checked out moves all the time; branch `{branch}` is kept: `git merge {branch}`"
    )]
    Moving { branch: String },
    #[error("the folder `{}` is in the way of a worktree", path.display())]
    InTheWay { path: PathBuf },
    #[error("the submodule `{path}` could not be checked out in the worktree: {why}")]
    SubmoduleMissing { path: String, why: String },
}
