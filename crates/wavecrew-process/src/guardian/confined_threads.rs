//! The threads that start confined programs. For each confinement one thread prepares what its programs share: the mounts,
//! the filter of system calls, the rules. For each program there is one more thread, which applies the rules to itself and
//! spawns: so every worker has a domain of its own, and cannot signal or inspect another.
//!
//! That thread lives as long as its child. If it ended earlier, the kernel would hand the child to the main
//! thread, whose children are adopted orphans. When its child has ended without leaving processes behind, the
//! thread's domain is empty, and the thread starts the next program of the same confinement.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use rustix::io::Errno;

use super::KEPT_CONFINEMENTS;
use super::spawn_threads::{Outlet, STACK_SIZE, SpawnJob};
use super::wire::NumberedConfinement;
use crate::sandbox::{Confinement, Ruleset};

/// The thread that a confined process is a child of. It ends when this is dropped.
#[derive(Debug)]
pub struct ParentThread {
    confinement: u64,
    jobs: Sender<SpawnJob>,
}

#[derive(Debug)]
pub(super) struct ConfinedThreads {
    outlet: Outlet,
    /// The most recently used is last.
    ready: VecDeque<Prepared>,
}

/// A confinement and its threads.
#[derive(Debug)]
struct Prepared {
    number: u64,
    /// Sends to the thread that starts further threads.
    jobs: Sender<SpawnJob>,
    /// Threads whose child has ended.
    idle: Vec<ParentThread>,
}

impl ConfinedThreads {
    pub fn new(outlet: Outlet) -> Self {
        Self {
            outlet,
            ready: VecDeque::new(),
        }
    }

    /// Starts the program of a job.
    pub fn add(&mut self, confinement: NumberedConfinement, job: SpawnJob) {
        let (key, number) = (job.key, job.number);
        let mut prepared = match self.prepared(confinement) {
            Ok(prepared) => prepared,
            Err(error) => return self.fail(key, number, &error),
        };
        let sent = match prepared.idle.pop() {
            Some(thread) => thread.jobs.send(job),
            None => prepared.jobs.send(job),
        };
        if sent.is_err() {
            return self.fail(key, number, &io::Error::from(Errno::PERM));
        }
        self.ready.push_back(prepared);
        if self.ready.len() > KEPT_CONFINEMENTS {
            self.ready.pop_front();
        }
    }

    /// Reuses the thread of a process that has ended without leaving another one behind.
    pub fn reuse(&mut self, thread: ParentThread) {
        let mut ready = self.ready.iter_mut();
        if let Some(prepared) = ready.find(|prepared| prepared.number == thread.confinement) {
            prepared.idle.push(thread);
        }
    }

    fn fail(&mut self, key: u64, number: u64, error: &io::Error) {
        let errno = Errno::from_io_error(error).unwrap_or(Errno::PERM);
        let _ = self.outlet.report(key, number, Err(errno), None);
    }

    fn prepared(&mut self, confinement: NumberedConfinement) -> io::Result<Prepared> {
        let NumberedConfinement { number, rules } = confinement;
        let found = self.ready.iter().position(|ready| ready.number == number);
        if let Some(found) = found.and_then(|at| self.ready.remove(at)) {
            return Ok(found);
        }
        // The packet with the rules was lost, which happens only if too many files are open.
        let rules = rules.ok_or(Errno::MFILE)?;
        let (jobs, queue) = channel();
        let outlet = self.outlet.try_clone()?;
        thread::Builder::new().spawn(move || serve(&rules, number, outlet, &queue))?;
        Ok(Prepared {
            number,
            jobs,
            idle: Vec::new(),
        })
    }
}

/// Prepares the confinement and starts a thread for each job of the queue until it is closed.
fn serve(confinement: &Confinement, number: u64, mut outlet: Outlet, queue: &Receiver<SpawnJob>) {
    let errno = |error: &io::Error| Errno::from_io_error(error).unwrap_or(Errno::PERM);
    let prepared = confinement.enter().map(Arc::new).map_err(|error| errno(&error));
    for job in queue {
        let (key, job_number) = (job.key, job.number);
        let started = match &prepared {
            Ok(rules) => start_thread(&outlet, rules, number, job).map_err(|error| errno(&error)),
            Err(error) => Err(*error),
        };
        if let Err(error) = started {
            let _ = outlet.report(key, job_number, Err(error), None);
        }
    }
}

fn start_thread(outlet: &Outlet, rules: &Arc<Ruleset>, confinement: u64, job: SpawnJob) -> io::Result<()> {
    let (mut outlet, rules) = (outlet.try_clone()?, Arc::clone(rules));
    let spawn = move || {
        let confined = rules.restrict_thread();
        drop(rules);
        let mut next = Some(job);
        while let Some(job) = next {
            let (key, number) = (job.key, job.number);
            let spawned = match &confined {
                Ok(()) => outlet.spawn(job),
                Err(error) => Err(Errno::from_io_error(error).unwrap_or(Errno::PERM)),
            };
            let (jobs, queue) = channel();
            let parent = spawned.is_ok().then_some(ParentThread { confinement, jobs });
            if !outlet.report(key, number, spawned, parent) {
                return;
            }
            // Fails if the receiver is gone.
            next = queue.recv().ok();
        }
    };
    thread::Builder::new()
        .stack_size(STACK_SIZE)
        .spawn(spawn)
        .map(drop)
}
