//! Ends sets of processes: SIGTERM, wait, freeze, SIGKILL, repeat. Does not decide which processes belong to a set.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, getpid, kill_process, pidfd_open, pidfd_send_signal};

use super::detached::attached_descendants;
use crate::process_table::{self, Entry};

/// The time that processes have to clean up after themselves.
const GRACE: Duration = Duration::from_millis(300);
/// The time between two rounds of killing: long enough for the kernel to remove a process.
pub const KILL_INTERVAL: Duration = Duration::from_millis(5);
/// A killed process that still exists after this time belongs to another user or hangs in the kernel.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// Ends every descendant of this process, adopted ones too, except [detached](crate::start_detached) children. Blocks for at
/// most a few seconds and returns the number of processes that it ended. Does not reap children: their owners do.
pub fn end_all_descendants() -> usize {
    end_processes(attached_descendants, std::thread::sleep).0
}

/// Ends the processes that `roots` lists with all their descendants, but never this process and its ancestors. Returns how many
/// there were, and those that are left.
pub fn end_process_trees(mut roots: impl FnMut() -> Vec<Entry>) -> (usize, Vec<Entry>) {
    let spared = self_and_ancestors();
    let members = || {
        let mut found = HashMap::new();
        for root in roots() {
            for e in process_table::descendants(root.pid).into_iter().chain([root]) {
                found.insert(e.pid, e);
            }
        }
        found.into_values().filter(|e| !spared.contains(&e.pid)).collect()
    };
    end_processes(members, std::thread::sleep)
}

/// Ends the processes that `members` lists until none is alive. Returns how many there were, and those that are left.
pub fn end_processes(
    mut members: impl FnMut() -> Vec<Entry>,
    mut pause: impl FnMut(Duration),
) -> (usize, Vec<Entry>) {
    let mut seen = HashSet::new();
    let mut alive = Vec::new();
    let mut sweep = Sweep::new(Instant::now(), GRACE);
    let mut was_clean = false;
    loop {
        let progress = sweep.step(Instant::now(), || {
            alive = members();
            alive.retain(Entry::is_alive);
            seen.extend(alive.iter().map(Entry::instance));
            alive.clone()
        });
        match progress {
            // A process that died while the table was read may have left children that only the second
            // reading finds.
            Progress::Clean if !was_clean => was_clean = true,
            Progress::Clean | Progress::GaveUp => return (seen.len(), alive),
            Progress::Busy => {
                was_clean = false;
                pause(KILL_INTERVAL);
            }
        }
    }
}

/// Ends a set of processes, step by step between other work.
#[derive(Debug)]
pub struct Sweep {
    phase: Phase,
    signalled: HashSet<(Pid, u64)>,
}

#[derive(Debug)]
enum Phase {
    Terminating { kill_at: Instant },
    Killing { next: Instant, give_up_at: Instant },
    GaveUp,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Progress {
    Busy,
    /// No member is alive. One that just died may have left children.
    Clean,
    /// The remaining processes cannot be ended.
    GaveUp,
}

impl Sweep {
    /// Sends SIGTERM in the first step, and SIGKILL after the grace time.
    pub fn new(now: Instant, grace: Duration) -> Self {
        // A very long grace time must not overflow the clock.
        let kill_at = now.checked_add(grace).unwrap_or(now);
        Self {
            phase: Phase::Terminating { kill_at },
            signalled: HashSet::new(),
        }
    }

    /// Moves the kill forward, never back.
    pub fn hasten(&mut self, now: Instant, grace: Duration) {
        if let Phase::Terminating { kill_at } = &mut self.phase
            && let Some(earlier) = now.checked_add(grace)
        {
            *kill_at = earlier.min(*kill_at);
        }
    }

    pub fn deadline(&self) -> Option<Instant> {
        match self.phase {
            Phase::Terminating { kill_at } => Some(kill_at),
            Phase::Killing { next, .. } => Some(next),
            Phase::GaveUp => None,
        }
    }

    /// Does what is due now.
    pub fn step(&mut self, now: Instant, mut members: impl FnMut() -> Vec<Entry>) -> Progress {
        let alive: Vec<Entry> = members().into_iter().filter(Entry::is_alive).collect();
        if alive.is_empty() {
            return Progress::Clean;
        }
        match self.phase {
            Phase::Terminating { kill_at } if now < kill_at => {
                for e in alive.iter().filter(|e| self.signalled.insert(e.instance())) {
                    send_signal(e, Signal::TERM);
                }
            }
            Phase::Terminating { .. } => self.kill(now, now + KILL_TIMEOUT, members),
            Phase::Killing { next, .. } if now < next => {}
            Phase::Killing { give_up_at, .. } if now < give_up_at => self.kill(now, give_up_at, members),
            Phase::Killing { .. } | Phase::GaveUp => {
                self.phase = Phase::GaveUp;
                return Progress::GaveUp;
            }
        }
        Progress::Busy
    }

    fn kill(&mut self, now: Instant, give_up_at: Instant, members: impl FnMut() -> Vec<Entry>) {
        freeze_and_kill(members);
        self.phase = Phase::Killing {
            next: now + KILL_INTERVAL,
            give_up_at,
        };
    }
}

/// Stops all members before killing any, so that none can fork while the others die.
fn freeze_and_kill(mut members: impl FnMut() -> Vec<Entry>) {
    /// Freezing converges when it is faster than the forking; if it is not, killing leaves fewer for the next time.
    const ROUNDS: usize = 8;
    let mut frozen = HashMap::new();
    for _ in 0..ROUNDS {
        let before = frozen.len();
        for e in members() {
            if e.is_alive() && frozen.insert(e.instance(), e).is_none() {
                send_signal(&e, Signal::STOP);
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

fn self_and_ancestors() -> HashSet<Pid> {
    let mut found = HashSet::new();
    let mut next = Some(getpid());
    while let Some(pid) = next
        && found.insert(pid)
    {
        next = process_table::entry(pid).and_then(|e| Pid::from_raw(e.parent));
    }
    found
}
