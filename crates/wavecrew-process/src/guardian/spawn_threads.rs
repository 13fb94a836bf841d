//! The threads that start programs. A spawn blocks its thread until the new program is loaded, so there are several. They
//! only spawn: the main thread waits for the children and ends them.
//!
//! The kernel keeps children per thread. Spawned programs belong to these threads, adopted orphans to the
//! main thread: that distinguishes the two even before a spawn has been reported.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::io::Errno;
use rustix::process::Pid;

use super::confined_threads::{ConfinedThreads, ParentThread};
use super::wire::ProgramSpec;
use crate::LockAnyway;
use crate::{WORKER_VARIABLE, process_table};

/// More than one, because loading a program is mostly waiting; more than a few are no faster.
const THREADS: usize = 4;
/// Jobs accepted at once. More would only use up open files: this process keeps the user's own limit.
pub const MAX_JOBS: usize = 4 * THREADS;
/// Enough for the standard library's spawn and one line of the process table.
pub(super) const STACK_SIZE: usize = 128 << 10;

#[derive(Debug)]
pub struct SpawnJob {
    pub key: u64,
    pub number: u64,
    pub spec: ProgramSpec,
    pub streams: [OwnedFd; 3],
    /// The value of [`WORKER_VARIABLE`].
    pub mark: String,
}

#[derive(Debug)]
pub struct SpawnResult {
    pub key: u64,
    /// The number of the job.
    pub number: u64,
    /// The process and its start time.
    pub spawned: Result<(Pid, u64), Errno>,
    /// Of a confined process: the thread whose child it is ends when this is dropped.
    pub parent: Option<ParentThread>,
}

#[derive(Debug)]
pub struct SpawnThreads {
    shared: Arc<Shared>,
    results: Receiver<SpawnResult>,
    confined: ConfinedThreads,
}

#[derive(Debug, Default)]
pub(super) struct Shared {
    queue: Mutex<Queue>,
    /// The queue has a job, or is closed.
    changed: Condvar,
    cancelled: AtomicBool,
    /// Results that the main thread has not received.
    unread: AtomicUsize,
}

#[derive(Debug, Default)]
struct Queue {
    jobs: VecDeque<SpawnJob>,
    closed: bool,
}

impl SpawnThreads {
    /// `wake` gets a byte when several spawns are done; a few results wait until the main thread wakes up, which it does soon
    /// while anything is being spawned.
    pub fn start(wake: &UnixStream) -> io::Result<Self> {
        let (sender, results) = channel();
        let shared = Arc::<Shared>::default();
        for _ in 0..THREADS {
            let mut outlet = Outlet {
                shared: Arc::clone(&shared),
                results: sender.clone(),
                wake: wake.try_clone()?,
            };
            thread::Builder::new()
                .stack_size(STACK_SIZE)
                .spawn(move || outlet.serve_queue())?;
        }
        let outlet = Outlet {
            shared: Arc::clone(&shared),
            results: sender,
            wake: wake.try_clone()?,
        };
        Ok(Self {
            shared,
            results,
            confined: ConfinedThreads::new(outlet),
        })
    }

    pub fn add(&mut self, mut job: SpawnJob) {
        if let Some(confinement) = job.spec.confinement.take() {
            self.confined.add(confinement, job);
            return;
        }
        self.shared.queue().jobs.push_back(job);
        self.shared.changed.notify_one();
    }

    /// Takes back the thread of a confined process that has ended without leaving another one behind.
    pub fn reuse(&mut self, thread: ParentThread) {
        self.confined.reuse(thread);
    }

    pub fn next_result(&self) -> Option<SpawnResult> {
        let result = self.results.try_recv().ok()?;
        self.shared.unread.fetch_sub(1, Ordering::Relaxed);
        Some(result)
    }

    /// Starts nothing more; jobs in the queue fail with `CANCELED`.
    pub fn cancel(&self) {
        self.shared.cancelled.store(true, Ordering::SeqCst);
    }
}

impl Drop for SpawnThreads {
    fn drop(&mut self) {
        self.shared.queue().closed = true;
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock_anyway()
    }

    /// `None` when the queue is closed.
    fn next_job(&self) -> Option<SpawnJob> {
        let mut queue = self.queue();
        loop {
            match queue.jobs.pop_front() {
                Some(job) => return Some(job),
                None if queue.closed => return None,
                None => queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

/// How a thread that spawns reports to the main thread.
#[derive(Debug)]
pub(super) struct Outlet {
    shared: Arc<Shared>,
    results: Sender<SpawnResult>,
    wake: UnixStream,
}

impl Outlet {
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            shared: Arc::clone(&self.shared),
            results: self.results.clone(),
            wake: self.wake.try_clone()?,
        })
    }

    fn serve_queue(&mut self) {
        while let Some(job) = self.shared.next_job() {
            let SpawnJob { key, number, .. } = job;
            let spawned = self.spawn(job);
            if !self.report(key, number, spawned, None) {
                return;
            }
        }
    }

    /// Starts the program as a child of the calling thread.
    pub fn spawn(&self, job: SpawnJob) -> Result<(Pid, u64), Errno> {
        if self.shared.cancelled.load(Ordering::SeqCst) {
            return Err(Errno::CANCELED);
        }
        spawn(job)
    }

    /// Returns whether the main thread is still there.
    pub fn report(
        &mut self,
        key: u64,
        number: u64,
        spawned: Result<(Pid, u64), Errno>,
        parent: Option<ParentThread>,
    ) -> bool {
        let unread = self.shared.unread.fetch_add(1, Ordering::Relaxed) + 1;
        let result = SpawnResult {
            key,
            number,
            spawned,
            parent,
        };
        if self.results.send(result).is_err() {
            return false;
        }
        if unread >= THREADS {
            // If the socket is full, the main thread is about to wake up anyway.
            let _ = self.wake.write(&[0]);
        }
        true
    }
}

/// Runs no code of its own between fork and exec, so that the standard library can use `posix_spawn`.
fn spawn(job: SpawnJob) -> Result<(Pid, u64), Errno> {
    let SpawnJob {
        spec, streams, mark, ..
    } = job;
    let [stdin, stdout, stderr] = streams.map(Stdio::from);
    let mut command = Command::new(spec.program);
    command.args(spec.args).current_dir(spec.cwd).envs(spec.env_set);
    for name in spec.env_remove {
        command.env_remove(name);
    }
    command.env(WORKER_VARIABLE, mark);
    command
        .stdin(stdin)
        .stdout(stdout)
        .stderr(stderr)
        .process_group(0);
    let before = process_table::ticks_since_boot();
    let child = command
        .spawn()
        .map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::INVAL))?;
    let pid = Pid::from_child(&child);
    // Most spawns begin and end within one tick of the clock, and then the start time is known.
    if before == process_table::ticks_since_boot() {
        return Ok((pid, before));
    }
    // A process that has ended and was reaped has no entry, and is not looked up again.
    Ok((pid, process_table::entry(pid).map_or(0, |e| e.start_time)))
}
