//! One worker as the guardian sees it, and the steps of ending its processes. Time comes in as an argument.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use crate::process_table::Entry;
use crate::{KILL_INTERVAL, ProcessExit, freeze_and_kill, send_signal};

/// The time that leftovers of a worker have to clean up after its main process exited.
pub const LEFTOVER_GRACE: Duration = Duration::from_millis(200);
/// A killed process that is still there after this time belongs to another user or hangs in the kernel.
const KILL_TIMEOUT: Duration = Duration::from_secs(3);

/// A process that was started on request.
#[derive(Debug)]
pub struct Worker {
    pub pid: Pid,
    pub start_time: u64,
    /// Set once the main process ended.
    pub exit: Option<ProcessExit>,
    /// Processes that outlived the main process.
    pub leftovers: HashSet<(Pid, u64)>,
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
    /// What is left cannot be ended.
    GaveUp,
}

impl Sweep {
    /// Sends SIGTERM in the first step, kills after the grace.
    pub fn new(now: Instant, grace: Duration) -> Self {
        // A grace of centuries must not overflow the clock.
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
        freeze_and_kill(members, |_| {});
        self.phase = Phase::Killing {
            next: now + KILL_INTERVAL,
            give_up_at,
        };
    }
}
