//! The threads that start programs. A start blocks its thread until the new program is loaded, so there are several. They
//! only start: the main thread waits for the children and ends them.
//!
//! Children are kept per thread by the kernel. What the lanes start is theirs, what the guardian adopts is the main thread's:
//! that is how the two are told apart even before a start has been reported.

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rustix::io::Errno;
use rustix::process::Pid;

use super::wire::Order;
use crate::process::{WORKER_VARIABLE, table};

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
    jobs: Sender<Job>,
    done: Receiver<Done>,
    stop: Arc<AtomicBool>,
}

impl Lanes {
    /// `wake` gets a byte whenever something is done.
    pub fn open(wake: &UnixStream) -> io::Result<Self> {
        let (jobs, waiting) = channel();
        let (finished, done) = channel();
        let waiting = Arc::new(Mutex::new(waiting));
        let stop = Arc::new(AtomicBool::new(false));
        for _ in 0..LANES {
            let lane = Lane {
                waiting: Arc::clone(&waiting),
                finished: finished.clone(),
                wake: wake.try_clone()?,
                stop: Arc::clone(&stop),
            };
            thread::Builder::new()
                .stack_size(STACK)
                .spawn(move || lane.work())?;
        }
        Ok(Self { jobs, done, stop })
    }

    pub fn add(&self, job: Job) {
        // The lanes end only after this sender.
        let _ = self.jobs.send(job);
    }

    pub fn next_done(&self) -> Option<Done> {
        self.done.try_recv().ok()
    }

    /// Nothing new is started from here on; what waits comes back as cancelled.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
    }
}

struct Lane {
    waiting: Arc<Mutex<Receiver<Job>>>,
    finished: Sender<Done>,
    wake: UnixStream,
    stop: Arc<AtomicBool>,
}

impl Lane {
    fn work(mut self) {
        loop {
            let job = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(job) = job else { return };
            let Job { key, number, .. } = job;
            let started = if self.stop.load(Ordering::SeqCst) {
                Err(Errno::CANCELED)
            } else {
                start(job)
            };
            if self.finished.send(Done { key, number, started }).is_err() {
                return;
            }
            // A full socket wakes as well as one byte more.
            let _ = self.wake.write(&[0]);
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
    let before = table::ticks_since_boot();
    let child = command
        .spawn()
        .map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::INVAL))?;
    let pid = Pid::from_child(&child);
    // Most starts begin and end within one tick, so that there is no need to look which one it was.
    if before == table::ticks_since_boot() {
        return Ok((pid, before));
    }
    // One that ended and was waited for already has no entry; it needs no name that would be found again.
    Ok((pid, table::entry(pid).map_or(0, |e| e.start_time)))
}
