//! The host's side: offers slots, accepts turns, runs them under its own guardian, and sends back their
//! results.

mod announce;
mod host_files;
mod lease;
mod mirror;
mod orders;
mod outbox;
mod output;
mod process;
mod relay;
mod repository;
mod return_changes;
mod serve;
mod slot;
mod slots;
mod turn;

pub use serve::{HostError, serve};

use std::path::PathBuf;
use wavecrew_process::guardian::GuardianCommand;
use wavecrew_remote::connect::ConnectionSettings;
use wavecrew_remote::sign::Trust;
use wavecrew_remote::wire::HostAgent;

/// How a host takes part.
#[derive(Debug)]
pub struct HostSettings {
    pub connection: ConnectionSettings,
    /// The project that it serves.
    pub project: String,
    pub name: String,
    pub slots: u32,
    pub labels: Vec<String>,
    pub agents: Vec<HostAgent>,
    /// The keys of users whose runs may use it.
    pub trust: Trust,
    /// Where it keeps objects and copies of projects.
    pub state: PathBuf,
    pub guardian: GuardianCommand,
    /// This program.
    pub program: PathBuf,
}

/// Messages of a host to the person at its terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostNews {
    Ready {
        containment: bool,
    },
    Started {
        task: String,
        run: String,
    },
    Ended {
        task: String,
        run: String,
        how: String,
    },
    /// A message was not executed.
    NotTrusted {
        run: String,
        reason: String,
    },
    LinkDown,
    LinkUp,
    Draining,
}
