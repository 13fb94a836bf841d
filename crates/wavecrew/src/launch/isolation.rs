//! Whether workers get their own git worktrees: by the person's choice, else by their roles, if the project
//! is a repository.

use crate::exit::Failure;
use serde_json::Value;
use std::path::Path;
use wavecrew_core::engine::Isolation;
use wavecrew_core::team::{Team, Workspace};
use wavecrew_run::worktree::{Worktree, WorktreeError};
use wavecrew_session::SessionInfo;

/// The field of `session.json` that keeps the person's choice.
const FIELD: &str = "isolation";

#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum IsolationFlag {
    /// In the project
    None,
    /// In a git worktree per worker
    Worktree,
}

impl IsolationFlag {
    fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Worktree => "worktree",
        }
    }
}

/// Keeps the choice with the session, for when it is continued.
pub fn save(info: &mut SessionInfo, flag: Option<IsolationFlag>) {
    if let Some(flag) = flag {
        info.extra.insert(FIELD.to_owned(), flag.as_str().into());
    }
}

/// The choice at the start of the session.
pub fn saved(info: &SessionInfo) -> Option<IsolationFlag> {
    let word = info.extra.get(FIELD).and_then(Value::as_str)?;
    [IsolationFlag::None, IsolationFlag::Worktree]
        .into_iter()
        .find(|flag| flag.as_str() == word)
}

/// Which workers get a worktree. Without a repository none does, with a note; a repository without a commit is an error.
pub fn resolve(
    project: &Path,
    team: &Team,
    flag: Option<IsolationFlag>,
    quiet: bool,
) -> Result<Isolation, Failure> {
    let isolation = match flag {
        Some(IsolationFlag::None) => return Ok(Isolation::Never),
        Some(IsolationFlag::Worktree) => Isolation::Everybody,
        None if team
            .roles
            .iter()
            .any(|role| role.workspace == Workspace::Worktree) =>
        {
            Isolation::ByRole
        }
        None => return Ok(Isolation::ByRole),
    };
    match Worktree::check_possible(project) {
        Ok(()) => Ok(isolation),
        Err(WorktreeError::NotARepository) => {
            if !quiet {
                tell!("Note    isolation is off: not a git repository; workers share the project folder");
            }
            Ok(Isolation::Never)
        }
        Err(error @ WorktreeError::NoCommit) => Err(Failure::with_help(
            error.to_string(),
            "commit first, or use `--isolation none` to run all workers in the project itself",
        )),
        Err(error) => Err(Failure::with_help(
            error.to_string(),
            "fix the repository, or use `--isolation none`",
        )),
    }
}
