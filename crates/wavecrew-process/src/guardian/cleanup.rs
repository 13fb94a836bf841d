//! The part of the guardian that ends processes: closed workers, what workers left behind, and strays
//! (orphans whose worker has ended).

use std::mem;
use std::time::Instant;

use super::orphans::Owner;
use super::server::Server;
use super::wire::Answer;
use super::worker::LEFTOVER_GRACE;
use crate::process_table::{self, Entry};
use crate::{ProcessExit, Progress, Sweep};

impl Server {
    /// Advances every sweep by one step.
    pub(super) fn clean_up(&mut self, now: Instant) {
        let mut due = mem::take(&mut self.exited);
        due.extend(
            self.sweeps
                .keys()
                .filter(|key| !due.contains(key))
                .copied()
                .collect::<Vec<_>>(),
        );
        if due.is_empty() && self.stray_sweep.is_none() {
            return;
        }
        self.orphans
            .refresh(&self.running, self.starting.len(), &self.workers);
        for key in due {
            self.clean_up_worker(now, key);
        }
        self.clean_up_strays(now);
    }

    fn clean_up_worker(&mut self, now: Instant, key: u64) {
        let Some(worker) = self.workers.get_mut(&key) else {
            return;
        };
        let exit = worker.exit;
        if let Some(status) = exit {
            // The usual case: nothing is left behind.
            if !self.orphans.has(Owner::Worker(key)) {
                return self.finish(key, status);
            }
            self.sweeps
                .entry(key)
                .or_insert_with(|| Sweep::new(now, LEFTOVER_GRACE));
        }
        let main = if exit.is_none() { Some(worker.pid) } else { None };
        let Self {
            workers,
            running,
            starting,
            orphans,
            sweeps,
            ..
        } = self;
        let Some(sweep) = sweeps.get_mut(&key) else { return };
        let mut left = Vec::new();
        let members = || {
            orphans.refresh(running, starting.len(), workers);
            let mut found = orphans.process_trees(Owner::Worker(key));
            if let Some(main) = main {
                found.extend(process_table::entry(main));
                found.extend(process_table::descendants(main));
            }
            orphans.remember(key, &found);
            if exit.is_some() {
                left.extend(found.iter().filter(|e| e.is_alive()).map(Entry::instance));
            }
            found
        };
        let progress = sweep.step(now, members);
        if let Some(worker) = workers.get_mut(&key) {
            worker.leftovers.extend(left);
        }
        if progress == Progress::GaveUp {
            self.sweeps.remove(&key);
        }
        if let Some(status) = exit
            && (progress == Progress::GaveUp || self.is_clean(key))
        {
            self.finish(key, status);
        }
    }

    fn is_clean(&mut self, key: u64) -> bool {
        self.orphans
            .refresh(&self.running, self.starting.len(), &self.workers);
        !self.orphans.has(Owner::Worker(key))
    }

    fn finish(&mut self, key: u64, status: ProcessExit) {
        let Some(worker) = self.workers.remove(&key) else {
            return;
        };
        self.sweeps.remove(&key);
        self.orphans.forget(key);
        let leftovers = u32::try_from(worker.leftovers.len()).unwrap_or(u32::MAX);
        if let Some(thread) = worker.parent
            && self.orphans.is_empty()
        {
            self.spawn_threads.reuse(thread);
        }
        self.answer(key, &Answer::Exited { status, leftovers });
    }

    fn clean_up_strays(&mut self, now: Instant) {
        if self.orphans.is_empty() {
            self.stray_sweep = None;
            return;
        }
        let Self {
            workers,
            running,
            starting,
            orphans,
            stray_sweep,
            ..
        } = self;
        let mut members = || {
            orphans.refresh(running, starting.len(), workers);
            orphans.process_trees(Owner::Nobody)
        };
        if stray_sweep.is_none() && members().is_empty() {
            return;
        }
        let sweep = stray_sweep.get_or_insert_with(|| Sweep::new(now, LEFTOVER_GRACE));
        if sweep.step(now, &mut members) == Progress::Clean {
            *stray_sweep = None;
        }
    }
}
