//! The coordinator's state of one turn of a worker, from the driver's request to its end.

use super::pipes::Work;
use crate::git::GitState;
use crate::objects::ObjectId;
use crate::path_map::PathMap;
use crate::task::{Root, StdinSource};
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedSender;
use wavecrew_core::worker_variables;
use wavecrew_process::ProcessExit;
use wavecrew_remote::lease::CoordinatorLease;
use wavecrew_remote::wire::AttemptToken;
use wavecrew_run::place::WorkerFacts;

/// How often a turn is offered again after its files were lost in transfer.
pub(super) const FILE_TRIES: u32 = 3;

/// The command line of a turn.
pub(super) struct CommandLine {
    pub program: OsString,
    pub args: Vec<OsString>,
    pub cwd: PathBuf,
    pub env_set: Vec<(OsString, OsString)>,
    pub env_remove: Vec<OsString>,
}

pub(super) struct Turn {
    pub facts: WorkerFacts,
    pub command: CommandLine,
    pub confined: bool,
    pub stage: Stage,
    pub ready: Option<Ready>,
    /// The worker's standard input; `None` if it arrives in pieces.
    pub stdin: Option<Vec<u8>>,
    /// Sends to the task that passes its output on.
    pub pipe: UnboundedSender<Work>,
    /// Standard input that comes piece by piece.
    pub input: Option<OwnedFd>,
    pub closing: Option<Duration>,
    pub file_tries: u32,
    /// The person was informed that no host fits.
    pub notified: bool,
    /// From the paths of the coordinator that began the turn to those of this one, if they differ.
    pub map: PathMap,
    /// The number of the worker's last command, so that a repeated one is not executed again.
    pub last_request: u64,
}

impl CommandLine {
    /// The file with the worker's message.
    pub fn prompt_file(&self) -> Option<PathBuf> {
        let mut variables = self.env_set.iter();
        let found = variables.find(|(name, _)| name == OsStr::new(worker_variables::PROMPT_FILE));
        found.map(|(_, value)| PathBuf::from(value))
    }
}

/// The state of a turn.
pub(super) enum Stage {
    Preparing,
    /// No host yet. Not offered before this time.
    Waiting {
        since: Instant,
    },
    Offered(Offer),
    Running(Offer),
    /// The process has ended; its files are being transferred.
    Ending(Offer),
}

/// A turn at a host.
pub(super) struct Offer {
    pub token: AttemptToken,
    pub host: String,
    /// The start of the host's program when it got the offer.
    pub boot: String,
    pub lease_key: String,
    pub lease: CoordinatorLease,
    /// To the task that sends messages to the host, in order.
    pub outbox: UnboundedSender<Outgoing>,
}

/// A message to a host.
pub(super) struct Outgoing {
    pub id: String,
    pub payload: Vec<u8>,
}

/// What a host needs.
#[derive(Clone)]
pub(super) struct Ready {
    pub roots: Vec<Root>,
    pub git: Option<GitState>,
    /// Objects that are sent in the offer.
    pub inline: Vec<(ObjectId, Vec<u8>)>,
    pub stdin: StdinSource,
}

/// How a turn ended.
pub(super) enum Ended {
    Exited {
        exit: ProcessExit,
        leftovers: u32,
        notes: Vec<String>,
    },
    FilesLost(String),
}

impl Turn {
    /// A command of the worker with this coordinator's paths.
    pub fn map_json(&self, value: serde_json::Value) -> serde_json::Value {
        if self.map == PathMap::default() {
            return value;
        }
        serde_json::from_str(&self.map.text(&value.to_string())).unwrap_or(value)
    }

    pub fn offer(&self) -> Option<&Offer> {
        match &self.stage {
            Stage::Preparing | Stage::Waiting { .. } => None,
            Stage::Offered(offer) | Stage::Running(offer) | Stage::Ending(offer) => Some(offer),
        }
    }

    pub fn offer_mut(&mut self) -> Option<&mut Offer> {
        match &mut self.stage {
            Stage::Preparing | Stage::Waiting { .. } => None,
            Stage::Offered(offer) | Stage::Running(offer) | Stage::Ending(offer) => Some(offer),
        }
    }
}
