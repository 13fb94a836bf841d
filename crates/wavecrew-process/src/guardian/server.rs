//! The guardian's process: one loop that receives requests, starts programs, waits for them, and ends what they leave behind.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt;
use rustix::process::{Pid, WaitOptions, chdir, getpid, set_child_subreaper, setsid, wait};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

use super::Containment;
use super::namespace::{self, Namespace};
use super::orphans::{ADOPTED, Orphans, worker_mark};
use super::packet::{Packet, Received, receive};
use super::spawn_threads::{MAX_JOBS, SpawnJob, SpawnResult, SpawnThreads};
use super::wire::{Answer, Malformed, ReportedProcess, Request, VERSION, decode, decode_key, encode};
use super::worker::Worker;
use crate::{KILL_INTERVAL, ProcessExit, Sweep, end_processes, process_table};

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("the guardian is started by a run, not by hand: its stdin must be the run's socket")]
    NotASocket,
    #[error("the guardian cannot set itself up: {0}")]
    Setup(#[from] io::Error),
}

impl From<Errno> for ServeError {
    fn from(errno: Errno) -> Self {
        Self::Setup(errno.into())
    }
}

/// Becomes the guardian, or its keeper: see [`namespace`].
pub fn guard(wanted: Containment) -> Result<(), ServeError> {
    sockopt::socket_type(io::stdin()).map_err(|_| ServeError::NotASocket)?;
    // A session of its own: the terminal's signals do not arrive here, and no worker can use the terminal. This fails only for
    // a group leader, which the terminal does not reach anyway.
    let _ = setsid();
    // Caught, not ignored: workers inherit ignored signals.
    let unused = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2] {
        signal_hook::flag::register(signal, Arc::clone(&unused))?;
    }
    // Do not keep a folder busy that somebody may want to unmount or remove.
    chdir("/")?;
    let namespace = Namespace::enter()?;
    if namespace.is_none()
        && wanted == Containment::Namespace
        && let Some(mut guardian) = namespace::start_inside()?
    {
        guardian.wait()?;
        return Ok(());
    }
    serve(namespace)
}

/// Serves the coordinator at the other end of stdin until it ends, then ends everything that is left.
fn serve(namespace: Option<Namespace>) -> Result<(), ServeError> {
    let (wake, waker) = UnixStream::pair()?;
    wake.set_nonblocking(true)?;
    waker.set_nonblocking(true)?;
    let me = getpid();
    set_child_subreaper(Some(me))?;
    let spawn_threads = SpawnThreads::start(&waker)?;
    signal_hook::low_level::pipe::register(SIGCHLD, waker)?;
    let mut guardian = Server {
        me,
        namespace,
        wake,
        workers: HashMap::new(),
        running: HashMap::new(),
        spawn_threads,
        issued: 0,
        starting: HashMap::new(),
        unclaimed_exits: HashMap::new(),
        exited: Vec::new(),
        sweeps: HashMap::new(),
        orphans: Orphans::new(me),
        stray_sweep: None,
        outgoing: VecDeque::new(),
    };
    let start_time = process_table::entry(me).map_or(0, |e| e.start_time);
    let ready = Answer::Ready {
        version: VERSION,
        process: guardian.reported(me, start_time),
        containment: match guardian.namespace {
            Some(_) => Containment::Namespace,
            None => Containment::None,
        },
    };
    guardian.answer(0, &ready);
    guardian.run();
    Ok(())
}

pub(super) struct Server {
    me: Pid,
    namespace: Option<Namespace>,
    /// Readable when a child has ended.
    wake: UnixStream,
    pub(super) workers: HashMap<u64, Worker>,
    /// Main processes that have not ended.
    pub(super) running: HashMap<Pid, u64>,
    pub(super) spawn_threads: SpawnThreads,
    /// The number of jobs given to the spawn threads.
    issued: u64,
    /// Keys that are being spawned, with the grace of a close request that arrived meanwhile.
    pub(super) starting: HashMap<u64, Option<Duration>>,
    /// Exits of processes that no spawn thread has reported yet, with the number of jobs issued until then.
    unclaimed_exits: HashMap<Pid, (ProcessExit, u64)>,
    /// Workers whose main process ended since the last cleanup.
    pub(super) exited: Vec<u64>,
    /// Workers that are being ended.
    pub(super) sweeps: HashMap<u64, Sweep>,
    pub(super) orphans: Orphans,
    /// Ends orphans whose worker is over.
    pub(super) stray_sweep: Option<Sweep>,
    /// Answers that did not fit into the socket yet.
    outgoing: VecDeque<Packet>,
}

/// Whether the coordinator is still there.
#[derive(PartialEq, Eq)]
enum Coordinator {
    Present,
    Gone,
}

/// How soon to check for finished spawns if nothing else happens. With many short workers something does, so that a spawn
/// and the exit that follows it are reported together.
const SPAWN_POLL: Duration = Duration::from_millis(5);
/// A spawn that takes longer hangs, for instance on a folder of an unreachable file server.
const SPAWN_HANGS: Duration = Duration::from_secs(6);

impl Server {
    fn run(&mut self) {
        loop {
            if self.wait_for_work() == Coordinator::Gone || self.receive_requests() == Coordinator::Gone {
                break;
            }
            self.register_spawned();
            self.reap();
            self.clean_up(Instant::now());
            if self.send_answers() == Coordinator::Gone {
                break;
            }
        }
        self.end_all();
    }

    fn end_all(&mut self) {
        self.spawn_threads.cancel();
        let since = Instant::now();
        loop {
            let me = self.me;
            let members = || {
                self.reap();
                process_table::descendants(me)
            };
            end_processes(members, thread::sleep);
            self.register_spawned();
            // A thread may have been in the middle of a spawn, or a process died meanwhile and left children.
            // Do not wait for processes that are stuck in the kernel.
            let alone = matches!(wait(WaitOptions::NOHANG), Err(Errno::CHILD));
            if (alone && self.starting.is_empty()) || since.elapsed() > SPAWN_HANGS {
                return;
            }
            thread::sleep(KILL_INTERVAL);
        }
    }

    /// Waits until a request arrives, a child ends, the socket has room, or a sweep is due.
    fn wait_for_work(&self) -> Coordinator {
        let due = self
            .sweeps
            .values()
            .chain(&self.stray_sweep)
            .filter_map(Sweep::deadline)
            .min();
        let due = due.map(|at| at.saturating_duration_since(Instant::now()));
        let starting = (!self.starting.is_empty()).then_some(SPAWN_POLL);
        let timeout = due.into_iter().chain(starting).min().map(timespec);
        let mut interest = PollFlags::empty();
        interest.set(PollFlags::IN, self.starting.len() < MAX_JOBS);
        interest.set(PollFlags::OUT, !self.outgoing.is_empty());
        let stdin = io::stdin();
        let mut fds = [
            PollFd::new(&stdin, interest),
            PollFd::new(&self.wake, PollFlags::IN),
        ];
        // Interrupted by a signal: the loop checks everything anyway.
        let _ = poll(&mut fds, timeout.as_ref());
        let mut buffer = [0; 256];
        while (&self.wake).read(&mut buffer).is_ok_and(|n| n == buffer.len()) {}
        // Ignore the requests of a coordinator that is gone.
        if fds[0].revents().contains(PollFlags::HUP) {
            Coordinator::Gone
        } else {
            Coordinator::Present
        }
    }

    fn receive_requests(&mut self) -> Coordinator {
        while self.starting.len() < MAX_JOBS {
            let handled = match receive(io::stdin()) {
                Ok(Received::Packet { bytes, fds }) => self.handle(&bytes, fds),
                Ok(Received::WithoutFds { bytes }) => {
                    decode_key(&bytes).map(|key| self.answer(key, &spawn_failed(Errno::MFILE)))
                }
                Err(Errno::AGAIN) => return Coordinator::Present,
                Ok(Received::Ended) | Err(_) => return Coordinator::Gone,
            };
            // The workers of a coordinator that sends invalid messages must not keep running unattended.
            if handled.is_err() {
                return Coordinator::Gone;
            }
        }
        Coordinator::Present
    }

    fn handle(&mut self, bytes: &[u8], fds: Vec<OwnedFd>) -> Result<(), Malformed> {
        let (key, request) = decode(bytes)?;
        match request {
            Request::Spawn(spec) => {
                let streams = fds.try_into().map_err(|_| Malformed)?;
                if self.workers.contains_key(&key) || self.starting.contains_key(&key) {
                    self.answer(key, &spawn_failed(Errno::EXIST));
                    return Ok(());
                }
                self.starting.insert(key, None);
                self.issued += 1;
                let mark = worker_mark(self.me, key);
                self.spawn_threads.add(SpawnJob {
                    key,
                    number: self.issued,
                    spec: *spec,
                    streams,
                    mark,
                });
            }
            Request::Close { grace } => self.close(key, grace),
        }
        Ok(())
    }

    /// Takes over the processes that the spawn threads started.
    fn register_spawned(&mut self) {
        while let Some(result) = self.spawn_threads.next_result() {
            let SpawnResult {
                key,
                number,
                spawned,
                parent,
            } = result;
            let close = self.starting.remove(&key).flatten();
            let answer = match spawned {
                Ok((pid, start_time)) => {
                    let exit = self.unclaimed_exits.remove(&pid);
                    self.workers.insert(
                        key,
                        Worker {
                            pid,
                            start_time,
                            exit: None,
                            leftovers: HashSet::new(),
                            parent,
                        },
                    );
                    self.running.insert(pid, key);
                    if let Some((exit, _)) = exit.filter(|(_, issued)| number <= *issued) {
                        self.record_exit(pid, exit);
                    }
                    if let Some(grace) = close {
                        self.close(key, grace);
                    }
                    Answer::Spawned(self.reported(pid, start_time))
                }
                Err(errno) => spawn_failed(errno),
            };
            self.answer(key, &answer);
        }
        if self.starting.is_empty() {
            self.unclaimed_exits.clear();
        }
    }

    fn close(&mut self, key: u64, grace: Duration) {
        let now = Instant::now();
        if self.workers.contains_key(&key) {
            self.sweeps
                .entry(key)
                .or_insert_with(|| Sweep::new(now, grace))
                .hasten(now, grace);
        } else if let Some(close) = self.starting.get_mut(&key) {
            *close = Some(grace);
        }
        // Otherwise the worker ended before the request arrived.
    }

    /// Collects the exit status of every child that has ended.
    fn reap(&mut self) {
        // Children of this thread are adopted orphans: nobody needs their exit status.
        while let Ok(Some(_)) = wait(ADOPTED) {}
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            let exit = match status.exit_status() {
                Some(code) => ProcessExit::Code(code),
                None => ProcessExit::Signal(status.terminating_signal().unwrap_or_default()),
            };
            self.record_exit(pid, exit);
        }
    }

    fn record_exit(&mut self, pid: Pid, exit: ProcessExit) {
        let Some(key) = self.running.remove(&pid) else {
            // Its spawn thread has not reported it yet. The number of jobs tells it from a later process with the same pid.
            self.unclaimed_exits.insert(pid, (exit, self.issued));
            return;
        };
        if let Some(worker) = self.workers.get_mut(&key) {
            worker.exit = Some(exit);
            self.exited.push(key);
        }
    }

    fn reported(&self, pid: Pid, start_time: u64) -> ReportedProcess {
        let pid = match &self.namespace {
            Some(namespace) => namespace.pid_outside(pid),
            None => Some(pid),
        };
        ReportedProcess {
            pid: pid.map_or(0, Pid::as_raw_pid),
            start_time,
        }
    }

    pub(super) fn answer(&mut self, key: u64, answer: &Answer) {
        // An answer is short and has no descriptors, so this cannot fail.
        if let Ok(packet) = Packet::new(&encode(key, answer), Vec::new()) {
            self.outgoing.push_back(packet);
        }
    }

    fn send_answers(&mut self) -> Coordinator {
        while let Some(packet) = self.outgoing.front() {
            match packet.send(io::stdin()) {
                Ok(()) => self.outgoing.pop_front(),
                Err(Errno::AGAIN | Errno::NOBUFS | Errno::NOMEM) => return Coordinator::Present,
                Err(_) => return Coordinator::Gone,
            };
        }
        Coordinator::Present
    }
}

fn spawn_failed(errno: Errno) -> Answer {
    Answer::SpawnFailed {
        errno: errno.raw_os_error(),
    }
}

fn timespec(duration: Duration) -> Timespec {
    Timespec::try_from(duration).unwrap_or(Timespec {
        tv_sec: i64::MAX,
        tv_nsec: 0,
    })
}
