//! The guardian: one small child process of the coordinator that starts every worker, adopts every orphan of
//! theirs, and ends all of them when the coordinator ends, however it ends. It knows nothing of tasks, waves
//! or reports.
//!
//! ```text
//! coordinator ──[ SEQPACKET socket: requests with descriptors, answers ]── guardian (subreaper) ── workers ── ...
//! ```
//!
//! Where the kernel allows it, guardian and workers live in a PID [namespace] of their own, which ends with
//! the guardian. Elsewhere the coordinator ends the workers of a killed guardian: it is a subreaper too, so
//! it adopts them.

mod cleanup;
mod client;
mod confined_threads;
mod known_confinements;
mod namespace;
mod orphans;
mod packet;
mod server;
mod spawn_threads;
mod wire;
mod worker;

use std::ffi::OsString;
use std::process::ExitCode;

use serde::{Deserialize, Serialize};

use crate::sandbox::enter_user_namespace;
pub use client::Guardian;

/// Confinements that are kept ready. Workers of one slot and role share theirs.
const KEPT_CONFINEMENTS: usize = 128;

/// How to start this program again as a guardian, e.g. `/proc/self/exe __guardian`.
#[derive(Debug, Clone)]
pub struct GuardianCommand {
    pub program: OsString,
    pub args: Vec<OsString>,
    /// Environment variables for it and every worker, besides the coordinator's own.
    pub env: Vec<(OsString, OsString)>,
}

/// What keeps workers from outliving a run whose coordinator and guardian are both killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Containment {
    /// The kernel ends them with the guardian.
    Namespace,
    /// Nothing: hidden processes of workers survive until the session is continued.
    None,
}

/// An argument of a guardian that starts confined programs for a user without privileges.
pub const USER_NAMESPACE: &str = "--user-namespace";
/// An argument of a guardian that makes no PID namespace.
const NO_PID_NAMESPACE: &str = "--no-pid-namespace";

/// The main function of a guardian process. Its stdin is the socket to the coordinator.
pub fn guardian_main(words: &[String]) -> ExitCode {
    if words.iter().any(|word| word == USER_NAMESPACE)
        && let Err(error) = enter_user_namespace()
    {
        eprintln!("the guardian cannot enter a user namespace: {error}");
        return ExitCode::from(2);
    }
    let containment = if words.iter().any(|word| word == NO_PID_NAMESPACE) {
        Containment::None
    } else {
        Containment::Namespace
    };
    match server::guard(containment) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
