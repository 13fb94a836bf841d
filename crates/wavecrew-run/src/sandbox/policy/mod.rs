//! What each access level may write and read, as data. Pure: folders are listed by the caller.

use std::path::{Path, PathBuf};
use wavecrew_core::team::Access;
use wavecrew_process::sandbox::places::{DEVICES, tool_caches};
use wavecrew_session::SessionPaths;

/// Files that decide what a build service runs. Tasks change them only when their row names them.
const CI_FILES: [&str; 8] = [
    ".github",
    ".gitlab-ci.yml",
    ".circleci",
    ".buildkite",
    ".travis.yml",
    "Jenkinsfile",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
];

/// Settings of wavecrew in a project.
const OWN_SETTINGS: [&str; 2] = ["wavecrew.toml", ".wavecrew"];
/// Files that git runs, or reads commands from, below its folder.
const GIT_COMMANDS: [&str; 5] = ["hooks", "config", "config.worktree", "info", "modules"];
/// Which repository a worktree belongs to. Below the worktree's folder in `.git`.
const WORKTREE_LINKS: [&str; 3] = ["commondir", "gitdir", "config.worktree"];

const TEST_FOLDERS: [&str; 6] = ["tests", "test", "spec", "specs", "__tests__", "e2e"];
const DOC_FOLDERS: [&str; 3] = ["docs", "doc", "documentation"];

/// One worker and its surroundings.
#[derive(Debug, Clone)]
pub struct WorkerPlaces<'a> {
    pub access: Access,
    /// With the number of its attempt; `None` for an agent without a session.
    pub session: Option<(&'a SessionPaths, u32)>,
    /// Folders of the session to which the team's roles write.
    pub work_folders: &'a [String],
    /// Its working folder.
    pub folder: &'a Path,
    pub workspace: Workspace<'a>,
    /// The names in its working folder.
    pub names: &'a [String],
    /// The text of its row.
    pub row: &'a str,
    pub temp: &'a Path,
    pub private: &'a Path,
    /// Folders of its agent's own state.
    pub state: &'a [PathBuf],
    pub home: &'a Path,
    /// From the settings.
    pub extra_write: &'a [PathBuf],
}

/// Where a worker works.
#[derive(Debug, Clone, Copy)]
pub enum Workspace<'a> {
    /// In the project, whose repository is in this folder, if it has one.
    Project { git: Option<&'a Path> },
    /// In a worktree of its own: the repository's folder, and the worktree's folder in there.
    Worktree { git: &'a Path, own: &'a Path },
    /// In a copy that no worker changes.
    Copy,
}

/// What a worker may change, and the exceptions inside it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct WriteRules {
    pub write: Vec<PathBuf>,
    pub protect: Vec<PathBuf>,
}

/// The files for build services that a row names.
pub fn named_ci_files(row: &str) -> Vec<&'static str> {
    CI_FILES
        .iter()
        .copied()
        .filter(|name| row.contains(name))
        .collect()
}

/// The folder for a role's work in a project that has no folder of this kind.
pub fn missing_folder(access: Access, names: &[String]) -> Option<&'static str> {
    let kind: &[&str] = match access {
        Access::Tests => &TEST_FOLDERS,
        Access::Docs => &DOC_FOLDERS,
        Access::ReadOnly | Access::Source => return None,
    };
    let present = |name: &&str| names.iter().any(|present| present == name);
    kind.first().copied().filter(|_| !kind.iter().any(present))
}

pub fn write_rules(places: &WorkerPlaces<'_>) -> WriteRules {
    let mut rules = WriteRules::default();
    rules.write.extend(DEVICES.map(PathBuf::from));
    rules
        .write
        .extend([places.temp.to_owned(), places.private.to_owned()]);
    if let Some((session, number)) = places.session {
        rules.write.extend([
            session.inbox(number),
            session.wisdom_folder(),
            session.discoveries_file(),
            session.message_folder(),
            session.worker_questions_folder(),
        ]);
        let folders = places.work_folders.iter();
        rules.write.extend(folders.map(|name| session.root().join(name)));
    }
    rules.write.extend_from_slice(places.state);
    rules.write.extend_from_slice(places.extra_write);
    let below = |name: &str| places.folder.join(name);
    let present = |wanted: &[&str]| {
        let names = places.names.iter().filter(|name| wanted.contains(&name.as_str()));
        names.map(|name| below(name)).collect::<Vec<_>>()
    };
    match places.access {
        Access::ReadOnly => return rules,
        Access::Tests => rules.write.extend(present(&TEST_FOLDERS)),
        Access::Docs => {
            rules.write.extend(present(&DOC_FOLDERS));
            let documents = places.names.iter().filter(|name| {
                Path::new(name)
                    .extension()
                    .is_some_and(|extension| extension == "md")
            });
            rules.write.extend(documents.map(|name| below(name)));
        }
        Access::Source => rules.allow_source(places),
    }
    rules.write.extend(tool_caches(places.home));
    rules
}

impl WriteRules {
    fn allow_source(&mut self, places: &WorkerPlaces<'_>) {
        let below = |name: &str| places.folder.join(name);
        if let Workspace::Copy = places.workspace {
            return;
        }
        self.write.push(places.folder.to_owned());
        self.protect.extend(OWN_SETTINGS.map(below));
        let named = named_ci_files(places.row);
        let unnamed = CI_FILES.iter().filter(|name| !named.contains(name));
        self.protect.extend(unnamed.map(|name| below(name)));
        match places.workspace {
            Workspace::Project { git } => {
                self.protect.push(below(wavecrew_session::WORKFLOW_FOLDER));
                if let Some(git) = git {
                    // Listed separately, so that it cannot be moved away and replaced.
                    self.write.push(git.to_owned());
                    self.protect.extend(GIT_COMMANDS.map(|name| git.join(name)));
                    self.protect.push(git.join("worktrees"));
                }
            }
            Workspace::Worktree { git, own } => {
                self.protect.push(below(".git"));
                let parts = ["objects", "refs/heads/wavecrew", "refs/heads/wavecrew-tasks"];
                self.write.extend(parts.map(|name| git.join(name)));
                let logs = ["logs/refs/heads/wavecrew", "logs/refs/heads/wavecrew-tasks"];
                self.write.extend(logs.map(|name| git.join(name)));
                self.write.push(own.to_owned());
                self.protect.extend(WORKTREE_LINKS.map(|name| own.join(name)));
            }
            Workspace::Copy => {}
        }
    }
}

#[cfg(test)]
mod tests;
