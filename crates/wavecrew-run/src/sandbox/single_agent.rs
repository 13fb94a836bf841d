//! The confinement of an agent without a session, for a conversation of an MCP client. It works in the
//! project or in a worktree, with access to the source.

use super::machine::{agent_cli, create_state_folders, git_folder, git_link, state_folders};
use super::policy::{WorkerPlaces, write_rules};
use super::summary::refusal;
use super::{SandboxMode, SandboxSettings, Workspace, denied, protected_but_allowed, real};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wavecrew_core::team::Access;
use wavecrew_process::sandbox::places::{all_but, entries, services};
use wavecrew_process::sandbox::{Confinement, Support, home};
use wavecrew_session::ProjectPaths;

/// Confines agents without a session.
#[derive(Debug, Clone)]
pub struct AgentSandbox {
    settings: SandboxSettings,
    support: Support,
    project: PathBuf,
}

/// One agent that is about to start.
pub struct SingleAgent<'a> {
    pub name: &'a str,
    pub folder: &'a Path,
    /// The worktree that the folder is in.
    pub worktree: Option<&'a Path>,
    /// Its settings files.
    pub scratch: &'a Path,
    pub temp: &'a Path,
    /// The message that it reads.
    pub prompt: &'a Path,
}

impl AgentSandbox {
    pub fn new(settings: SandboxSettings, project: &Path) -> Self {
        Self {
            support: settings.support(),
            project: real(project),
            settings,
        }
    }

    /// What is enforced; with `require`, why nothing may be started.
    pub fn support(&self) -> Result<Support, String> {
        match refusal(self.settings.mode, self.support) {
            Some(reason) => Err(reason),
            None => Ok(self.support),
        }
    }

    pub fn is_on(&self) -> bool {
        self.settings.mode != SandboxMode::Off && self.support.any()
    }

    /// The confinement of an agent; `None` if there is none.
    pub fn confine(&self, agent: &SingleAgent<'_>) -> Option<Arc<Confinement>> {
        if !self.is_on() {
            return None;
        }
        let (home, own) = (home(), agent_cli(agent.name));
        let state = own.map(|cli| state_folders(&home, cli)).unwrap_or_default();
        create_state_folders(&state);
        for folder in [agent.scratch, agent.temp] {
            let _ = fs::create_dir_all(folder);
        }
        let link = agent.worktree.and_then(git_link);
        let git = git_folder(agent.folder);
        let workspace = match &link {
            Some((git, own)) => Workspace::Worktree { git, own },
            None => Workspace::Project { git: git.as_deref() },
        };
        let rules = write_rules(&WorkerPlaces {
            access: Access::Source,
            session: None,
            work_folders: &[],
            folder: agent.folder,
            workspace,
            names: &[],
            row: "",
            temp: agent.temp,
            private: agent.scratch,
            state: &state,
            home: &home,
            extra_write: &self.settings.write,
        });
        let mut denied = denied(&home, &self.settings, own);
        let mut hide = Vec::new();
        if self.support.mounts {
            hide = services();
            hide.extend(denied.iter().cloned());
            hide.retain(|path| path.exists());
        }
        let paths = ProjectPaths::at(&self.project);
        denied.extend([paths.sessions_folder(), paths.agents_folder()]);
        let mut readable = all_but(Path::new("/"), &denied, &entries);
        readable.extend(agent.worktree.map(Path::to_owned));
        readable.push(agent.prompt.to_owned());
        readable.extend(self.settings.read.iter().cloned());
        let (protect, hide) = protected_but_allowed(&self.settings, rules.protect, hide);
        Some(Arc::new(Confinement {
            support: self.support,
            read: readable,
            write: rules.write,
            protect,
            hide,
            show: Vec::new(),
            network: self.settings.ports_of(self.settings.network),
            edition: 0,
        }))
    }
}
