//! The guardian's own process: one loop. Takes requests, has programs started, waits for them, ends what they leave.

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

use super::lanes::{Done, Job, Lanes, MOST_JOBS};
use super::orphans::{ADOPTED, Orphans, worker_mark};
use super::packet::{Packet, Received, receive};
use super::wire::{Answer, Malformed, Request, VERSION};
use super::worker::{Sweep, Worker};
use crate::{KILL_PAUSE, ProcessExit, end, table};

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

/// Serves the coordinator at the other end of stdin until it goes away, then ends everything that is left.
pub fn serve() -> Result<(), ServeError> {
    sockopt::socket_type(io::stdin()).map_err(|_| ServeError::NotASocket)?;
    // A session of its own: the terminal's signals do not come here, and no worker can talk to the terminal behind our back.
    // It fails only for the leader of a group, which is out of the terminal's reach already.
    let _ = setsid();
    // Caught, not ignored: what is ignored stays ignored in every worker.
    let unused = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2] {
        signal_hook::flag::register(signal, Arc::clone(&unused))?;
    }
    let (wake, waker) = UnixStream::pair()?;
    wake.set_nonblocking(true)?;
    waker.set_nonblocking(true)?;
    let me = getpid();
    set_child_subreaper(Some(me))?;
    let lanes = Lanes::open(&waker)?;
    signal_hook::low_level::pipe::register(SIGCHLD, waker)?;
    // Keep no folder busy that somebody may want to unmount or remove.
    chdir("/")?;
    let mut guardian = Server {
        me,
        wake,
        workers: HashMap::new(),
        running: HashMap::new(),
        lanes,
        issued: 0,
        starting: HashMap::new(),
        early: HashMap::new(),
        exited: Vec::new(),
        sweeps: HashMap::new(),
        orphans: Orphans::of(me),
        strays: None,
        outgoing: VecDeque::new(),
    };
    guardian.answer(&Answer::Ready {
        version: VERSION,
        start_time: table::entry(me).map_or(0, |e| e.start_time),
    });
    guardian.run();
    Ok(())
}

pub(super) struct Server {
    me: Pid,
    /// Readable when a child ended.
    wake: UnixStream,
    pub(super) workers: HashMap<u64, Worker>,
    /// Main processes that have not ended.
    pub(super) running: HashMap<Pid, u64>,
    lanes: Lanes,
    /// The number of jobs given to the lanes.
    issued: u64,
    /// Keys in the lanes, with the grace of a close that came meanwhile.
    pub(super) starting: HashMap<u64, Option<Duration>>,
    /// Ends of processes that no lane had reported, with the number of jobs issued until then.
    early: HashMap<Pid, (ProcessExit, u64)>,
    /// Whose main process ended since the last look.
    pub(super) exited: Vec<u64>,
    /// Workers that are being ended.
    pub(super) sweeps: HashMap<u64, Sweep>,
    pub(super) orphans: Orphans,
    /// The ending of orphans without owner.
    pub(super) strays: Option<Sweep>,
    /// Answers that the socket could not take yet.
    outgoing: VecDeque<Packet>,
}

/// Whether the coordinator is still there.
#[derive(PartialEq, Eq)]
enum Coordinator {
    Present,
    Gone,
}

/// When to look again what was started, if nothing else happens meanwhile. With many short workers something does, so that
/// a start and the end that follows it are told at once.
const STARTED_WITHIN: Duration = Duration::from_millis(5);
/// A start that takes longer hangs, for instance on a folder of a server that is gone.
const STUCK: Duration = Duration::from_secs(6);

impl Server {
    fn run(&mut self) {
        loop {
            if self.sleep() == Coordinator::Gone || self.take_requests() == Coordinator::Gone {
                break;
            }
            self.register();
            self.reap();
            self.tend(Instant::now());
            if self.flush() == Coordinator::Gone {
                break;
            }
        }
        self.end_all();
    }

    fn end_all(&mut self) {
        self.lanes.stop();
        let since = Instant::now();
        loop {
            let me = self.me;
            let members = || {
                self.reap();
                table::descendants(me)
            };
            end(members, thread::sleep);
            self.register();
            // A lane may have been in the middle of a start, or somebody died while we looked and left children. What
            // is stuck in the kernel is not waited for.
            let alone = matches!(wait(WaitOptions::NOHANG), Err(Errno::CHILD));
            if (alone && self.starting.is_empty()) || since.elapsed() > STUCK {
                return;
            }
            thread::sleep(KILL_PAUSE);
        }
    }

    /// Until a request comes, a child ends, the socket takes more, or something is due.
    fn sleep(&self) -> Coordinator {
        let due = self
            .sweeps
            .values()
            .chain(&self.strays)
            .filter_map(Sweep::deadline)
            .min();
        let due = due.map(|at| at.saturating_duration_since(Instant::now()));
        let starting = (!self.starting.is_empty()).then_some(STARTED_WITHIN);
        let timeout = due.into_iter().chain(starting).min().map(timespec);
        let mut wanted = PollFlags::empty();
        wanted.set(PollFlags::IN, self.starting.len() < MOST_JOBS);
        wanted.set(PollFlags::OUT, !self.outgoing.is_empty());
        let stdin = io::stdin();
        let mut fds = [
            PollFd::new(&stdin, wanted),
            PollFd::new(&self.wake, PollFlags::IN),
        ];
        // An interruption is a signal, and whatever it means is looked at in any case.
        let _ = poll(&mut fds, timeout.as_ref());
        let mut buffer = [0; 256];
        while (&self.wake).read(&mut buffer).is_ok_and(|n| n == buffer.len()) {}
        // Requests of a coordinator that is gone are void.
        if fds[0].revents().contains(PollFlags::HUP) {
            Coordinator::Gone
        } else {
            Coordinator::Present
        }
    }

    fn take_requests(&mut self) -> Coordinator {
        while self.starting.len() < MOST_JOBS {
            let handled = match receive(io::stdin()) {
                Ok(Received::Packet { bytes, fds }) => self.handle(&bytes, fds),
                Ok(Received::WithoutFds { bytes }) => {
                    Request::key(&bytes).map(|key| self.answer(&failure(key, Errno::MFILE)))
                }
                Err(Errno::AGAIN) => return Coordinator::Present,
                Ok(Received::Ended) | Err(_) => return Coordinator::Gone,
            };
            // Who cannot be understood cannot be served; its workers must not live on unattended.
            if handled.is_err() {
                return Coordinator::Gone;
            }
        }
        Coordinator::Present
    }

    fn handle(&mut self, bytes: &[u8], fds: Vec<OwnedFd>) -> Result<(), Malformed> {
        match Request::decode(bytes)? {
            Request::Spawn { key, order } => {
                let streams = fds.try_into().map_err(|_| Malformed)?;
                if self.workers.contains_key(&key) || self.starting.contains_key(&key) {
                    self.answer(&failure(key, Errno::EXIST));
                    return Ok(());
                }
                self.starting.insert(key, None);
                self.issued += 1;
                let mark = worker_mark(self.me, key);
                self.lanes.add(Job {
                    key,
                    number: self.issued,
                    order,
                    streams,
                    mark,
                });
            }
            Request::Close { key, grace } => self.close(key, grace),
        }
        Ok(())
    }

    /// Takes over what the lanes started.
    fn register(&mut self) {
        while let Some(Done { key, number, started }) = self.lanes.next_done() {
            let close = self.starting.remove(&key).flatten();
            let answer = match started {
                Ok((pid, start_time)) => {
                    let early = self.early.remove(&pid).filter(|(_, issued)| number <= *issued);
                    self.workers.insert(
                        key,
                        Worker {
                            pid,
                            start_time,
                            exit: None,
                            leftovers: HashSet::new(),
                        },
                    );
                    self.running.insert(pid, key);
                    if let Some((exit, _)) = early {
                        self.note_exit(pid, exit);
                    }
                    if let Some(grace) = close {
                        self.close(key, grace);
                    }
                    Answer::Spawned {
                        key,
                        pid: pid.as_raw_pid(),
                        start_time,
                    }
                }
                Err(errno) => failure(key, errno),
            };
            self.answer(&answer);
        }
        if self.starting.is_empty() {
            self.early.clear();
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
        // Otherwise it ended while the request was on its way.
    }

    /// Waits for all children that ended.
    fn reap(&mut self) {
        // Those of this thread are the adopted ones, and nobody asks how they ended.
        while let Ok(Some(_)) = wait(ADOPTED) {}
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            let exit = match status.exit_status() {
                Some(code) => ProcessExit::Code(code),
                None => ProcessExit::Signal(status.terminating_signal().unwrap_or_default()),
            };
            self.note_exit(pid, exit);
        }
    }

    fn note_exit(&mut self, pid: Pid, exit: ProcessExit) {
        let Some(key) = self.running.remove(&pid) else {
            // Its lane has not told yet. The stamp keeps it from being taken for a later process with the same pid.
            self.early.insert(pid, (exit, self.issued));
            return;
        };
        if let Some(worker) = self.workers.get_mut(&key) {
            worker.exit = Some(exit);
            self.exited.push(key);
        }
    }

    pub(super) fn answer(&mut self, answer: &Answer) {
        // Without descriptors and far below the limit of a packet, there is nothing that can fail.
        if let Ok(packet) = Packet::new(answer.encode(), Vec::new()) {
            self.outgoing.push_back(packet);
        }
    }

    fn flush(&mut self) -> Coordinator {
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

fn failure(key: u64, errno: Errno) -> Answer {
    Answer::SpawnFailed {
        key,
        errno: errno.raw_os_error(),
    }
}

fn timespec(duration: Duration) -> Timespec {
    Timespec::try_from(duration).unwrap_or(Timespec {
        tv_sec: i64::MAX,
        tv_nsec: 0,
    })
}
