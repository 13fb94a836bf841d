//! The confinement of each worker: the [policy] applied to this machine, this session and the project's settings. Lists
//! folders and creates the places that a worker gets; enforcing is up to the guardian.

pub mod policy;
mod settings;

pub use settings::{NetworkSetting, SandboxMode, SandboxSettings};

use policy::{WorkerPlaces, Workspace, all_but, secrets, services, write_rules};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;
use tempfile::TempDir;
use wavecrew_agents::cli::{self, AgentCli};
use wavecrew_core::team::Access;
use wavecrew_process::sandbox::{Confinement, LandlockAbi, Network, Support};
use wavecrew_session::worker_file::remove_any;
use wavecrew_session::{ProjectPaths, SessionDir};

/// The oldest Landlock that can enforce the promises about files: before it, files could be truncated.
const REQUIRED: LandlockAbi = LandlockAbi(3);

/// Confines the workers of one session.
pub(crate) struct Sandbox {
    settings: SandboxSettings,
    support: Support,
    session: SessionDir,
    project: PathBuf,
    home: PathBuf,
    /// Parent of the workers' temporary folders.
    temp: Option<TempDir>,
    /// Where settings files of all workers are, tokens included.
    private: Vec<PathBuf>,
    /// What the workers of an agent may read, and when the folders that change looked like that.
    readable: HashMap<String, (Changed, Vec<PathBuf>)>,
    /// The confinement that was made last for each attempt's number.
    made: HashMap<u32, Arc<Confinement>>,
}

/// When the project's and the session's own entries changed.
type Changed = [Option<SystemTime>; 2];

/// One worker that is about to start.
pub(crate) struct ConfinedWorker<'a> {
    pub agent: &'a str,
    pub role: &'a str,
    pub access: Access,
    pub number: u32,
    pub work_folders: &'a [String],
    pub folder: &'a Path,
    /// The worktree that the folder is in.
    pub worktree: Option<&'a Path>,
    pub row: &'a str,
    pub private: &'a Path,
}

impl Sandbox {
    pub fn new(settings: SandboxSettings, session: &SessionDir, project: &Path, private: &[PathBuf]) -> Self {
        let support = match settings.mode {
            SandboxMode::Off => Support::default(),
            SandboxMode::Auto | SandboxMode::Require => Support::detect(),
        };
        let home = std::env::var_os("HOME").map_or_else(|| PathBuf::from("/root"), PathBuf::from);
        let temp = support.any().then(|| make_temp_folder(session)).flatten();
        if support.any() {
            let _ = fs::create_dir_all(session.worker_questions_folder());
        }
        Self {
            support,
            session: session.clone(),
            project: real(project),
            home: real(&home),
            temp,
            private: private.to_vec(),
            readable: HashMap::new(),
            made: HashMap::new(),
            settings,
        }
    }

    /// Why nothing may be started, if the settings require more than there is.
    pub fn refusal(&self) -> Option<String> {
        let enough = self.support.landlock >= REQUIRED && self.support.seccomp;
        if self.settings.mode != SandboxMode::Require || enough {
            return None;
        }
        let missing = self.support.missing().join(", ");
        Some(format!(
            "the settings require a sandbox, and this machine cannot confine: {missing}"
        ))
    }

    /// Whether workers are confined at all.
    pub fn is_on(&self) -> bool {
        self.support.any()
    }

    /// One line that says what is enforced.
    pub fn summary(&self) -> String {
        summary(self.settings.mode, self.support)
    }

    /// The temporary folder of the attempt with this number, empty.
    pub fn temp_folder(&self, number: u32) -> Option<PathBuf> {
        let folder = self.temp.as_ref()?.path().join(number.to_string());
        if fs::create_dir(&folder).is_err() {
            let left = fs::read_dir(&folder).into_iter().flatten().flatten();
            left.for_each(|entry| remove_any(&entry.path()));
        }
        Some(folder)
    }

    /// Removes the temporary folders of all workers.
    pub fn remove_temp_folder(&mut self) {
        // What cannot be removed is in the way of nobody.
        drop(self.temp.take());
        let _ = fs::remove_file(self.session.temp_note());
    }

    /// The confinement of a worker; `None` if there is none.
    pub fn confine(&mut self, worker: &ConfinedWorker<'_>) -> Option<Arc<Confinement>> {
        if !self.is_on() || is_ours(worker.agent) {
            return None;
        }
        let own = agent_cli(worker.agent);
        let state = own.map(|cli| self.state_folders(cli)).unwrap_or_default();
        state.iter().filter(|folder| !folder.exists()).for_each(|folder| {
            // A file is the agent's to create: it may not be empty.
            if folder.extension().is_none() {
                let _ = fs::create_dir_all(folder);
            }
        });
        let temp = self.temp.as_ref()?.path().join(worker.number.to_string());
        let read = self.readable_by(worker, own);
        let rules = self.write_rules(worker, &temp, &state);
        let mut hide = Vec::new();
        if self.support.mounts {
            hide = services();
            hide.extend(self.denied(own));
            hide.retain(|path| path.exists());
            hide.push(ProjectPaths::at(&self.project).sessions_folder());
            hide.push(self.session.run_folder());
        }
        // What a person allows is allowed with everything below.
        let allowed = |path: &PathBuf| self.settings.write.iter().any(|place| path.starts_with(place));
        hide.retain(|path| !allowed(path));
        let protect = rules.protect.into_iter().filter(|path| !allowed(path)).collect();
        let show = vec![
            self.session.path().to_owned(),
            self.session.team_file(),
            self.session.plan_file(),
            self.session.worker_questions_folder(),
            self.session.inbox(worker.number),
            self.session.token_file(worker.number),
            self.session.shared_prompt(worker.number),
            worker.private.to_owned(),
        ];
        let confinement = Confinement {
            support: self.support,
            read,
            write: rules.write,
            protect,
            hide,
            show,
            network: self.network(worker.role),
        };
        match self.made.get(&worker.number) {
            Some(made) if **made == confinement => Some(Arc::clone(made)),
            _ => {
                let made = Arc::new(confinement);
                self.made.insert(worker.number, Arc::clone(&made));
                Some(made)
            }
        }
    }

    fn write_rules(&self, worker: &ConfinedWorker<'_>, temp: &Path, state: &[PathBuf]) -> policy::WriteRules {
        let names = match worker.access {
            Access::Tests | Access::Docs => names(worker.folder),
            Access::ReadOnly | Access::Source => Vec::new(),
        };
        let git_folder;
        let link;
        let workspace = match worker.worktree {
            Some(worktree) => {
                link = git_link(worktree);
                match &link {
                    Some((git, own)) => Workspace::Worktree { git, own },
                    None => Workspace::Project { git: None },
                }
            }
            None if worker.folder == self.session.project_copy() => Workspace::Copy,
            None => {
                let above = worker.folder.ancestors().map(|folder| folder.join(".git"));
                git_folder = above.into_iter().find(|git| git.is_dir());
                Workspace::Project {
                    git: git_folder.as_deref(),
                }
            }
        };
        write_rules(&WorkerPlaces {
            access: worker.access,
            session: &self.session,
            number: worker.number,
            work_folders: worker.work_folders,
            folder: worker.folder,
            workspace,
            names: &names,
            row: worker.row,
            temp,
            private: worker.private,
            state,
            home: &self.home,
            extra_write: &self.settings.write,
        })
    }

    /// What nobody, or nobody but its own agent, may read.
    fn denied(&self, own: Option<&'static dyn AgentCli>) -> Vec<PathBuf> {
        let others = cli::ALL
            .iter()
            .filter(|cli| Some(cli.name()) != own.map(<dyn AgentCli>::name));
        let logins: Vec<PathBuf> = others.flat_map(|cli| self.state_folders(*cli)).collect();
        let mut denied = secrets(&self.home, &logins);
        let allowed = || self.settings.read.iter().chain(&self.settings.write);
        denied
            .retain(|path| !allowed().any(|allowed| path.starts_with(allowed) || allowed.starts_with(path)));
        denied
    }

    fn readable_by(
        &mut self,
        worker: &ConfinedWorker<'_>,
        own: Option<&'static dyn AgentCli>,
    ) -> Vec<PathBuf> {
        let changed = [&self.project, self.session.path()].map(|folder| {
            let found = fs::metadata(folder).ok();
            found.and_then(|found| found.modified().ok())
        });
        let cached = self.readable.get(worker.agent).filter(|(at, _)| *at == changed);
        let mut read = if let Some((_, read)) = cached {
            read.clone()
        } else {
            let mut denied = self.denied(own);
            denied.push(ProjectPaths::at(&self.project).sessions_folder());
            denied.extend(self.private.iter().cloned());
            let mut read = all_but(Path::new("/"), &denied, &entries);
            let session = entries(self.session.path()).into_iter();
            read.extend(session.filter(|path| *path != self.session.run_folder()));
            read.extend([self.session.team_file(), self.session.plan_file()]);
            read.extend(self.settings.read.iter().cloned());
            self.readable
                .insert(worker.agent.to_owned(), (changed, read.clone()));
            read
        };
        read.push(self.session.token_file(worker.number));
        read.push(self.session.shared_prompt(worker.number));
        read
    }

    fn state_folders(&self, cli: &dyn AgentCli) -> Vec<PathBuf> {
        let places = cli.facts().state.iter();
        let folders = places.map(|place| match std::env::var_os(place.variable) {
            Some(folder) if !place.variable.is_empty() && !folder.is_empty() => {
                real(Path::new(&folder)).join(place.name)
            }
            _ => self.home.join(place.home_folder).join(place.name),
        });
        folders.collect()
    }

    fn network(&self, role: &str) -> Network {
        match self.settings.network_of(role) {
            NetworkSetting::Any => Network::Any,
            NetworkSetting::Off => Network::Off,
            NetworkSetting::Agent => {
                let mut ports = settings::service_ports(std::env::vars());
                ports.extend(&self.settings.ports);
                Network::Ports(ports)
            }
        }
    }
}

const TEMP_PREFIX: &str = "wavecrew-workers-";

/// A folder for the temporary folders of this run's workers, in place of that of a run that was killed.
fn make_temp_folder(session: &SessionDir) -> Option<TempDir> {
    let note = session.temp_note();
    let above = std::env::temp_dir();
    if let Ok(name) = fs::read_to_string(&note)
        && name.starts_with(TEMP_PREFIX)
        && !name.contains('/')
    {
        let _ = fs::remove_dir_all(above.join(name));
    }
    let folder = tempfile::Builder::new()
        .prefix(TEMP_PREFIX)
        .tempdir_in(above)
        .ok()?;
    let _ = fs::write(note, folder.path().file_name()?.as_encoded_bytes());
    Some(folder)
}

/// What is enforced, in one line.
pub fn summary(mode: SandboxMode, support: Support) -> String {
    if mode == SandboxMode::Off {
        return "off, as set; workers may do whatever you may".to_owned();
    }
    if !support.any() {
        return "none, this machine offers none; workers may do whatever you may".to_owned();
    }
    let LandlockAbi(abi) = support.landlock;
    let mut parts = Vec::new();
    if abi > 0 {
        parts.push(format!("files by role (Landlock {abi})"));
    }
    if support.mounts {
        parts.push("read-only mounts".to_owned());
    }
    if support.seccomp {
        parts.push("system calls".to_owned());
    }
    let missing = support.missing();
    let missing = if missing.is_empty() {
        String::new()
    } else {
        format!("; not: {}", missing.join(", "))
    };
    format!("{}{missing}", parts.join(", "))
}

/// Workers that are this program itself.
fn is_ours(agent: &str) -> bool {
    agent == "offline" || agent.starts_with("replay:")
}

/// The known agent that a name stands for, also by the program of `acp:PROGRAM`.
fn agent_cli(agent: &str) -> Option<&'static dyn AgentCli> {
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

/// The repository's folder and the worktree's own folder in there.
fn git_link(worktree: &Path) -> Option<(PathBuf, PathBuf)> {
    let text = fs::read_to_string(worktree.join(".git")).ok()?;
    let own = PathBuf::from(text.strip_prefix("gitdir:")?.trim());
    let git = own.parent()?.parent()?.to_owned();
    Some((git, own))
}

/// The entries of a folder without links: what they lead to has a place of its own. Unfinished files come and go.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let found = fs::read_dir(folder).into_iter().flatten().flatten();
    let kept = found.filter(|entry| {
        let name = entry.file_name();
        let unfinished = name.to_string_lossy().starts_with(".tmp-") || name == ".tasks.part";
        !unfinished && entry.file_type().is_ok_and(|kind| !kind.is_symlink())
    });
    let mut paths: Vec<PathBuf> = kept.map(|entry| entry.path()).collect();
    paths.sort_unstable();
    paths
}

fn names(folder: &Path) -> Vec<String> {
    let paths = entries(folder).into_iter();
    paths
        .filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()))
        .collect()
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
