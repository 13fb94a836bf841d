//! The coordinator's end of the socket: passes requests to the guardian and its answers to the driver. Waits
//! for neither.

use std::collections::HashMap;
use std::ffi::OsString;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, Signal, getpid, kill_process, set_child_subreaper};
use tokio::io::Interest;
use tokio::net::UnixDatagram;
use tokio::process::{Child, Command};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::{interval, sleep, timeout};

use super::known_confinements::KnownConfinements;
use super::packet::{Packet, Received, receive};
use super::wire::{Answer, ProgramSpec, Request, VERSION, decode, encode};
use super::{Containment, GuardianCommand, NO_PID_NAMESPACE};
use crate::LockAnyway;
use crate::sandbox::LESS_SUPPORT;
use crate::{
    GuardianEvent, ProcessError, ProcessId, Spawn, SpawnError, SpawnFailure, end_all_descendants,
    outer_agent_markers, process_id, process_table, raise_open_files_limit,
};

/// A program that is not ready within this time is not a guardian.
const READY_TIMEOUT: Duration = Duration::from_secs(10);
/// A guardian that is stopped in two checks in a row is killed: with it stopped, workers would run past every
/// limit.
const STOPPED_CHECK: Duration = Duration::from_secs(1);
/// Longer than the guardian needs to end everything.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(8);
/// How long to wait until descriptors in flight have arrived; there is no event for it.
const IN_FLIGHT_PAUSE: Duration = Duration::from_millis(2);

/// The handle of the guardian. When it is dropped, the guardian ends all workers and itself.
#[derive(Debug)]
pub struct Guardian {
    process: ProcessId,
    containment: Containment,
    /// The guardian, or its keeper.
    child: Child,
    outgoing: UnboundedSender<Outgoing>,
    connection: JoinHandle<()>,
    confinements: Arc<Mutex<KnownConfinements>>,
}

impl Guardian {
    /// Starts the guardian and waits until it is ready. From then on this process adopts orphans too, for the case that
    /// the guardian is killed, and may open as many files as the system allows.
    pub async fn start(
        launch: GuardianCommand,
    ) -> Result<(Self, UnboundedReceiver<GuardianEvent>), ProcessError> {
        set_child_subreaper(Some(getpid())).map_err(ProcessError::system("adopt orphaned processes"))?;
        let wanted = requested_containment();
        match Self::start_in(&launch, wanted).await {
            // The kernel allows the namespace, but not the mounts that it needs.
            Err(ProcessError::NotReady { .. }) if wanted == Containment::Namespace => {
                Self::start_in(&launch, Containment::None).await
            }
            started => started,
        }
    }

    async fn start_in(
        launch: &GuardianCommand,
        wanted: Containment,
    ) -> Result<(Self, UnboundedReceiver<GuardianEvent>), ProcessError> {
        let program = launch.program.to_string_lossy().into_owned();
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
            .map_err(ProcessError::system("create a socket"))?;
        let mut command = Command::new(&launch.program);
        command
            .args(&launch.args)
            .args((wanted == Containment::None).then_some(NO_PID_NAMESPACE))
            .envs(launch.env.iter().cloned())
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        for name in outer_agent_markers(std::env::vars_os().map(|(name, _)| name)) {
            command.env_remove(name);
        }
        let child = command.spawn().map_err(|source| ProcessError::Start {
            program: program.clone(),
            source,
        })?;
        // Dropped here, because it would keep the guardian's end of the socket open.
        drop(command);
        raise_open_files_limit();
        // The type is for datagrams, but only its readiness is used, which works for every socket.
        let socket = UnixDatagram::from_std(ours.into()).map_err(|source| ProcessError::System {
            what: "watch a socket",
            source,
        })?;
        let not_ready = |reason: &str| ProcessError::NotReady {
            program: program.clone(),
            reason: reason.to_owned(),
        };
        let (process, containment) = match timeout(READY_TIMEOUT, next_answer(&socket)).await {
            Ok(Some((
                _,
                Answer::Ready {
                    version: VERSION,
                    process,
                    containment,
                },
            ))) => (process, containment),
            Ok(Some(_)) => return Err(not_ready("it is a different version")),
            Ok(None) => return Err(not_ready("it exited at once")),
            Err(_) => return Err(not_ready("it does not answer")),
        };
        let guardian = Pid::from_raw(process.pid).ok_or_else(|| not_ready("it exited at once"))?;
        let (outgoing, queue) = unbounded_channel();
        let (events, driver) = unbounded_channel();
        let confinements = Arc::<Mutex<KnownConfinements>>::default();
        let connection = Connection {
            guardian,
            socket,
            queue,
            events,
            programs: HashMap::new(),
            confinements: Arc::clone(&confinements),
        };
        let connection = tokio::spawn(connection.run());
        Ok((
            Self {
                process: process_id(process.pid, process.start_time),
                containment,
                child,
                outgoing,
                connection,
                confinements,
            },
            driver,
        ))
    }

    /// Finds out what a guardian can do here: starts one and ends it again.
    pub fn try_containment(launch: GuardianCommand) -> Result<Containment, ProcessError> {
        let failed = |source| ProcessError::System {
            what: "start an event loop",
            source,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(failed)?;
        runtime.block_on(async {
            let (guardian, _events) = Self::start(launch).await?;
            let containment = guardian.containment();
            guardian.shutdown().await;
            Ok(containment)
        })
    }

    pub fn process(&self) -> &ProcessId {
        &self.process
    }

    pub fn containment(&self) -> Containment {
        self.containment
    }

    /// Asks for a program to be started; [`GuardianEvent::Spawned`] or [`GuardianEvent::SpawnFailed`] answers. A key names one spawn.
    pub fn spawn(&self, key: u64, spec: Spawn) -> Result<(), ProcessError> {
        let Spawn {
            program,
            args,
            cwd,
            env_set,
            env_remove,
            stdin,
            stdout,
            stderr,
            confinement,
        } = spec;
        let confinement = confinement.map(|confinement| self.known_confinements().number(&confinement));
        let request = Request::Spawn(Box::new(ProgramSpec {
            program: program.clone(),
            args,
            cwd: cwd.clone().into(),
            env_set,
            env_remove,
            confinement,
        }));
        let packet = Packet::new(&encode(key, &request), vec![stdin, stdout, stderr])
            .map_err(ProcessError::system("pass a long command to the guardian"))?;
        self.post(Outgoing {
            packet,
            spawn: Some((key, (program, cwd.into()))),
        })
    }

    /// Ends a worker with everything that it started: SIGTERM first, SIGKILL after the grace time.
    /// [`GuardianEvent::Exited`] follows. Does nothing if the worker has already ended.
    pub fn close(&self, key: u64, grace: Duration) {
        // If the guardian is gone, it has ended the worker, or its loss is about to be detected.
        if let Ok(packet) = Packet::new(&encode(key, &Request::Close { grace }), Vec::new()) {
            let _ = self.post(Outgoing { packet, spawn: None });
        }
    }

    /// Ends all workers and the guardian, and waits until they are gone.
    pub async fn shutdown(self) {
        let Self {
            mut child,
            outgoing,
            connection,
            ..
        } = self;
        drop(outgoing);
        let _ = connection.await;
        if timeout(SHUTDOWN_TIMEOUT, child.wait()).await.is_err() {
            let _ = child.start_kill();
            let _ = child.wait().await;
            end_descendants().await;
        }
    }

    fn known_confinements(&self) -> MutexGuard<'_, KnownConfinements> {
        self.confinements.lock_anyway()
    }

    fn post(&self, outgoing: Outgoing) -> Result<(), ProcessError> {
        self.outgoing
            .send(outgoing)
            .map_err(|_| ProcessError::GuardianGone)
    }
}

#[derive(Debug)]
struct Outgoing {
    packet: Packet,
    /// For the error message if it fails.
    spawn: Option<(u64, ProgramAndFolder)>,
}

type ProgramAndFolder = (OsString, OsString);

/// Owns the socket. Ends when the handle is dropped, which closes the socket, which ends the workers.
struct Connection {
    guardian: Pid,
    socket: UnixDatagram,
    queue: UnboundedReceiver<Outgoing>,
    events: UnboundedSender<GuardianEvent>,
    /// Programs that are being started, by key.
    programs: HashMap<u64, ProgramAndFolder>,
    confinements: Arc<Mutex<KnownConfinements>>,
}

enum Socket {
    Open,
    Lost,
}

impl Connection {
    async fn run(mut self) {
        let mut pending: Option<Packet> = None;
        let mut checks = interval(STOPPED_CHECK);
        let mut was_stopped = false;
        loop {
            let state = tokio::select! {
                biased;
                answer = next_answer(&self.socket) => match answer {
                    Some((key, answer)) => self.deliver(key, &answer),
                    None => Socket::Lost,
                },
                state = write(&self.socket, pending.as_ref()), if pending.is_some() => {
                    pending = None;
                    state
                }
                next = self.queue.recv(), if pending.is_none() => {
                    let Some(Outgoing { packet, spawn }) = next else { return };
                    self.programs.extend(spawn);
                    pending = Some(packet);
                    Socket::Open
                }
                _ = checks.tick() => {
                    let stopped = process_table::is_stopped(self.guardian);
                    if stopped && was_stopped {
                        let _ = kill_process(self.guardian, Signal::KILL);
                    }
                    was_stopped = stopped;
                    Socket::Open
                }
            };
            if let Socket::Lost = state {
                self.queue.close();
                end_descendants().await;
                let _ = self.events.send(GuardianEvent::GuardianLost);
                return;
            }
        }
    }

    fn deliver(&mut self, key: u64, answer: &Answer) -> Socket {
        let event = match *answer {
            Answer::Ready { .. } => return Socket::Open,
            Answer::Spawned(process) => {
                self.programs.remove(&key);
                GuardianEvent::Spawned {
                    key,
                    process: process_id(process.pid, process.start_time),
                }
            }
            Answer::SpawnFailed { errno } => {
                // The rules may have been lost with the request, so they are sent again.
                self.confinements.lock_anyway().forget();
                let (program, cwd) = self.programs.remove(&key).unwrap_or_default();
                let program = program.to_string_lossy().into_owned();
                let reason = SpawnFailure::new(Errno::from_raw_os_error(errno), cwd.into());
                GuardianEvent::SpawnFailed {
                    key,
                    error: SpawnError { program, reason },
                }
            }
            Answer::Exited { status, leftovers } => GuardianEvent::Exited {
                key,
                status,
                killed_leftovers: leftovers,
            },
        };
        // A driver that no longer listens is about to drop the handle.
        let _ = self.events.send(event);
        Socket::Open
    }
}

/// `None` when the guardian is gone or sends something else.
async fn next_answer(socket: &UnixDatagram) -> Option<(u64, Answer)> {
    let received = socket
        .async_io(Interest::READABLE, || Ok(receive(socket)?))
        .await
        .ok()?;
    match received {
        Received::Packet { bytes, .. } | Received::WithoutFds { bytes } => decode(&bytes).ok(),
        Received::Ended => None,
    }
}

async fn write(socket: &UnixDatagram, packet: Option<&Packet>) -> Socket {
    let Some(packet) = packet else { return Socket::Open };
    loop {
        let sent = socket
            .async_io(Interest::WRITABLE, || Ok(packet.send(socket)?))
            .await;
        match sent.map_err(|e| Errno::from_io_error(&e)) {
            Ok(()) => return Socket::Open,
            Err(Some(Errno::TOOMANYREFS | Errno::NOBUFS | Errno::NOMEM)) => sleep(IN_FLIGHT_PAUSE).await,
            Err(_) => return Socket::Lost,
        }
    }
}

/// Tests set [`LESS_SUPPORT`] to simulate a kernel that supports less.
fn requested_containment() -> Containment {
    let less = std::env::var(LESS_SUPPORT).unwrap_or_default();
    if less.split(',').any(|setting| setting == "processes=0") {
        Containment::None
    } else {
        Containment::Namespace
    }
}

async fn end_descendants() {
    // A panic of the thread has already been reported, and nothing else can be done here.
    let _ = tokio::task::spawn_blocking(end_all_descendants).await;
}
