//! Ends sets of processes: SIGTERM, wait, freeze, SIGKILL, repeat. Does not decide which processes belong to a set.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, getpid, kill_process, pidfd_open, pidfd_send_signal};

use super::detached::attached_descendants;
use crate::process_table::{self, Entry};

/// The time that processes have to clean up after themselves.
const GRACE: Duration = Duration::from_millis(300);
/// Between two rounds of killing: long enough for the kernel to remove a process.
pub const KILL_INTERVAL: Duration = Duration::from_millis(5);
/// When to give up on processes of other users and those stuck in the kernel.
const GIVE_UP_AFTER: Duration = Duration::from_secs(5);

/// Ends every descendant of this process, adopted ones too, except [detached](crate::start_detached) children. Blocks for at
/// most a few seconds and returns the number of processes that it ended. Does not reap children: their owners do.
pub fn end_all_descendants() -> usize {
    end_processes(attached_descendants, std::thread::sleep).0
}

/// Ends the processes that `members` lists until none is alive. Returns how many there were, and those that are left.
pub fn end_processes(
    mut members: impl FnMut() -> Vec<Entry>,
    mut pause: impl FnMut(Duration),
) -> (usize, Vec<Entry>) {
    let mut seen = HashSet::new();
    let start = Instant::now();
    let mut signalled = HashSet::new();
    loop {
        let mut alive = living(&mut members);
        if alive.is_empty() {
            // A process that died while the table was read may have left children that are only seen now.
            alive = living(&mut members);
        }
        if alive.is_empty() {
            return (seen.len(), alive);
        }
        seen.extend(alive.iter().map(Entry::instance));
        if start.elapsed() < GRACE {
            for e in alive.iter().filter(|e| signalled.insert(e.instance())) {
                send_signal(e, Signal::TERM);
            }
        } else if start.elapsed() < GIVE_UP_AFTER {
            freeze_and_kill(&mut members, |e| {
                seen.insert(e.instance());
            });
        } else {
            return (seen.len(), alive);
        }
        pause(KILL_INTERVAL);
    }
}

fn living(members: &mut impl FnMut() -> Vec<Entry>) -> Vec<Entry> {
    members().into_iter().filter(Entry::is_alive).collect()
}

/// Stops all members before killing any, so that none can fork while the others die.
pub fn freeze_and_kill(mut members: impl FnMut() -> Vec<Entry>, mut on_member: impl FnMut(&Entry)) {
    /// Freezing converges when it is faster than the forking; if it is not, killing leaves fewer for the next time.
    const ROUNDS: usize = 8;
    let mut frozen = HashMap::new();
    for _ in 0..ROUNDS {
        let before = frozen.len();
        for e in members() {
            if e.is_alive() && frozen.insert(e.instance(), e).is_none() {
                send_signal(&e, Signal::STOP);
                on_member(&e);
            }
        }
        if frozen.len() == before {
            break;
        }
    }
    for e in frozen.values() {
        send_signal(e, Signal::KILL);
    }
}

/// Signals exactly this process, never a later one with its pid.
pub fn send_signal(to: &Entry, signal: Signal) {
    let same = || process_table::entry(to.pid).is_some_and(|now| now.start_time == to.start_time);
    match pidfd_open(to.pid, PidfdFlags::empty()) {
        Ok(fd) if same() => {
            let _ = pidfd_send_signal(&fd, signal);
        }
        Ok(_) | Err(Errno::SRCH) => {}
        // No file descriptor left, or an old kernel: accept the small window between check and signal.
        Err(_) if same() => {
            let _ = kill_process(to.pid, signal);
        }
        Err(_) => {}
    }
}

pub fn self_and_ancestors() -> HashSet<Pid> {
    let mut found = HashSet::new();
    let mut next = Some(getpid());
    while let Some(pid) = next
        && found.insert(pid)
    {
        next = process_table::entry(pid).and_then(|e| Pid::from_raw(e.parent));
    }
    found
}
