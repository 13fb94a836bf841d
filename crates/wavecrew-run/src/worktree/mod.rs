//! Work in copies of its own: git worktrees on branches of their own, and how what was done there comes together.
//!
//! Owns every change that wavecrew makes to a person's repository. Refuses to stash, to force, to touch a checkout that
//! has changes, and to remove anything that holds work which is nowhere else.

mod commit;
mod error;
mod git;
mod land;
mod merge;
mod names;
mod session;
mod submodules;
#[cfg(test)]
mod tests;
mod tree;

pub use commit::{Holds, commit_holds};
pub use error::TreeError;
pub use git::GitError;
pub use land::{Landed, Target};
pub use names::ref_part;
pub use session::{Published, SessionTrees};
pub use tree::{Kept, Worktree};

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
