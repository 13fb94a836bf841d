//! The threads that start confined programs. For each confinement one thread prepares what its programs share: the mounts,
//! the filter of system calls, the rules. For each program it starts one more thread, which applies the rules to itself and
//! spawns: so every worker has a domain of its own, and cannot signal or inspect another.
//!
//! That thread lives as long as its child. If it ended earlier, the kernel would hand the child to the main thread, whose
//! children are adopted orphans.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use rustix::io::Errno;

use super::spawn_threads::{Outlet, STACK_SIZE, SpawnJob};
use crate::sandbox::{Confinement, Ruleset};

/// Confinements that are kept ready. Workers of one slot and role share theirs.
const KEPT: usize = 32;

/// The thread that a confined process is a child of. It ends when this is dropped.
#[derive(Debug)]
pub struct ParentThread {
    _release: Sender<()>,
}

#[derive(Debug)]
pub(super) struct ConfinedThreads {
    outlet: Outlet,
    /// The one that was used last comes last.
    ready: VecDeque<(Confinement, Sender<SpawnJob>)>,
}

impl ConfinedThreads {
    pub fn new(outlet: Outlet) -> Self {
        Self {
            outlet,
            ready: VecDeque::new(),
        }
    }

    /// Starts the program of a job.
    pub fn add(&mut self, confinement: Confinement, job: SpawnJob) {
        let (key, number) = (job.key, job.number);
        let found = self.ready.iter().position(|(ready, _)| *ready == confinement);
        let jobs = match found.and_then(|at| self.ready.remove(at)) {
            Some((_, jobs)) => jobs,
            None => match self.prepare(confinement.clone()) {
                Ok(jobs) => jobs,
                Err(error) => return self.fail(key, number, &error),
            },
        };
        if jobs.send(job).is_err() {
            return self.fail(key, number, &io::Error::from(Errno::PERM));
        }
        self.ready.push_back((confinement, jobs));
        if self.ready.len() > KEPT {
            self.ready.pop_front();
        }
    }

    fn fail(&mut self, key: u64, number: u64, error: &io::Error) {
        let errno = Errno::from_io_error(error).unwrap_or(Errno::PERM);
        let _ = self.outlet.report(key, number, Err(errno), None);
    }

    fn prepare(&self, confinement: Confinement) -> io::Result<Sender<SpawnJob>> {
        let (jobs, queue) = channel();
        let outlet = self.outlet.try_clone()?;
        thread::Builder::new().spawn(move || serve(&confinement, outlet, &queue))?;
        Ok(jobs)
    }
}

/// Prepares the confinement and starts the programs of the queue until it is closed.
fn serve(confinement: &Confinement, mut outlet: Outlet, queue: &Receiver<SpawnJob>) {
    let prepared = confinement.enter().map(Arc::new);
    for job in queue {
        let (key, number) = (job.key, job.number);
        let started = match &prepared {
            Ok(rules) => start_thread(&outlet, rules, job),
            Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
        };
        if let Err(error) = started {
            let errno = Errno::from_io_error(&error).unwrap_or(Errno::PERM);
            let _ = outlet.report(key, number, Err(errno), None);
        }
    }
}

fn start_thread(outlet: &Outlet, rules: &Arc<Ruleset>, job: SpawnJob) -> io::Result<()> {
    let (mut outlet, rules) = (outlet.try_clone()?, Arc::clone(rules));
    let spawn = move || {
        let (key, number) = (job.key, job.number);
        let confined = rules.restrict_thread();
        let spawned = match confined {
            Ok(()) => outlet.spawn(job),
            Err(error) => Err(Errno::from_io_error(&error).unwrap_or(Errno::PERM)),
        };
        let (release, released) = channel();
        let parent = spawned.is_ok().then_some(ParentThread { _release: release });
        // Nothing is ever sent: it ends when the other side is gone.
        if outlet.report(key, number, spawned, parent) {
            let _ = released.recv();
        }
    };
    thread::Builder::new()
        .stack_size(STACK_SIZE)
        .spawn(spawn)
        .map(drop)
}
