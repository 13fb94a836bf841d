//! Places of this machine and of the user's agents that rules are made for.

use std::fs;
use std::path::{Path, PathBuf};

use wavecrew_agents::cli::{self, AgentCli};

use super::real;

/// The known agent of this name, or of the program in `acp:PROGRAM`.
pub(super) fn agent_cli(agent: &str) -> Option<&'static dyn AgentCli> {
    let Some(command) = agent.strip_prefix("acp:") else {
        return cli::by_name(agent);
    };
    let program = command.split_whitespace().next()?;
    let program = Path::new(program).file_name()?.to_str()?;
    cli::ALL
        .iter()
        .copied()
        .find(|cli| program.starts_with(cli.name()))
}

/// Creates the folders that an agent may write to, because they have to exist. The agent itself creates its
/// files: an empty one may be invalid.
pub(super) fn create_state_folders(state: &[PathBuf]) {
    for folder in state
        .iter()
        .filter(|folder| !folder.exists() && folder.extension().is_none())
    {
        let _ = fs::create_dir_all(folder);
    }
}

/// Where an agent keeps its state, its login included.
pub(super) fn state_folders(home: &Path, cli: &dyn AgentCli) -> Vec<PathBuf> {
    let places = cli.facts().state.iter();
    let folders = places.map(|place| match std::env::var_os(place.variable) {
        Some(folder) if !place.variable.is_empty() && !folder.is_empty() => {
            real(Path::new(&folder)).join(place.name)
        }
        _ => home.join(place.home_folder).join(place.name),
    });
    folders.collect()
}

/// The folder of the repository that a folder is in.
pub(super) fn git_folder(folder: &Path) -> Option<PathBuf> {
    let above = folder.ancestors().map(|folder| folder.join(".git"));
    above.into_iter().find(|git| git.is_dir())
}

/// The repository's folder and the worktree's own folder in there.
pub(super) fn git_link(worktree: &Path) -> Option<(PathBuf, PathBuf)> {
    let text = fs::read_to_string(worktree.join(".git")).ok()?;
    let own = PathBuf::from(text.strip_prefix("gitdir:")?.trim());
    let git = own.parent()?.parent()?.to_owned();
    Some((git, own))
}
