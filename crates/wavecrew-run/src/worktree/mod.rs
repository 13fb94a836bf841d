//! Git worktrees: each worker can have its own, on its own branch, and its work is merged.
//!
//! Owns every change that wavecrew makes to a person's repository. Never stashes, never forces, never touches a checkout
//! with changes, and never removes work that is nowhere else.

mod commit;
mod error;
mod git;
mod lifecycle;
mod mark;
mod merge_commits;
mod merge_task;
mod names;
mod session;
mod submodules;
pub(crate) mod tasks;
#[cfg(test)]
mod tests;

pub use commit::{CommitContent, commit_contains};
pub use error::WorktreeError;
pub use git::GitError;
pub use lifecycle::{KeptWorktree, Worktree};
pub use mark::{ProjectMark, RefChange};
pub use merge_task::{Merged, Target};
pub use names::ref_part;
pub use session::{Published, SessionWorktrees};

use serde::{Deserialize, Serialize};

/// Where a worker works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// In the project itself.
    #[default]
    None,
    /// In a git worktree of its own.
    Worktree,
}
