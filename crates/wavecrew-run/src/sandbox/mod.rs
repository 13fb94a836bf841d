//! The confinement of each worker: the [policy] applied to this machine, this session and the project's
//! settings. Lists folders and creates the places that a worker gets. The guardian enforces it.

mod identity;
mod machine;
pub mod policy;
mod refusals;
mod settings;
mod single_agent;
mod summary;
mod temp;

pub(crate) use refusals::RefusalLines;
pub use settings::{NetworkSetting, SandboxMode, SandboxSettings};
pub use single_agent::{AgentSandbox, SingleAgent};
pub use summary::summary;
pub use temp::make_temp_folder;
pub(crate) use temp::remove_left_temp_folder;

use crate::agent_name::OFFLINE;
use crate::place::WorkerFacts;
use crate::worker::files::create_private_folder;
use crate::worker::output::Output;
use identity::Identity;
use machine::{agent_cli, create_state_folders, git_folder, git_link, state_folders};
use policy::{WorkerPlaces, Workspace, write_rules};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;
use summary::refusal;
use tempfile::TempDir;
use wavecrew_agents::cli::{self, AgentCli};
use wavecrew_core::event::Refusal;
use wavecrew_core::team::Access;
use wavecrew_process::sandbox::places::{all_but, credentials, entries, services};
use wavecrew_process::sandbox::{Confinement, Network, ProgramRules, Support, home};
use wavecrew_session::worker_file::{open_own, remove_any};
use wavecrew_session::{ProjectPaths, SessionDir};

/// The number of the last confinement for a session whose files are replaced between workers.
static LAST_EDITION: AtomicU64 = AtomicU64::new(0);
/// So many workers' confinements are kept for later workers in such a session.
const KEPT: usize = 64;

/// Confines the workers of one session.
#[derive(Debug)]
pub struct Sandbox {
    settings: SandboxSettings,
    support: Support,
    session: SessionDir,
    project: PathBuf,
    home: PathBuf,
    /// Parent of the workers' temporary folders.
    temp: Option<PathBuf>,
    /// The same, if it is removed with the run.
    own_temp: Option<TempDir>,
    /// Whether files of the session may be replaced between two workers.
    files_change: bool,
    /// Where settings files of all workers are, tokens included.
    private: Vec<PathBuf>,
    /// What the workers of an agent may read, and the modification times of the folders that this was listed
    /// from.
    readable: HashMap<String, (Changed, Vec<PathBuf>)>,
    /// The latest confinement for each attempt's number.
    made: HashMap<u32, Made>,
    /// Folders that were created for workers to write in. Empty ones are removed.
    created: Vec<PathBuf>,
}

#[derive(Debug)]
struct Made {
    key: MadeFor,
    confinement: Arc<Confinement>,
    /// Of the places that mounts were made for, if they may be replaced.
    identity: Option<Identity>,
}

/// What a confinement depends on. Workers of one slot usually have equal keys and share a confinement.
#[derive(Debug, PartialEq, Eq)]
struct MadeFor {
    agent: String,
    role: String,
    folder: PathBuf,
    worktree: Option<PathBuf>,
    private: PathBuf,
    named: Vec<&'static str>,
    changed: Changed,
    /// When the working folder's own entries changed.
    folder_changed: Option<SystemTime>,
}

/// When the folders that readable places are listed from last changed.
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
    pub fn new(
        settings: SandboxSettings,
        support: Support,
        session: &SessionDir,
        project: &Path,
        private: &[PathBuf],
    ) -> Self {
        let own_temp = (support.any()).then(|| make_temp_folder(&session.temp_note()));
        let own_temp = own_temp.flatten();
        if support.any() {
            let _ = fs::create_dir_all(session.worker_questions_folder());
        }
        let temp = own_temp.as_ref().map(TempDir::path);
        let mut sandbox = Self::of_copy(settings, support, session, project, temp);
        sandbox.own_temp = own_temp;
        sandbox.files_change = false;
        sandbox.private = private.to_vec();
        sandbox
    }

    /// Confines the workers in a copy of a session, one after the other. Files of the copy may be replaced in between, and are
    /// no secret to its worker. `temp` is a folder for their temporary folders.
    pub fn of_copy(
        settings: SandboxSettings,
        support: Support,
        session: &SessionDir,
        project: &Path,
        temp: Option<&Path>,
    ) -> Self {
        Self {
            support,
            session: session.clone(),
            project: real(project),
            home: home(),
            temp: temp.filter(|_| support.any()).map(Path::to_owned),
            own_temp: None,
            files_change: true,
            private: Vec::new(),
            readable: HashMap::new(),
            made: HashMap::new(),
            created: Vec::new(),
            settings,
        }
    }

    /// Why nothing may be started, if the settings require more than the machine supports.
    pub fn refusal(&self) -> Option<String> {
        refusal(self.settings.mode, self.support)
    }

    pub fn settings(&self) -> &SandboxSettings {
        &self.settings
    }

    /// The confinement of a worker of another machine's run; `None` if there is none.
    pub fn confine_worker(&mut self, facts: &WorkerFacts) -> Option<Arc<Confinement>> {
        self.confine(&facts.confined())
    }

    /// Whether workers are confined at all.
    pub fn is_on(&self) -> bool {
        self.support.any()
    }

    /// Whether the worker with this number can change a file.
    pub fn can_change(&self, number: u32, path: &Path) -> bool {
        let made = self.made.get(&number).filter(|_| self.is_on());
        made.is_none_or(|made| made.confinement.may_write(path))
    }

    /// Whether there may be workers that can change the files of the session.
    pub fn protects_session(&self) -> bool {
        let session = self.session.path();
        let allowed = |place: &PathBuf| session.starts_with(place) || place.starts_with(session);
        self.support.mounts && !self.settings.write.iter().any(allowed)
    }

    /// One line that describes what is enforced.
    pub fn summary(&self) -> String {
        summary(self.settings.mode, self.support)
    }

    /// The temporary folder of this name, empty.
    pub fn temp_folder(&self, name: &str) -> Option<PathBuf> {
        let folder = self.temp.as_ref()?.join(name);
        match fs::read_dir(&folder) {
            Ok(left) => left.flatten().for_each(|entry| remove_any(&entry.path())),
            Err(_) => drop(fs::create_dir(&folder)),
        }
        Some(folder)
    }

    /// Removes the temporary folders of all workers, and what was created for them and stayed empty.
    pub fn remove_folders(&mut self) {
        for folder in self.created.drain(..) {
            // Fails unless the folder is empty.
            let _ = fs::remove_dir(folder);
        }
        // A folder that cannot be removed does no harm.
        drop(self.own_temp.take());
        let _ = fs::remove_file(self.session.temp_note());
    }

    /// What the worker with this number was refused, according to its output.
    pub fn refusals(&self, output: &Output, number: u32, folder: &Path) -> Vec<Refusal> {
        let made = self.made.get(&number);
        made.map_or_else(Vec::new, |made| {
            output.refusals(&made.confinement, folder, &self.home)
        })
    }

    /// The confinement of a command that checks a worker's folder; `None` if there is none.
    pub fn confine_check(&self, folder: &Path, temp: Option<&Path>) -> Option<Arc<Confinement>> {
        let mut places = vec![folder];
        places.extend(temp);
        let confinement = program_rules(&self.settings).confinement(self.support, &places);
        confinement.map(Arc::new)
    }

    /// The confinement of a worker; `None` if there is none.
    pub(crate) fn confine(&mut self, worker: &ConfinedWorker<'_>) -> Option<Arc<Confinement>> {
        if !self.is_on() {
            return None;
        }
        let made_for = MadeFor {
            agent: worker.agent.to_owned(),
            role: worker.role.to_owned(),
            folder: worker.folder.to_owned(),
            worktree: worker.worktree.map(Path::to_owned),
            private: worker.private.to_owned(),
            named: policy::named_ci_files(worker.row),
            changed: self.changed(),
            folder_changed: match worker.access {
                Access::Tests | Access::Docs => changed_at(worker.folder),
                Access::ReadOnly | Access::Source => None,
            },
        };
        if let Some(known) = self.made.get(&worker.number)
            && known.key == made_for
            && (!self.files_change || Self::is_unchanged(known))
        {
            return Some(Arc::clone(&known.confinement));
        }
        let mut made = self.make(worker, made_for.changed)?;
        if self.files_change {
            made.edition = LAST_EDITION.fetch_add(1, Ordering::Relaxed) + 1;
        }
        let confinement = match self.made.remove(&worker.number) {
            // The guardian already has its rules.
            Some(same) if *same.confinement == made => same.confinement,
            Some(_) | None => Arc::new(made),
        };
        let made = Made {
            key: made_for,
            identity: self.files_change.then(|| Identity::of(&confinement)).flatten(),
            confinement: Arc::clone(&confinement),
        };
        if self.made.len() >= KEPT && self.files_change {
            self.made.clear();
        }
        self.made.insert(worker.number, made);
        Some(confinement)
    }

    /// Whether the mounts of a confinement are of the files that are there now.
    fn is_unchanged(made: &Made) -> bool {
        made.identity.is_some() && made.identity == Identity::of(&made.confinement)
    }

    /// Mounts hide other sessions and what is private in this one. Without them, readable places have to be listed one by
    /// one, and the list changes with these folders.
    fn changed(&self) -> Changed {
        if self.support.mounts {
            [changed_at(&self.home), None]
        } else {
            [&self.project, self.session.path()].map(changed_at)
        }
    }

    fn make(&mut self, worker: &ConfinedWorker<'_>, changed: Changed) -> Option<Confinement> {
        let own = agent_cli(worker.agent);
        let state = own.map(|cli| state_folders(&self.home, cli)).unwrap_or_default();
        create_state_folders(&state);
        if self.files_change {
            let _ = fs::create_dir_all(self.session.worker_questions_folder());
        }
        let temp = self.temp.as_ref()?.join(worker.number.to_string());
        let read = self.readable_by(worker, own, changed);
        self.create_role_folder(worker);
        // Mounts are made for what exists, and are kept for later workers with this number.
        let prompt = self.session.shared_prompt(worker.number);
        if self.support.mounts && create_private_folder(&self.session.scratch_folder()).is_ok() {
            let _ = open_own(&prompt);
        }
        let mut rules = self.write_rules(worker, &temp, &state);
        rules.write.extend(package_folder(worker.folder));
        if worker.agent == OFFLINE {
            // The offline agent puts its tests into the copy while it tries them; programs that it starts may
            // not write there.
            rules.write.push(self.session.project_copy());
        }
        let mut hide = Vec::new();
        if self.support.mounts {
            hide = services();
            hide.extend(self.denied(own));
            hide.retain(|path| path.exists());
            hide.push(ProjectPaths::at(&self.project).sessions_folder());
            hide.push(self.session.run_folder());
        }
        let (protect, hide) = protected_but_allowed(&self.settings, rules.protect, hide);
        let show = vec![
            self.session.path().to_owned(),
            self.session.team_file(),
            self.session.plan_file(),
            self.session.worker_questions_folder(),
            self.session.inbox(worker.number),
            self.session.token_file(worker.number),
            prompt,
            worker.private.to_owned(),
        ];
        Some(Confinement {
            support: self.support,
            read,
            write: rules.write,
            protect,
            hide,
            show,
            network: self.network(worker),
            edition: 0,
        })
    }

    /// A role that writes tests or documents may need a new folder for them. Rules can only name folders that
    /// exist.
    fn create_role_folder(&mut self, worker: &ConfinedWorker<'_>) {
        if worker.folder == self.session.project_copy() {
            return;
        }
        let Some(name) = policy::missing_folder(worker.access, &names(worker.folder)) else {
            return;
        };
        let folder = worker.folder.join(name);
        if fs::create_dir(&folder).is_ok() {
            self.created.push(folder);
        }
    }

    fn write_rules(&self, worker: &ConfinedWorker<'_>, temp: &Path, state: &[PathBuf]) -> policy::WriteRules {
        let names = match worker.access {
            Access::Tests | Access::Docs => names(worker.folder),
            Access::ReadOnly | Access::Source => Vec::new(),
        };
        let git;
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
                git = git_folder(worker.folder);
                Workspace::Project { git: git.as_deref() }
            }
        };
        write_rules(&WorkerPlaces {
            access: worker.access,
            session: Some((&self.session, worker.number)),
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

    /// Places that no worker may read, or only workers of one agent.
    fn denied(&self, own: Option<&'static dyn AgentCli>) -> Vec<PathBuf> {
        denied(&self.home, &self.settings, own)
    }

    fn readable_by(
        &mut self,
        worker: &ConfinedWorker<'_>,
        own: Option<&'static dyn AgentCli>,
        changed: Changed,
    ) -> Vec<PathBuf> {
        let cached = self.readable.get(worker.agent).filter(|(at, _)| *at == changed);
        let mut read = if let Some((_, read)) = cached {
            read.clone()
        } else {
            let mut denied = self.denied(own);
            denied.extend(self.private.iter().cloned());
            if !self.support.mounts {
                denied.push(ProjectPaths::at(&self.project).sessions_folder());
            }
            let mut read = all_but(Path::new("/"), &denied, &entries);
            if !self.support.mounts {
                let session = entries(self.session.path()).into_iter();
                read.extend(session.filter(|path| *path != self.session.run_folder()));
                read.extend([self.session.team_file(), self.session.plan_file()]);
            }
            read.extend(self.settings.read.iter().cloned());
            self.readable
                .insert(worker.agent.to_owned(), (changed, read.clone()));
            read
        };
        read.push(self.session.token_file(worker.number));
        read.push(self.session.shared_prompt(worker.number));
        read
    }

    fn network(&self, worker: &ConfinedWorker<'_>) -> Network {
        if worker.agent == OFFLINE {
            return Network::Off;
        }
        self.settings.ports_of(self.settings.network_of(worker.role))
    }
}

fn changed_at(folder: &Path) -> Option<SystemTime> {
    fs::metadata(folder).ok()?.modified().ok()
}

/// Places that a person allows, with everything below them.
fn protected_but_allowed(
    settings: &SandboxSettings,
    mut protect: Vec<PathBuf>,
    mut hide: Vec<PathBuf>,
) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let allowed = |path: &PathBuf| settings.write.iter().any(|place| path.starts_with(place));
    protect.retain(|path| !allowed(path));
    hide.retain(|path| !allowed(path));
    (protect, hide)
}

/// The rules for programs that wavecrew itself runs on files of workers: checks, builds, test frameworks.
pub fn program_rules(settings: &SandboxSettings) -> ProgramRules {
    ProgramRules {
        off: settings.mode == SandboxMode::Off,
        deny: denied(&home(), settings, None),
        write: settings.write.clone(),
        network: settings.ports_of(settings.check_network),
    }
}

fn denied(home: &Path, settings: &SandboxSettings, own: Option<&'static dyn AgentCli>) -> Vec<PathBuf> {
    let others = cli::ALL
        .iter()
        .filter(|cli| Some(cli.name()) != own.map(<dyn AgentCli>::name));
    let mut denied = credentials(home);
    denied.extend(settings.deny.iter().cloned());
    denied.extend(others.flat_map(|cli| state_folders(home, *cli)));
    let allowed = || settings.read.iter().chain(&settings.write);
    denied.retain(|path| !allowed().any(|allowed| path.starts_with(allowed) || allowed.starts_with(path)));
    denied
}

/// Where vite compiles a project's settings to, whoever runs it. Created, because rules can only name folders
/// that exist.
fn package_folder(folder: &Path) -> Option<PathBuf> {
    let packages = folder.join("node_modules");
    let folder = packages.is_dir().then(|| real(&packages).join(".vite-temp"))?;
    fs::create_dir_all(&folder).ok()?;
    Some(folder)
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
