//! Mount namespaces without root: a process may make them inside a user namespace of its own, where the
//! kernel allows that. Only a process with one thread can enter one, so this comes first in its life.

use std::io;
use std::process::{Command, ExitCode, Stdio};

use rustix::process::{getgid, getuid};
use rustix::thread::{CapabilitySet, UnshareFlags, capabilities};

use super::mounts;

/// The first argument of a process of this program that tests whether this works.
pub const PROBE_ARGUMENT: &str = "__namespaces";
/// Its exit code if it works: a number that no other program returns by accident.
const WORKS: u8 = 77;

/// Whether this process may make mount namespaces as it is.
pub(super) fn is_privileged() -> bool {
    capabilities(None).is_ok_and(|own| own.effective.contains(CapabilitySet::SYS_ADMIN))
}

/// Enters a user namespace in which this user is still this user, if that is needed to make mount namespaces.
/// Programs that this process starts gain no privileges. The process must have one thread.
pub fn enter_user_namespace() -> io::Result<()> {
    if is_privileged() {
        return Ok(());
    }
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    unshare_user()?;
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

#[expect(
    deprecated,
    reason = "the other form is unsafe because it can split descriptor tables, which this flag does not"
)]
fn unshare_user() -> io::Result<()> {
    Ok(rustix::thread::unshare(UnshareFlags::NEWUSER)?)
}

/// The main function of the process that tests it.
pub fn probe_main() -> ExitCode {
    let works = enter_user_namespace().and_then(|()| mounts::make_namespace());
    works.map_or(ExitCode::FAILURE, |()| ExitCode::from(WORKS))
}

/// Whether a process of this user could make mount namespaces that way.
pub(super) fn probe() -> bool {
    let Ok(program) = std::env::current_exe() else {
        return false;
    };
    let ended = Command::new(program)
        .arg(PROBE_ARGUMENT)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    ended.is_ok_and(|status| status.code() == Some(i32::from(WORKS)))
}
