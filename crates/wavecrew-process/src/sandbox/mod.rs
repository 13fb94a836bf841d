//! Confinement of processes by the kernel: what a process and all its descendants may read, write and reach. A thread
//! confines itself and then spawns, so that nothing runs between fork and exec and nobody can lift the confinement.
//!
//! Three mechanisms add up. Landlock restricts files, TCP, signals and abstract sockets. A mount namespace makes everything
//! else read-only, also for calls that Landlock does not know, such as chmod. A seccomp filter refuses the system calls with
//! which a process could leave either, and root gives up the capabilities that would go around them. What to allow is the caller's decision.

mod capabilities;
mod landlock_rules;
mod mounts;
mod seccomp;
mod support;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub(crate) use landlock_rules::Ruleset;
pub use support::{LandlockAbi, Support};

/// What one process and its descendants may do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Confinement {
    /// The mechanisms to use: those that the machine has, or fewer.
    pub support: Support,
    /// Files and folders that may be read and executed, with everything below. Listing folders is always allowed.
    pub read: Vec<PathBuf>,
    /// Files and folders that may be changed, with everything below. They may be read too.
    pub write: Vec<PathBuf>,
    /// Below `write`, but read-only. Only mounts can enforce this: see [`Support::mounts`].
    pub protect: Vec<PathBuf>,
    /// Shown as empty: sockets of services, credentials. Only mounts can enforce this.
    pub hide: Vec<PathBuf>,
    /// Inside of `hide`, but shown.
    pub show: Vec<PathBuf>,
    pub network: Network,
}

/// Which TCP connections a process may make and accept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Network {
    #[default]
    Any,
    /// Connections to these ports only.
    Ports(Vec<u16>),
    Off,
}

impl Confinement {
    /// Prepares the calling thread: the mount namespace and the system call filter, which later threads inherit. Returns
    /// the rules for each process.
    pub(crate) fn enter(&self) -> std::io::Result<Ruleset> {
        if self.support.mounts {
            mounts::enter(self)?;
        }
        // Opened inside of the namespace; the rules hold for files, however they are reached.
        let ruleset = Ruleset::new(self)?;
        capabilities::give_up();
        if self.support.seccomp {
            seccomp::refuse_dangerous_calls()?;
        }
        Ok(ruleset)
    }
}
