//! Confinement of processes by the kernel: what a process and all its descendants may read, write and reach. A thread
//! confines itself and then spawns, so that nothing runs between fork and exec and nobody can lift the confinement.
//!
//! Three mechanisms complement each other. Landlock restricts files, TCP, signals and abstract sockets. A
//! mount namespace makes everything else read-only, also for calls that Landlock does not know, such as
//! chmod. A seccomp filter refuses the system calls with which a process could leave either. Root drops the
//! capabilities that would circumvent them. The caller decides what to allow.

mod capabilities;
mod landlock_rules;
mod mounts;
pub mod places;
mod programs;
mod seccomp;
mod support;
mod user_namespace;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub(crate) use landlock_rules::Ruleset;
pub(crate) use programs::spawn_confined_by_landlock;
pub use programs::{ProgramRules, RULES_VARIABLE, home, spawn_confined};
pub(crate) use support::LESS_SUPPORT;
pub use support::{LandlockAbi, Support};
pub use user_namespace::{PROBE_ARGUMENT, enter_user_namespace, probe_main};

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
    /// Processes with equal confinements share their mounts. This number tells those apart whose places were replaced in
    /// between.
    #[serde(default)]
    pub edition: u64,
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
    /// Whether a path, without links in it, may be changed.
    pub fn may_write(&self, path: &Path) -> bool {
        let allowed = depth(&self.write, path);
        if !self.support.mounts {
            return allowed > 0;
        }
        allowed > depth(&self.protect, path).max(depth(&self.hide, path))
    }

    /// Whether a path, without links in it, may be read.
    pub fn may_read(&self, path: &Path) -> bool {
        let allowed = depth(&self.read, path).max(depth(&self.write, path));
        allowed > 0 && !self.hides(path)
    }

    /// Whether a path, without links in it, seems not to exist.
    pub fn hides(&self, path: &Path) -> bool {
        depth(&self.hide, path) > depth(&self.show, path).max(depth(&self.write, path))
    }

    /// Prepares the calling thread: the mount namespace and the system call filter, which later threads inherit. Returns
    /// the rules for each process.
    pub(crate) fn enter(&self) -> std::io::Result<Ruleset> {
        if self.support.mounts {
            mounts::enter(self)?;
        }
        // Opened inside the namespace. The rules apply to files, on whatever path they are reached.
        let ruleset = Ruleset::new(self)?;
        capabilities::give_up();
        if self.support.seccomp {
            seccomp::refuse_dangerous_calls()?;
        }
        Ok(ruleset)
    }
}

/// How many parts the longest of these places has that a path is in; 0 if it is in none.
fn depth(places: &[PathBuf], path: &Path) -> usize {
    let above = places.iter().filter(|place| path.starts_with(place));
    above.map(|place| place.components().count()).max().unwrap_or(0)
}
