//! The processes that the guardian adopted: children it did not start. Finds out whose they were.

use std::collections::{HashMap, HashSet};

use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, wait};

use super::worker::Worker;
use crate::WORKER_VARIABLE;
use crate::process_table::{self, Entry};

/// `__WNOTHREAD` of wait(2): only children of the calling thread.
const OF_THIS_THREAD: u32 = 0x2000_0000;
/// Asks the main thread for those it adopted and that ended.
pub const ADOPTED: WaitOptions = WaitOptions::NOHANG.union(WaitOptions::from_bits_retain(OF_THIS_THREAD));

/// Whose an orphan is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    Worker(u64),
    /// It hid its origin, and several workers are old enough to have started it.
    Unknown,
    /// Its worker is over.
    Nobody,
}

/// Everyone adopted at the moment, with the owner found when they were first seen.
#[derive(Debug)]
pub struct Orphans {
    me: Pid,
    known: HashMap<Pid, (u64, Owner)>,
    /// Processes once seen below a worker, for when they lose their parents.
    seen: HashMap<(Pid, u64), u64>,
}

impl Orphans {
    pub fn of(me: Pid) -> Self {
        Self {
            me,
            known: HashMap::new(),
            seen: HashMap::new(),
        }
    }

    /// Looks again who is there. `running` are the main processes of workers, which are no orphans; `starting` is the number
    /// of those that are not in it yet.
    pub fn refresh(&mut self, running: &HashMap<Pid, u64>, starting: usize, workers: &HashMap<u64, Worker>) {
        if nobody_adopted() {
            self.known.clear();
            return;
        }
        // Who dies while we look may have left children after the list was made: look again until nobody did.
        let mut dead = HashSet::new();
        loop {
            let Some(adopted) = self.adopted(starting) else {
                return;
            };
            let adopted = adopted.into_iter().filter(|pid| !running.contains_key(pid));
            let entries: Vec<Entry> = adopted.filter_map(process_table::entry).collect();
            let mut died = |e: &Entry| !e.is_alive() && dead.insert(e.pid);
            if entries.iter().filter(|e| died(e)).count() == 0 {
                let alive = entries.iter().filter(|e| e.is_alive());
                self.known = alive
                    .map(|e| (e.pid, (e.start_time, self.owner(e, workers))))
                    .collect();
                return;
            }
        }
    }

    /// All children that no lane started, ended ones too; `None` when they cannot be told apart at the moment.
    fn adopted(&self, starting: usize) -> Option<Vec<Pid>> {
        process_table::children_of_main_thread(self.me)
            // Whoever is just being started could be taken for an orphan; there will be a quieter moment.
            .or_else(|| {
                if starting == 0 {
                    Some(process_table::children(self.me))
                } else {
                    None
                }
            })
    }

    fn owner(&self, e: &Entry, workers: &HashMap<u64, Worker>) -> Owner {
        let owner = match self.known.get(&e.pid) {
            Some(&(start_time, owner)) if start_time == e.start_time => owner,
            _ => self.find_owner(e, workers),
        };
        match owner {
            Owner::Worker(key) if !workers.contains_key(&key) => Owner::Nobody,
            Owner::Unknown => by_age(e, workers),
            other => other,
        }
    }

    /// All processes at and below the orphans of one owner.
    pub fn trees(&self, of: Owner) -> Vec<Entry> {
        let mut found = Vec::new();
        for (&pid, _) in self.known.iter().filter(|(_, (_, owner))| *owner == of) {
            found.extend(process_table::entry(pid));
            found.extend(process_table::descendants(pid));
        }
        found
    }

    pub fn has(&self, owner: Owner) -> bool {
        self.known.values().any(|(_, o)| *o == owner)
    }

    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// These are of this worker, wherever they turn up.
    pub fn remember(&mut self, key: u64, members: &[Entry]) {
        self.seen.extend(members.iter().map(|e| (e.instance(), key)));
    }

    pub fn forget(&mut self, key: u64) {
        self.seen.retain(|_, of| *of != key);
    }

    fn find_owner(&self, e: &Entry, workers: &HashMap<u64, Worker>) -> Owner {
        let by_group = || {
            workers
                .iter()
                .find(|(_, w)| w.pid.as_raw_pid() == e.group)
                .map(|(&key, _)| key)
        };
        let seen = self.seen.get(&e.instance()).copied();
        seen.or_else(by_group)
            .or_else(|| marked(self.me, e.pid))
            .map_or(Owner::Unknown, Owner::Worker)
    }
}

/// Whether the main thread, which alone adopts, has no children: a short question for what is mostly so.
fn nobody_adopted() -> bool {
    matches!(wait(ADOPTED), Err(Errno::CHILD))
}

/// Who hides its origin cannot hide its age: it is of a worker that was there before it. Only later workers can join,
/// so that sooner or later one candidate is left.
fn by_age(e: &Entry, workers: &HashMap<u64, Worker>) -> Owner {
    let mut older = workers.iter().filter(|(_, w)| w.start_time <= e.start_time);
    match (older.next(), older.next()) {
        (None, _) => Owner::Nobody,
        (Some((&key, _)), None) => Owner::Worker(key),
        (Some(_), Some(_)) => Owner::Unknown,
    }
}

/// The value of [`WORKER_VARIABLE`] in a worker.
pub fn worker_mark(guardian: Pid, key: u64) -> String {
    format!("{}-{key}", guardian.as_raw_pid())
}

fn marked(me: Pid, pid: Pid) -> Option<u64> {
    let mark = String::from_utf8(process_table::environment_variable(pid, WORKER_VARIABLE)?).ok()?;
    let (guardian, key) = mark.split_once('-')?;
    if guardian.parse() == Ok(me.as_raw_pid()) {
        key.parse().ok()
    } else {
        None
    }
}
