//! The PID namespace of a guardian and its workers. The guardian is its first process: when that ends, however it ends, the
//! kernel kills every other process of the namespace. No process can leave it, and none in it can signal the guardian, the
//! coordinator or anything else outside.
//!
//! ```text
//! coordinator ── keeper ──[ namespace: guardian (pid 1) ── workers ── ... ]
//! ```
//!
//! A process never changes its own PID namespace, only that of its children. So the process that the
//! coordinator starts makes the namespace and becomes the keeper: it starts the guardian and waits for it. If
//! the keeper is killed, the guardian dies too.
//!
//! Inside, `/proc` shows the processes of the namespace only, and process numbers are its own. [`Namespace::pid_outside`]
//! translates them for everyone else.

use std::env;
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{Pid, PidfdFlags, Signal, getpid, getuid, pidfd_open, set_parent_process_death_signal};
use rustix::stdio::dup2_stdin;
use rustix::thread::{
    UnshareFlags, capabilities, clear_ambient_capability_set, configure_capability_in_ambient_set,
    set_capabilities,
};

/// Makes the namespace and starts this program again as its first process. Returns `None` if the kernel does
/// not allow it; then nothing has changed. The process must have only one thread.
pub fn start_inside() -> io::Result<Option<Child>> {
    if unshare(UnshareFlags::NEWPID | UnshareFlags::NEWNS).is_err() {
        return Ok(None);
    }
    if !getuid().is_root() {
        hand_on_capabilities()?;
    }
    let socket = io::stdin().as_fd().try_clone_to_owned()?;
    let mut words = env::args_os();
    let child = Command::new("/proc/self/exe")
        .arg0(words.next().unwrap_or_default())
        .args(words)
        .stdin(Stdio::from(socket))
        .spawn()?;
    // Closed, so that the coordinator sees by the socket that the guardian is gone, even if this process is
    // stopped.
    dup2_stdin(File::open("/dev/null")?)?;
    Ok(Some(child))
}

/// Starting a program takes its capabilities from an ordinary user. The guardian needs those of its user namespace, to mount
/// what belongs into this namespace and to confine workers.
fn hand_on_capabilities() -> io::Result<()> {
    let mut sets = capabilities(None)?;
    sets.inheritable = sets.permitted;
    set_capabilities(None, sets)?;
    for capability in sets.permitted.iter() {
        configure_capability_in_ambient_set(capability, true)?;
    }
    Ok(())
}

#[expect(
    deprecated,
    reason = "the other form is unsafe because it can split descriptor tables, which these flags do not"
)]
fn unshare(flags: UnshareFlags) -> io::Result<()> {
    Ok(rustix::thread::unshare(flags)?)
}

/// The namespace, from the inside.
#[derive(Debug)]
pub struct Namespace {
    /// The root of the `/proc` outside the namespace.
    proc_outside: OwnedFd,
}

impl Namespace {
    /// If this is the first process of a namespace, shows its processes in `/proc`, and dies with the keeper.
    pub fn enter() -> io::Result<Option<Self>> {
        if getpid() != Pid::INIT {
            return Ok(None);
        }
        set_parent_process_death_signal(Some(Signal::KILL))?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let proc_outside = openat(CWD, "/proc", flags, Mode::empty())?;
        // Later mounts of others appear here too; mounts made here stay here.
        mount_change(
            "/",
            MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC,
        )?;
        let safe = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        mount("proc", "/proc", "proc", safe, None::<&CStr>)?;
        // Workers do not inherit it.
        clear_ambient_capability_set()?;
        Ok(Some(Self { proc_outside }))
    }

    /// The pid of a process of the namespace as seen from outside. `None` if it has ended.
    pub fn pid_outside(&self, pid: Pid) -> Option<Pid> {
        let process = pidfd_open(pid, PidfdFlags::empty()).ok()?;
        let file = format!("self/fdinfo/{}", process.as_raw_fd());
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = openat(&self.proc_outside, file, flags, Mode::empty()).ok()?;
        let mut text = [0; 512];
        let length = File::from(file).read(&mut text).ok()?;
        parse_pid(str::from_utf8(&text[..length]).ok()?)
    }
}

/// Reads the pid from the `fdinfo` of a pidfd: 0 or less if the process is gone.
fn parse_pid(text: &str) -> Option<Pid> {
    let line = text.lines().find_map(|line| line.strip_prefix("Pid:"))?;
    let number: i32 = line.trim().parse().ok()?;
    if number > 0 { Pid::from_raw(number) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_process_is_read() {
        let text = "pos:\t0\nflags:\t02\nmnt_id:\t15\nino:\t9\nPid:\t77\nNSpid:\t77\t4\n";
        assert_eq!(parse_pid(text), Pid::from_raw(77));
        assert_eq!(parse_pid("Pid:\t-1\n"), None);
        assert_eq!(parse_pid("Pid:\t0\n"), None);
        assert_eq!(parse_pid("pos:\t0\n"), None);
    }
}
