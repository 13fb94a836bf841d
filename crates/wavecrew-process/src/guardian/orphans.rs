//! The processes that the guardian adopted: children that it did not start. Finds the worker that each belongs to.

use std::collections::{HashMap, HashSet};

use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, wait};

use super::worker::Worker;
use crate::WORKER_VARIABLE;
use crate::process_table::{self, Entry};

/// `__WNOTHREAD` of wait(2): only children of the calling thread.
const OF_THIS_THREAD: u32 = 0x2000_0000;
/// Waits for adopted processes: only the main thread adopts.
pub const ADOPTED: WaitOptions = WaitOptions::NOHANG.union(WaitOptions::from_bits_retain(OF_THIS_THREAD));

/// The worker that an orphan belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    Worker(u64),
    /// The orphan hides its origin, and several workers are old enough to have started it.
    Unknown,
    /// Its worker has ended.
    Nobody,
}

/// All adopted processes, with their owners.
#[derive(Debug)]
pub struct Orphans {
    me: Pid,
    known: HashMap<Pid, (u64, Owner)>,
    /// Processes that were seen below a worker, in case they lose their parents.
    seen: HashMap<(Pid, u64), u64>,
}

impl Orphans {
    pub fn new(me: Pid) -> Self {
        Self {
            me,
            known: HashMap::new(),
            seen: HashMap::new(),
        }
    }

    /// Reads the process table again. `running` are the main processes of workers, which are not orphans; `starting` is the
    /// number of workers that are not in it yet.
    pub fn refresh(&mut self, running: &HashMap<Pid, u64>, starting: usize, workers: &HashMap<u64, Worker>) {
        if has_adopted_none() {
            self.known.clear();
            return;
        }
        // A process that dies after the list was read may leave children: repeat until none died.
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

    /// All children that no spawn thread started, including ended ones; `None` while they cannot be
    /// distinguished.
    fn adopted(&self, starting: usize) -> Option<Vec<Pid>> {
        process_table::children_of_main_thread(self.me)
            // A process that is being spawned looks like an orphan: try again later.
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

    /// The orphans of one owner and all their descendants.
    pub fn process_trees(&self, of: Owner) -> Vec<Entry> {
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

    /// Records that these processes belong to this worker, wherever they turn up later.
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
            .or_else(|| worker_from_mark(self.me, e.pid))
            .map_or(Owner::Unknown, Owner::Worker)
    }
}

/// A cheap check that is usually true: the main thread has no children.
fn has_adopted_none() -> bool {
    matches!(wait(ADOPTED), Err(Errno::CHILD))
}

/// A process that hides its origin cannot hide its age: an older worker started it. New workers are younger, so that sooner or
/// later one candidate is left.
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

fn worker_from_mark(me: Pid, pid: Pid) -> Option<u64> {
    let mark = String::from_utf8(process_table::environment_variable(pid, WORKER_VARIABLE)?).ok()?;
    let (guardian, key) = mark.split_once('-')?;
    if guardian.parse() == Ok(me.as_raw_pid()) {
        key.parse().ok()
    } else {
        None
    }
}
