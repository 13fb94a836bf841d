//! Where workers run: under the guardian on this machine, or on another host. The driver asks [`Places`] to start and end a
//! worker's process and does not know the difference. Checks always run here.

mod rules;

pub use rules::{PlaceRule, PlaceRules, Placement, Where};

use crate::sandbox::{ConfinedWorker, SandboxSettings};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;
use wavecrew_core::team::Access;
use wavecrew_process::guardian::Guardian;
use wavecrew_process::{GuardianEvent, ProcessError, Spawn};

/// A place where the processes of workers run. What happens to them comes back as events.
pub trait Place {
    /// Asks for a program to be started; `Spawned` or `SpawnFailed` answers. A key names one spawn.
    fn spawn(&self, key: u64, spawn: Spawn, facts: WorkerFacts) -> Result<(), ProcessError>;

    /// Ends a process with everything that it started: SIGTERM first, SIGKILL after the grace time. `Exited`
    /// follows.
    fn close(&self, key: u64, grace: Duration);
}

impl Place for Guardian {
    fn spawn(&self, key: u64, spawn: Spawn, _facts: WorkerFacts) -> Result<(), ProcessError> {
        Self::spawn(self, key, spawn)
    }

    fn close(&self, key: u64, grace: Duration) {
        Self::close(self, key, grace);
    }
}

/// A place on other machines.
pub trait RemotePlace: Place {
    /// Whether this worker could start there at once, or is there already.
    fn has_room(&self, facts: &WorkerFacts) -> bool;

    /// Whether an earlier run of the session left this attempt there, and the next attempt of the task will get its result.
    fn continues(&self, task: &str, attempt: u32) -> bool;

    /// Ends everything there and waits until it is known to be over.
    fn shutdown(self: Box<Self>);

    /// Leaves everything as if this process had been killed: continuing the session finds it.
    fn abandon(self: Box<Self>);
}

/// What a host must offer for a worker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Wanted {
    pub agent: String,
    pub label: Option<String>,
}

/// What another place must know about a worker besides its command line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerFacts {
    pub task: String,
    pub attempt: u32,
    pub turn: u32,
    pub role: String,
    pub access: Access,
    /// The number of its token's file and of its inbox.
    pub number: u32,
    pub wanted: Wanted,
    /// Its working folder, and the worktree that this is in.
    pub folder: PathBuf,
    pub worktree: Option<PathBuf>,
    /// Folder of the files that its agent gets.
    pub private: PathBuf,
    pub temp: Option<PathBuf>,
    /// Folders of the session to which the team's roles write.
    pub work_folders: Vec<String>,
    /// The text of its row.
    pub row: String,
    /// Seconds that are left of its time limit.
    pub seconds_left: u64,
}

impl WorkerFacts {
    pub(crate) fn confined(&self) -> ConfinedWorker<'_> {
        ConfinedWorker {
            agent: &self.wanted.agent,
            role: &self.role,
            access: self.access,
            number: self.number,
            work_folders: &self.work_folders,
            folder: &self.folder,
            worktree: self.worktree.as_deref(),
            row: &self.row,
            private: &self.private,
        }
    }
}

/// What another place reports.
#[derive(Debug)]
pub enum PlaceEvent {
    Process(GuardianEvent),
    /// The process is out of reach: its host is gone, or has lost the right to work on the attempt. No `Exited` follows.
    Lost {
        key: u64,
        reason: String,
    },
    /// A note for the person, such as that the place cannot be reached at the moment.
    Note(String),
}

/// Opens the place when the run starts.
pub type OpenRemote = Box<dyn FnOnce(RemoteSession<'_>) -> Result<Box<dyn RemotePlace>, String>>;

/// The run that wants workers elsewhere.
#[derive(Debug)]
pub struct RemoteSession<'a> {
    pub session: &'a Path,
    pub project: &'a Path,
    pub sandbox: &'a SandboxSettings,
    pub events: UnboundedSender<PlaceEvent>,
}

/// Workers on other machines, as a run is given them.
pub struct RemoteWorkers {
    pub rules: PlaceRules,
    pub open: OpenRemote,
}

/// A place on other machines that is open, and the rules that lead there.
pub(crate) type OpenPlace = (Box<dyn RemotePlace>, PlaceRules);

/// All places of a run.
pub(crate) struct Places {
    guardian: Guardian,
    elsewhere: Option<OpenPlace>,
    /// Keys of processes that were started elsewhere.
    away: HashSet<u64>,
}

impl Places {
    pub fn new(guardian: Guardian, elsewhere: Option<OpenPlace>) -> Self {
        Self {
            guardian,
            elsewhere,
            away: HashSet::new(),
        }
    }

    /// Starts a worker's process in the place that the rules select.
    pub fn spawn_worker(
        &mut self,
        key: u64,
        spawn: Spawn,
        mut facts: WorkerFacts,
    ) -> Result<(), ProcessError> {
        if let Some((place, rules)) = &self.elsewhere {
            let Placement { place: wanted, label } = rules.decide(&facts.role, &facts.wanted.agent);
            facts.wanted.label = label;
            let away = match wanted {
                Where::Local => false,
                Where::Remote => true,
                Where::Any => place.has_room(&facts),
            };
            if away {
                self.away.insert(key);
                return place.spawn(key, spawn, facts);
            }
        }
        Place::spawn(&self.guardian, key, spawn, facts)
    }

    /// Starts a check, which always runs here.
    pub fn spawn_check(&self, key: u64, spawn: Spawn) -> Result<(), ProcessError> {
        self.guardian.spawn(key, spawn)
    }

    pub fn close(&self, key: u64, grace: Duration) {
        match &self.elsewhere {
            Some((place, _)) if self.away.contains(&key) => place.close(key, grace),
            _ => self.guardian.close(key, grace),
        }
    }

    /// A process is over.
    pub fn forget(&mut self, key: u64) {
        self.away.remove(&key);
    }

    /// Ends all processes. After a failure, processes in other places keep running, for the continuation of
    /// the session.
    pub async fn shutdown(self, failed: bool) {
        if let Some((place, _)) = self.elsewhere {
            // The remote place waits for other machines, so the guardian's workers are ended first.
            let end = async { if failed { place.abandon() } else { place.shutdown() } };
            let _ = tokio::join!(end, self.guardian.shutdown());
        } else {
            self.guardian.shutdown().await;
        }
    }
}
