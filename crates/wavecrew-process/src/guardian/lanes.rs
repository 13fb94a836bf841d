//! The threads that start programs. A start blocks its thread until the new program is loaded, so there are several. They
//! only start: the main thread waits for the children and ends them.
//!
//! Children are kept per thread by the kernel. What the lanes start is theirs, what the guardian adopts is the main thread's:
//! that is how the two are told apart even before a start has been reported.

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

use super::wire::Order;
use crate::{WORKER_VARIABLE, process_table};

/// More than one, because loading a program is mostly waiting for the processor; beyond a few they only take turns.
const LANES: usize = 4;
/// Jobs taken on at once. More would only fill this process' table of open files, which keeps the user's own limit.
pub const MOST_JOBS: usize = 4 * LANES;
/// A lane needs little: the standard library's spawn, and one line of the process table.
const STACK: usize = 128 << 10;

/// A start to be done.
#[derive(Debug)]
pub struct Job {
    pub key: u64,
    pub number: u64,
    pub order: Order,
    pub streams: [OwnedFd; 3],
    /// The value of [`WORKER_VARIABLE`].
    pub mark: String,
}

/// A start that was tried: the process and its start time.
#[derive(Debug)]
pub struct Done {
    pub key: u64,
    /// Of the job.
    pub number: u64,
    pub started: Result<(Pid, u64), Errno>,
}

#[derive(Debug)]
pub struct Lanes {
    shared: Arc<Shared>,
    done: Receiver<Done>,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    /// Something is in the queue, or it is closed.
    called: Condvar,
    stop: AtomicBool,
    /// Starts that the main thread has not taken over.
    untold: AtomicUsize,
}

#[derive(Debug, Default)]
struct Queue {
    jobs: VecDeque<Job>,
    closed: bool,
}

impl Lanes {
    /// `wake` gets a byte when several starts are done; a few are taken over whenever the main thread wakes up, which it
    /// does soon while anything is being started.
    pub fn open(wake: &UnixStream) -> io::Result<Self> {
        let (finished, done) = channel();
        let shared = Arc::<Shared>::default();
        for _ in 0..LANES {
            let lane = Lane {
                shared: Arc::clone(&shared),
                finished: finished.clone(),
                wake: wake.try_clone()?,
            };
            thread::Builder::new()
                .stack_size(STACK)
                .spawn(move || lane.work())?;
        }
        Ok(Self { shared, done })
    }

    pub fn add(&self, job: Job) {
        self.shared.queue().jobs.push_back(job);
        self.shared.called.notify_one();
    }

    pub fn next_done(&self) -> Option<Done> {
        let done = self.done.try_recv().ok()?;
        self.shared.untold.fetch_sub(1, Ordering::Relaxed);
        Some(done)
    }

    /// Nothing new is started from here on; what waits comes back as cancelled.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::SeqCst);
    }
}

impl Drop for Lanes {
    fn drop(&mut self) {
        self.shared.queue().closed = true;
        self.shared.called.notify_all();
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next job; `None` when there will be none.
    fn next_job(&self) -> Option<Job> {
        let mut queue = self.queue();
        loop {
            match queue.jobs.pop_front() {
                Some(job) => return Some(job),
                None if queue.closed => return None,
                None => queue = self.called.wait(queue).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

struct Lane {
    shared: Arc<Shared>,
    finished: Sender<Done>,
    wake: UnixStream,
}

impl Lane {
    fn work(mut self) {
        while let Some(job) = self.shared.next_job() {
            let Job { key, number, .. } = job;
            let started = if self.shared.stop.load(Ordering::SeqCst) {
                Err(Errno::CANCELED)
            } else {
                start(job)
            };
            let untold = self.shared.untold.fetch_add(1, Ordering::Relaxed) + 1;
            if self.finished.send(Done { key, number, started }).is_err() {
                return;
            }
            if untold >= LANES {
                // A full socket wakes as well as one byte more.
                let _ = self.wake.write(&[0]);
            }
        }
    }
}

/// No step between fork and exec is ours, so that the standard library can use `posix_spawn`.
fn start(job: Job) -> Result<(Pid, u64), Errno> {
    let Job {
        order, streams, mark, ..
    } = job;
    let [stdin, stdout, stderr] = streams.map(Stdio::from);
    let mut command = Command::new(order.program);
    command
        .args(order.args)
        .current_dir(order.cwd)
        .envs(order.env_set);
    for name in order.env_remove {
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
    // Most starts begin and end within one tick, so that there is no need to look which one it was.
    if before == process_table::ticks_since_boot() {
        return Ok((pid, before));
    }
    // One that ended and was waited for already has no entry; it needs no name that would be found again.
    Ok((pid, process_table::entry(pid).map_or(0, |e| e.start_time)))
}
