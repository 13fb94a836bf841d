//! Ends sets of processes for good: ask, wait, freeze, kill, look again. Decides nothing about who belongs to a set.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, getpid, kill_process, pidfd_open, pidfd_send_signal};

use super::detached;
use crate::process_table::{self, Entry};

/// What processes get to tidy up after themselves when the whole run ends at once.
const GRACE: Duration = Duration::from_millis(300);
/// Between two rounds of killing: long enough for the kernel to take a process down, short against the two seconds.
pub const KILL_INTERVAL: Duration = Duration::from_millis(5);
/// Give up on what does not die: other users' processes, and those stuck in the kernel.
const LIMIT: Duration = Duration::from_secs(5);

/// Ends every descendant of this process, also those that it adopted, but for those that are apart. Blocks for at most a few seconds; returns
/// the number of processes that it ended. Does not wait for children: their owners do.
pub fn end_all_descendants() -> usize {
    end_processes(detached::descendants, std::thread::sleep).0
}

/// Ends what `members` finds, until it finds nothing alive. Returns how many there were and who is left.
pub fn end_processes(
    mut members: impl FnMut() -> Vec<Entry>,
    mut pause: impl FnMut(Duration),
) -> (usize, Vec<Entry>) {
    let mut seen = HashSet::new();
    let start = Instant::now();
    let mut asked = HashSet::new();
    loop {
        let mut alive = living(&mut members);
        if alive.is_empty() {
            // Who died during the first look may have left children that only a second one sees.
            alive = living(&mut members);
        }
        if alive.is_empty() {
            return (seen.len(), alive);
        }
        seen.extend(alive.iter().map(Entry::instance));
        if start.elapsed() < GRACE {
            for e in alive.iter().filter(|e| asked.insert(e.instance())) {
                signal(e, Signal::TERM);
            }
        } else if start.elapsed() < LIMIT {
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
pub fn freeze_and_kill(mut members: impl FnMut() -> Vec<Entry>, mut found: impl FnMut(&Entry)) {
    /// Freezing converges as soon as it is faster than the forking; if it is not, the killing thins them out.
    const ROUNDS: usize = 8;
    let mut frozen = HashMap::new();
    for _ in 0..ROUNDS {
        let before = frozen.len();
        for e in members() {
            if e.is_alive() && frozen.insert(e.instance(), e).is_none() {
                signal(&e, Signal::STOP);
                found(&e);
            }
        }
        if frozen.len() == before {
            break;
        }
    }
    for e in frozen.values() {
        signal(e, Signal::KILL);
    }
}

/// Signals exactly this process, never a later one with its pid.
pub fn signal(to: &Entry, signal: Signal) {
    let same = || process_table::entry(to.pid).is_some_and(|now| now.start_time == to.start_time);
    match pidfd_open(to.pid, PidfdFlags::empty()) {
        Ok(fd) if same() => {
            let _ = pidfd_send_signal(&fd, signal);
        }
        Ok(_) | Err(Errno::SRCH) => {}
        // No descriptor left, or an old kernel: the window between look and signal is the price.
        Err(_) if same() => {
            let _ = kill_process(to.pid, signal);
        }
        Err(_) => {}
    }
}

/// This process and all above it.
pub fn self_and_ancestors() -> HashSet<Pid> {
    let mut line = HashSet::new();
    let mut next = Some(getpid());
    while let Some(pid) = next
        && line.insert(pid)
    {
        next = process_table::entry(pid).and_then(|e| Pid::from_raw(e.parent));
    }
    line
}
