//! Whether workers get git worktrees of their own: what the person says, else what their roles say, as far as the
//! project lets them.

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
pub enum Place {
    /// In the project itself
    None,
    /// In a git worktree of its own
    Worktree,
}

impl Place {
    fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Worktree => "worktree",
        }
    }
}

/// Keeps the choice with the session, so that it goes on as it began.
pub fn keep(info: &mut SessionInfo, place: Option<Place>) {
    if let Some(place) = place {
        info.extra.insert(FIELD.to_owned(), place.as_str().into());
    }
}

/// What the session was begun with.
pub fn kept(info: &SessionInfo) -> Option<Place> {
    let word = info.extra.get(FIELD).and_then(Value::as_str)?;
    [Place::None, Place::Worktree]
        .into_iter()
        .find(|place| place.as_str() == word)
}

/// Who works apart. Without a repository nobody does, and that is said; one without a commit is for the person to mend.
pub fn settle(project: &Path, team: &Team, place: Option<Place>, quiet: bool) -> Result<Isolation, Failure> {
    let isolation = match place {
        Some(Place::None) => return Ok(Isolation::Never),
        Some(Place::Worktree) => Isolation::Everybody,
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
                anstream::eprintln!(
                    "Note    isolation is off: this is no git repository, so all workers work in the project itself"
                );
            }
            Ok(Isolation::Never)
        }
        Err(error @ WorktreeError::NoCommit) => Err(Failure::with_help(
            error.to_string(),
            "or give `--isolation none` to have all workers work in the project itself",
        )),
        Err(error) => Err(Failure::with_help(
            error.to_string(),
            "mend the repository, or give `--isolation none`",
        )),
    }
}
