//! What this machine can enforce.

use std::{env, thread};

use landlock::{ABI, Access, AccessFs, LandlockStatus, RulesetAttr};
use serde::{Deserialize, Serialize};

use super::{mounts, seccomp, user_namespace};

/// Lets tests simulate a kernel that supports less: `WAVECREW_SANDBOX_SUPPORT=landlock=3,mounts=0,seccomp=0`.
/// `processes=0` means no PID namespace.
pub(crate) const LESS_SUPPORT: &str = "WAVECREW_SANDBOX_SUPPORT";

/// The version of the kernel's Landlock interface; 0 if there is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LandlockAbi(pub u32);

/// The mechanisms of a machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Support {
    pub landlock: LandlockAbi,
    /// Whether this process may make mount namespaces, as it is or in a user namespace.
    pub mounts: bool,
    pub seccomp: bool,
}

impl Support {
    /// Finds out by trying each mechanism on a thread of its own.
    pub fn detect() -> Self {
        let found = Self {
            landlock: on_thread(landlock_abi),
            mounts: if user_namespace::is_privileged() {
                on_thread(|| mounts::make_namespace().is_ok())
            } else {
                user_namespace::probe()
            },
            seccomp: on_thread(|| seccomp::refuse_dangerous_calls().is_ok()),
        };
        match env::var(LESS_SUPPORT) {
            Ok(less) => found.at_most(&less),
            Err(_) => found,
        }
    }

    /// Whether processes that make mount namespaces have to enter a user namespace first.
    pub fn needs_user_namespace(self) -> bool {
        self.mounts && !user_namespace::is_privileged()
    }

    /// Whether anything at all is enforced.
    pub fn any(self) -> bool {
        self != Self::default()
    }

    fn at_most(mut self, less: &str) -> Self {
        for setting in less.split(',') {
            match setting.split_once('=') {
                Some(("landlock", number)) => {
                    let number = number.parse().unwrap_or_default();
                    self.landlock = self.landlock.min(LandlockAbi(number));
                }
                Some(("mounts", "0")) => self.mounts = false,
                Some(("seccomp", "0")) => self.seccomp = false,
                _ => {}
            }
        }
        self
    }

    /// What is missing on this machine, in words for people; empty if nothing is.
    pub fn missing(self) -> Vec<&'static str> {
        let LandlockAbi(abi) = self.landlock;
        let parts = [
            (abi >= 1, "files (Landlock, Linux 5.13)"),
            (abi >= 2, "moving files between folders (Landlock 2, Linux 5.19)"),
            (abi >= 3, "truncating files (Landlock 3, Linux 6.2)"),
            (abi >= 4, "TCP ports (Landlock 4, Linux 6.7)"),
            (abi >= 5, "device commands (Landlock 5, Linux 6.10)"),
            (abi >= 6, "signals and abstract sockets (Landlock 6, Linux 6.12)"),
            (self.mounts, "read-only mounts (root, or user namespaces)"),
            (self.seccomp, "system calls (seccomp)"),
        ];
        let missing = parts.into_iter().filter(|(there, _)| !there);
        missing.map(|(_, name)| name).collect()
    }
}

/// If no thread can be started, nothing can be confined either.
fn on_thread<T: Default + Send + 'static>(find: impl FnOnce() -> T + Send + 'static) -> T {
    let found = thread::Builder::new().spawn(find).map(thread::JoinHandle::join);
    found.ok().and_then(Result::ok).unwrap_or_default()
}

/// The versions that the library knows, from 1.
const KNOWN: [ABI; 9] = [
    ABI::V1,
    ABI::V2,
    ABI::V3,
    ABI::V4,
    ABI::V5,
    ABI::V6,
    ABI::V7,
    ABI::V8,
    ABI::V9,
];

fn landlock_abi() -> LandlockAbi {
    let restricted = landlock::Ruleset::default()
        .handle_access(AccessFs::from_all(ABI::V1))
        .and_then(landlock::Ruleset::create)
        .and_then(landlock::RulesetCreated::restrict_self);
    let Ok(status) = restricted else {
        return LandlockAbi::default();
    };
    let LandlockStatus::Available {
        effective_abi,
        kernel_abi,
    } = status.landlock
    else {
        return LandlockAbi::default();
    };
    let newer = kernel_abi.and_then(|abi| u32::try_from(abi).ok());
    let known = KNOWN.iter().filter(|abi| **abi <= effective_abi).count();
    LandlockAbi(newer.unwrap_or_else(|| u32::try_from(known).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_offers_less_is_described() {
        let all = Support {
            landlock: LandlockAbi(7),
            mounts: true,
            seccomp: true,
        };
        assert!(all.missing().is_empty() && all.any());
        let less = all.at_most("landlock=3,mounts=0");
        assert_eq!(less.landlock, LandlockAbi(3));
        assert_eq!(less.missing().len(), 4);
        assert!(!all.at_most("landlock=0,mounts=0,seccomp=0").any());
        assert_eq!(all.at_most("landlock=9"), all, "never more than there is");
    }

    #[test]
    fn detecting_does_not_confine_the_caller() {
        let _ = Support::detect();
        assert!(tempfile::tempdir().is_ok());
    }
}
