//! What each access level may write and read, as data. Pure: folders are listed by the caller.

use std::path::{Path, PathBuf};
use wavecrew_core::team::Access;
use wavecrew_session::SessionPaths;

/// Devices that every program may use, and memory that processes of one worker share.
const DEVICES: [&str; 9] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/shm",
];

/// Credentials below the home folder. No worker reads them.
const CREDENTIALS: [&str; 21] = [
    ".ssh",
    ".aws",
    ".azure",
    ".gnupg",
    ".kube",
    ".netrc",
    ".pypirc",
    ".git-credentials",
    ".password-store",
    ".vault-token",
    ".docker/config.json",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".config/gh",
    ".config/gcloud",
    ".config/git/credentials",
    ".config/hub",
    ".config/op",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".mozilla",
];

/// Credentials of the machine, which only root could read anyway.
const MACHINE_CREDENTIALS: [&str; 5] = [
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/sudoers",
    "/etc/ssh",
    "/etc/ssl/private",
];

/// Sockets of services that do things for whoever asks, outside of any confinement.
const SERVICES: [&str; 8] = [
    "/run/docker.sock",
    "/run/containerd",
    "/run/podman",
    "/run/dbus",
    "/run/user",
    "/run/systemd/private",
    "/run/systemd/io.systemd.Manager",
    "/run/crio",
];

/// Caches of package managers and compilers below the home folder. Builds and tests do not work without them.
const TOOL_CACHES: [&str; 15] = [
    ".cargo/registry",
    ".cargo/git",
    ".cargo/.package-cache",
    ".cargo/.package-cache-mutate",
    ".cargo/.global-cache",
    ".npm/_cacache",
    ".npm/_logs",
    ".cache/pip",
    ".cache/uv",
    ".cache/go-build",
    ".cache/yarn",
    ".cache/pnpm",
    "go/pkg/mod",
    ".gradle/caches",
    ".m2/repository",
];

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
/// What git runs, or reads commands from. Below its folder.
const GIT_COMMANDS: [&str; 5] = ["hooks", "config", "config.worktree", "info", "modules"];
/// Which repository a worktree belongs to. Below the worktree's folder in `.git`.
const WORKTREE_LINKS: [&str; 3] = ["commondir", "gitdir", "config.worktree"];

const TEST_FOLDERS: [&str; 6] = ["tests", "test", "spec", "specs", "__tests__", "e2e"];
const DOC_FOLDERS: [&str; 3] = ["docs", "doc", "documentation"];

/// One worker and its surroundings.
#[derive(Debug, Clone)]
pub struct WorkerPlaces<'a> {
    pub access: Access,
    pub session: &'a SessionPaths,
    /// Of its attempt.
    pub number: u32,
    /// Folders of the session in which the team's roles leave their work.
    pub work_folders: &'a [String],
    /// Its working folder.
    pub folder: &'a Path,
    pub workspace: Workspace<'a>,
    /// The names in its working folder.
    pub names: &'a [String],
    /// All that its row says.
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
    /// In a copy that nobody changes.
    Copy,
}

/// What a worker may change, and what inside of that it may not.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct WriteRules {
    pub write: Vec<PathBuf>,
    pub protect: Vec<PathBuf>,
}

pub fn write_rules(places: &WorkerPlaces<'_>) -> WriteRules {
    let session = places.session;
    let mut rules = WriteRules::default();
    rules.write.extend(DEVICES.map(PathBuf::from));
    rules.write.extend([
        places.temp.to_owned(),
        places.private.to_owned(),
        session.inbox(places.number),
        session.wisdom_folder(),
        session.discoveries_file(),
        session.message_folder(),
        session.worker_questions_folder(),
    ]);
    let folders = places.work_folders.iter();
    rules.write.extend(folders.map(|name| session.root().join(name)));
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
    rules
        .write
        .extend(TOOL_CACHES.map(|cache| places.home.join(cache)));
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
        let unnamed = CI_FILES.iter().filter(|name| !places.row.contains(**name));
        self.protect.extend(unnamed.map(|name| below(name)));
        match places.workspace {
            Workspace::Project { git } => {
                self.protect.push(below(wavecrew_session::WORKFLOW_FOLDER));
                if let Some(git) = git {
                    // Named on its own, so that it cannot be moved away and replaced.
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

/// What nobody may read: credentials, and the logins of other agents.
pub fn secrets(home: &Path, other_logins: &[PathBuf]) -> Vec<PathBuf> {
    let own = CREDENTIALS.iter().map(|name| home.join(name));
    let machine = MACHINE_CREDENTIALS.iter().map(PathBuf::from);
    own.chain(machine).chain(other_logins.iter().cloned()).collect()
}

/// Sockets to hide.
pub fn services() -> Vec<PathBuf> {
    SERVICES.map(PathBuf::from).to_vec()
}

/// The fewest places that cover everything below `root` except `denied`. `list` returns the entries of a folder.
pub fn all_but(root: &Path, denied: &[PathBuf], list: &impl Fn(&Path) -> Vec<PathBuf>) -> Vec<PathBuf> {
    if denied.iter().any(|path| root.starts_with(path)) {
        return Vec::new();
    }
    let inside: Vec<PathBuf> = denied
        .iter()
        .filter(|path| path.starts_with(root))
        .cloned()
        .collect();
    if inside.is_empty() {
        return vec![root.to_owned()];
    }
    let entries = list(root).into_iter();
    entries.flat_map(|entry| all_but(&entry, &inside, list)).collect()
}

#[cfg(test)]
mod tests;
