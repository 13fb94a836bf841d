//! One worker as the guardian sees it, and the steps of ending what belongs to it. Knows time only as it is told.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use crate::table::Entry;
use crate::{KILL_PAUSE, ProcessExit, freeze_and_kill, signal};

/// What a worker's leftovers get to tidy up after it ended by itself.
pub const LEFTOVER_GRACE: Duration = Duration::from_millis(200);
/// After this long a killed process that is still there belongs to somebody else or hangs in the kernel.
const KILLING: Duration = Duration::from_secs(3);

/// A process that was started on request.
#[derive(Debug)]
pub struct Worker {
    pub pid: Pid,
    pub start_time: u64,
    /// Set once the main process ended.
    pub exit: Option<ProcessExit>,
    /// Who outlived the main process.
    pub leftovers: HashSet<(Pid, u64)>,
}

/// The ending of a set of processes, step by step between other work.
#[derive(Debug)]
pub struct Sweep {
    phase: Phase,
    asked: HashSet<(Pid, u64)>,
}

#[derive(Debug)]
enum Phase {
    Asking { kill_at: Instant },
    Killing { next: Instant, give_up_at: Instant },
    GaveUp,
}

/// How far a sweep is.
#[derive(Debug, PartialEq, Eq)]
pub enum Progress {
    Busy,
    /// Nobody alive was seen. Who died meanwhile may have left children.
    Clean,
    /// Who is left cannot be ended.
    GaveUp,
}

impl Sweep {
    /// Asks with the first step, kills after the grace.
    pub fn new(now: Instant, grace: Duration) -> Self {
        // A grace of centuries is a mistake; it must not overflow the clock.
        let kill_at = now.checked_add(grace).unwrap_or(now);
        Self {
            phase: Phase::Asking { kill_at },
            asked: HashSet::new(),
        }
    }

    /// Kills at that time at the latest.
    pub fn hasten(&mut self, now: Instant, grace: Duration) {
        if let Phase::Asking { kill_at } = &mut self.phase
            && let Some(earlier) = now.checked_add(grace)
        {
            *kill_at = earlier.min(*kill_at);
        }
    }

    pub fn deadline(&self) -> Option<Instant> {
        match self.phase {
            Phase::Asking { kill_at } => Some(kill_at),
            Phase::Killing { next, .. } => Some(next),
            Phase::GaveUp => None,
        }
    }

    /// Does what is due for the members that are alive.
    pub fn step(&mut self, now: Instant, mut members: impl FnMut() -> Vec<Entry>) -> Progress {
        let alive: Vec<Entry> = members().into_iter().filter(Entry::is_alive).collect();
        if alive.is_empty() {
            return Progress::Clean;
        }
        match self.phase {
            Phase::Asking { kill_at } if now < kill_at => {
                for e in alive.iter().filter(|e| self.asked.insert(e.instance())) {
                    signal(e, Signal::TERM);
                }
            }
            Phase::Asking { .. } => self.kill(now, now + KILLING, members),
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
            next: now + KILL_PAUSE,
            give_up_at,
        };
    }
}
