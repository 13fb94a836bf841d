//! What a coordinator sends to a host about a turn besides its command line, and what the host sends back.

use crate::files::{Changes, Selection};
use crate::git::{GitBack, GitState};
use crate::objects::ObjectId;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use wavecrew_run::place::WorkerFacts;
use wavecrew_run::sandbox::{NetworkSetting, SandboxMode, SandboxSettings};
use wavecrew_session::SessionPaths;

/// `Turn::details` on the wire. Paths are the coordinator's.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Details {
    /// The version of the coordinator's program.
    pub version: String,
    pub facts: WorkerFacts,
    pub project: PathBuf,
    pub session: PathBuf,
    /// The coordinator's program, which workers call as `wavecrew`.
    pub program: PathBuf,
    pub cwd: PathBuf,
    pub roots: Vec<Root>,
    pub stdin: StdinSource,
    pub git: Option<GitState>,
    pub sandbox: SandboxFacts,
    /// Whether the coordinator confines workers.
    pub confined: bool,
    /// The hashes and lengths of the objects that follow the message.
    pub inline: Vec<(ObjectId, usize)>,
}

/// `Accepted::details` on the wire: the facts that a coordinator needs to continue a turn on a host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TurnAtHost {
    pub facts: WorkerFacts,
    pub project: PathBuf,
    pub session: PathBuf,
    pub roots: Vec<Root>,
}

impl From<&Details> for TurnAtHost {
    fn from(details: &Details) -> Self {
        Self {
            facts: details.facts.clone(),
            project: details.project.clone(),
            session: details.session.clone(),
            roots: details.roots.clone(),
        }
    }
}

/// A folder that is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    pub kind: RootKind,
    pub path: PathBuf,
    pub snapshot: ObjectId,
    /// In bytes, to check whether it fits.
    pub bytes: u64,
    /// Patterns of ignored files that are sent.
    #[serde(default)]
    pub include: Vec<String>,
    /// Further files below the folder, although their own folder is not sent.
    #[serde(default)]
    pub also: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RootKind {
    Project,
    Session,
    Worktree,
    /// The worker's inbox in the session.
    Inbox,
    /// Files that its agent gets.
    Private,
}

impl RootKind {
    /// Which files of the folder are sent.
    pub fn selection(self, include: &[String], also: &[PathBuf]) -> Selection {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect();
        let (follow_gitignore, without) = match self {
            Self::Project => (true, paths(&[wavecrew_session::WORKFLOW_FOLDER])),
            Self::Worktree => (true, Vec::new()),
            Self::Session => (false, session_without()),
            Self::Inbox => (false, paths(&["relay"])),
            Self::Private => (false, Vec::new()),
        };
        Selection {
            follow_gitignore,
            without,
            include: include.to_vec(),
            also: also.to_vec(),
        }
    }

    /// Names at the top that stay on the host, even if the snapshot does not have them.
    pub fn kept(self) -> &'static [&'static str] {
        match self {
            Self::Project => &[".git", wavecrew_session::WORKFLOW_FOLDER],
            Self::Worktree => &[".git"],
            // What earlier turns left in `.run`, such as prompts and inboxes, goes.
            Self::Session => &["worktrees"],
            Self::Inbox | Self::Private => &[],
        }
    }

    /// Whether the worker's changes are sent back.
    pub fn comes_back(self) -> bool {
        self != Self::Private
    }

    /// Whether paths of the coordinator in its files become paths of the host.
    pub fn has_paths(self) -> bool {
        matches!(self, Self::Session | Self::Inbox | Self::Private)
    }
}

/// The files of a session that are not sent: its own files, and those of other workers.
fn session_without() -> Vec<PathBuf> {
    let paths = SessionPaths::relative();
    vec![
        paths.journal_file(),
        paths.lock_file(),
        paths.logs_folder(),
        paths.prompts_folder(),
        paths.worktrees_folder(),
        paths.run_folder(),
        paths.message_folder(),
    ]
}

/// Files of a session that several workers append to.
pub fn is_shared(path: &str) -> bool {
    let paths = SessionPaths::relative();
    let path = Path::new(path);
    path == paths.discoveries_file() || path.starts_with(paths.wisdom_folder())
}

/// Standard input of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum StdinSource {
    Text {
        text: String,
    },
    Object {
        id: ObjectId,
    },
    /// Arrives in messages.
    Messages,
}

/// The sandbox settings of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxFacts {
    pub mode: String,
    pub network: String,
    pub ports: Vec<u16>,
}

impl SandboxFacts {
    pub fn of(settings: &SandboxSettings, role: &str) -> Self {
        Self {
            mode: match settings.mode {
                SandboxMode::Auto => "auto",
                SandboxMode::Require => "require",
                SandboxMode::Off => "off",
            }
            .to_owned(),
            network: match settings.network_of(role) {
                NetworkSetting::Any => "any",
                NetworkSetting::Agent => "agent",
                NetworkSetting::Off => "off",
            }
            .to_owned(),
            ports: settings.ports.clone(),
        }
    }

    /// The settings for this machine. An unknown value counts as the strictest one.
    pub fn settings(&self) -> SandboxSettings {
        SandboxSettings {
            mode: SandboxMode::parse(&self.mode).unwrap_or_default(),
            network: NetworkSetting::parse(&self.network).unwrap_or(NetworkSetting::Off),
            ports: self.ports.clone(),
            ..SandboxSettings::default()
        }
    }
}

/// The results of a turn: an object whose id is in `Exited`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReturnedChanges {
    pub roots: Vec<(PathBuf, Changes)>,
    #[serde(default)]
    pub git: Option<GitBack>,
    /// Notes for the person about things that the host could not do.
    #[serde(default)]
    pub notes: Vec<String>,
}
