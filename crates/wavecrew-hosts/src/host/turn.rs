//! One turn on this host: its lease, its folders, its process, its output, and what it leaves.

use super::lease::{Keeper, LeaseNews};
use super::mirror::{self, HostFiles, Mirror, Slot};
use super::output::Lines;
use super::relay::{self, Asked, Unanswered};
use crate::mail;
use crate::objects::ObjectReader;
use crate::path_map::PathMap;
use crate::setup::Buckets;
use crate::task::{Details, StdinSource, TurnAtHost};
use async_nats::jetstream;
use bytes::Bytes;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe::{Receiver, Sender as PipeSender};
use tokio::sync::mpsc::{Sender, UnboundedReceiver, UnboundedSender, channel, unbounded_channel};
use tokio::time::timeout;
use wavecrew_agents::Redactor;
use wavecrew_process::guardian::Guardian;
use wavecrew_process::sandbox::Support;
use wavecrew_process::{GuardianEvent, ProcessExit, Spawn, SpawnFailure, input_pipe, output_pipe};
use wavecrew_remote::lease::Terms;
use wavecrew_remote::names::Names;
use wavecrew_remote::wire::{AttemptToken, Exit, FromHost, OutputStream, Refusal, Turn as WireTurn, encode};
use wavecrew_run::sandbox::{Sandbox, SandboxMode};
use wavecrew_run::worker_commands::Relay;
use wavecrew_session::random_name;

/// Messages of one turn that wait to be sent. More output waits in the worker's pipes.
const OUTBOX: usize = 16;
/// A line without an end is sent after this much silence.
const PARTIAL: Duration = Duration::from_millis(300);
/// Output ends with the process; more than this is never waited for.
const LAST_OUTPUT: Duration = Duration::from_secs(3);

/// What all turns of a host share.
pub(super) struct HostContext {
    pub host: String,
    pub boot: String,
    pub names: Names,
    pub jetstream: jetstream::Context,
    pub buckets: Buckets,
    pub files: Arc<HostFiles>,
    pub guardian: Guardian,
    pub support: Support,
    pub program: PathBuf,
    pub redactor: Redactor,
    pub next_key: AtomicU64,
    /// Where events of each process go.
    pub routes: Mutex<HashMap<u64, UnboundedSender<GuardianEvent>>>,
}

/// What a coordinator sends to a running turn.
pub(super) enum ToTurn {
    Close { grace: Duration },
    Input { bytes: Bytes, last: bool },
    Reply { number: u64, reply: serde_json::Value },
}

/// Sends the messages of one turn in order.
#[derive(Clone)]
struct Outbox {
    queue: Sender<Vec<u8>>,
}

impl Outbox {
    fn start(context: &HostContext, attempt: &AttemptToken) -> (Self, tokio::task::JoinHandle<()>) {
        let (queue, mut messages) = channel::<Vec<u8>>(OUTBOX);
        let subject = (context.names).from_host(&context.host, &attempt.run, &attempt.token);
        let (jetstream, token) = (context.jetstream.clone(), attempt.token.clone());
        let task = tokio::spawn(async move {
            let mut number = 0_u64;
            while let Some(payload) = messages.recv().await {
                number += 1;
                let id = format!("{token}-from-{number}");
                if mail::send(&jetstream, &subject, &id, payload.into(), None)
                    .await
                    .is_err()
                {
                    return;
                }
            }
        });
        (Self { queue }, task)
    }

    async fn send(&self, message: &FromHost, bytes: &[u8]) {
        // It ends only with the turn.
        let _ = self.queue.send(encode(message, bytes)).await;
    }
}

/// Runs a turn to its end. Returns what to show about it.
pub(super) async fn run(
    context: Arc<HostContext>,
    slot: Arc<Slot>,
    wire: WireTurn,
    details: Details,
    mut orders: UnboundedReceiver<ToTurn>,
) -> String {
    let attempt = wire.attempt.clone();
    let (outbox, sending) = Outbox::start(&context, &attempt);
    let terms = Terms {
        lease: wire.lease,
        ..Terms::default()
    };
    let Ok(holder) = random_name() else {
        // Without randomness nothing else works here either; the offer expires.
        return "no randomness".to_owned();
    };
    let mut keeper = Keeper::start(
        context.buckets.leases.clone(),
        Names::lease_key(&context.host, &attempt.run, &attempt.key()),
        terms,
        context.host.clone(),
        holder,
        wire.turn,
    );
    let refuse = |reason| FromHost::Refused {
        attempt: attempt.clone(),
        turn: wire.turn,
        reason,
    };
    let how = match keeper.news.recv().await {
        Some(LeaseNews::Held) => {
            outbox.send(&accepted(&context, &wire, &details), b"").await;
            let mut turn = RunningTurn {
                context: &context,
                slot: &slot,
                wire: &wire,
                details: &details,
                outbox: &outbox,
                keeper: &mut keeper,
                orders: &mut orders,
            };
            match turn.run().await {
                Ok(how) => how,
                Err(Failed::Files(reason)) => {
                    outbox
                        .send(
                            &refuse(Refusal::Files {
                                reason: reason.clone(),
                            }),
                            b"",
                        )
                        .await;
                    format!("cannot fetch its files: {reason}")
                }
                Err(Failed::Spawn { reason, temporary }) => {
                    let message = FromHost::SpawnFailed {
                        attempt: attempt.clone(),
                        turn: wire.turn,
                        errno: i32::from(temporary),
                        reason: reason.clone(),
                    };
                    outbox.send(&message, b"").await;
                    format!("not started: {reason}")
                }
                Err(Failed::Lost) => {
                    // Nobody may be there to read it.
                    sending.abort();
                    let subject = (context.names).from_host(&context.host, &attempt.run, &attempt.token);
                    let payload = encode(
                        &FromHost::Lost {
                            attempt: attempt.clone(),
                        },
                        b"",
                    );
                    let id = format!("{}-lost", attempt.token);
                    let _ = timeout(
                        Duration::from_secs(2),
                        mail::send(&context.jetstream, &subject, &id, payload.into(), None),
                    )
                    .await;
                    return "lease lost".to_owned();
                }
            }
        }
        Some(LeaseNews::Lost) | None => {
            outbox.send(&refuse(Refusal::Withdrawn), b"").await;
            "withdrawn".to_owned()
        }
    };
    drop(outbox);
    // The lease is kept until the result is stored: the coordinator has not given up on it by then.
    let stored = async {
        loop {
            if keeper.news.recv().await != Some(LeaseNews::Held) {
                return;
            }
        }
    };
    tokio::select! {
        _ = sending => {}
        () = stored => return "lease lost".to_owned(),
    }
    keeper.release();
    how
}

/// What whoever continues the run has to know.
fn accepted(context: &HostContext, wire: &WireTurn, details: &Details) -> FromHost {
    FromHost::Accepted {
        attempt: wire.attempt.clone(),
        turn: wire.turn,
        host: context.host.clone(),
        boot: context.boot.clone(),
        details: serde_json::to_value(TurnAtHost::from(details)).unwrap_or_default(),
    }
}

enum Failed {
    Files(String),
    Spawn { reason: String, temporary: bool },
    Lost,
}

struct RunningTurn<'a> {
    context: &'a Arc<HostContext>,
    slot: &'a Arc<Slot>,
    wire: &'a WireTurn,
    details: &'a Details,
    outbox: &'a Outbox,
    keeper: &'a mut Keeper,
    orders: &'a mut UnboundedReceiver<ToTurn>,
}

impl RunningTurn<'_> {
    async fn run(&mut self) -> Result<String, Failed> {
        let mirror = self.make_mirror().await?;
        let facts = &self.details.facts;
        let settings = self.details.sandbox.settings();
        let support = match settings.mode {
            SandboxMode::Off => Support::default(),
            SandboxMode::Auto | SandboxMode::Require => self.context.support,
        };
        let private = [mirror.map.path(&facts.private)];
        let mut sandbox = Sandbox::new(settings, support, &mirror.session, &mirror.project, &private);
        if let Some(reason) = sandbox.refusal() {
            return Err(Failed::Spawn {
                reason: format!("{reason} (on host {})", self.context.host),
                temporary: false,
            });
        }
        let here = sandbox.temp_folder(&facts.number.to_string());
        let own_temp = match &here {
            Some(_) => None,
            None => Some(tempfile::tempdir().map_err(|error| spawn_error(&error))?),
        };
        let temp = here.unwrap_or_else(|| {
            own_temp
                .as_ref()
                .map(|folder| folder.path().to_owned())
                .unwrap_or_default()
        });
        let there = facts.temp.clone().map(|there| (there, temp.clone()));
        let map = mirror.map.and(there);
        let socket = temp.join(".relay");
        let (asked, mut asked_in) = unbounded_channel();
        let token = self
            .wire
            .env_set
            .iter()
            .find(|(name, _)| name == "WAVECREW_TOKEN")
            .map(|(_, value)| value.clone());
        let listening = relay::listen(&socket, token.unwrap_or_default(), asked)
            .and_then(|task| Relay::announce(&mirror.session, facts.number, &socket).map(|()| task));
        let listening = listening.map_err(|error| spawn_error(&error))?;
        let _stop_listening = AbortOnDrop(listening);
        let mut there_facts = facts.clone();
        there_facts.folder = map.path(&facts.folder);
        there_facts.worktree = facts.worktree.as_deref().map(|path| map.path(path));
        there_facts.private = map.path(&facts.private);
        let _ = std::fs::create_dir_all(&there_facts.private);
        let confinement = sandbox.confine_worker(&there_facts);
        let back = map.reversed();
        let (stdin, mut input) = self.open_stdin(&map).map_err(|error| spawn_error(&error))?;
        let pipes = output_pipe().and_then(|stdout| Ok((stdout, output_pipe()?)));
        let ((stdout_reader, stdout), (stderr_reader, stderr)) =
            pipes.map_err(|error| spawn_error(&error))?;
        let spawn = Spawn {
            program: map.os(self.wire.program.as_ref()),
            args: self.wire.args.iter().map(|arg| map.text(arg).into()).collect(),
            cwd: map.path(&self.details.cwd),
            env_set: self.environment(&map),
            env_remove: self.wire.env_remove.iter().map(OsString::from).collect(),
            stdin,
            stdout,
            stderr,
            confinement,
        };
        let readers = [
            (OutputStream::Stdout, stdout_reader),
            (OutputStream::Stderr, stderr_reader),
        ];
        let readers = readers.map(|(stream, fd)| {
            let carry = CarriedStream {
                stream,
                outbox: self.outbox.clone(),
                attempt: self.wire.attempt.clone(),
                turn: self.wire.turn,
                map: back.clone(),
                context: Arc::clone(self.context),
            };
            tokio::spawn(carry.carry(fd))
        });
        let key = self.context.next_key.fetch_add(1, Ordering::Relaxed);
        let (route, mut events) = unbounded_channel();
        self.routes().insert(key, route);
        let started = self.context.guardian.spawn(key, spawn);
        let ended = match started {
            Ok(()) => self.follow(key, &mut events, &mut asked_in, &mut input).await,
            Err(error) => Err(spawn_error(&error)),
        };
        self.routes().remove(&key);
        let (exit, leftovers) = ended?;
        let mut lengths = [0; 2];
        for (length, reader) in lengths.iter_mut().zip(readers) {
            if let Ok(Ok(read)) = timeout(LAST_OUTPUT, reader).await {
                *length = read;
            }
        }
        drop(sandbox);
        self.bring_back(mirror, exit, leftovers, lengths).await
    }

    fn routes(&self) -> std::sync::MutexGuard<'_, HashMap<u64, UnboundedSender<GuardianEvent>>> {
        self.context.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something that takes time, unless the lease is lost.
    async fn while_held<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Failed> {
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return Ok(done),
                news = self.keeper.news.recv() => match news {
                    Some(LeaseNews::Held) => {}
                    Some(LeaseNews::Lost) | None => return Err(Failed::Lost),
                }
            }
        }
    }

    async fn make_mirror(&mut self) -> Result<Arc<Mirror>, Failed> {
        let (context, details) = (Arc::clone(self.context), self.details.clone());
        let fetched = self.while_held(mirror::fetch(&context.files, &details)).await?;
        fetched.map_err(|error| Failed::Files(error.to_string()))?;
        let slot = Arc::clone(self.slot);
        let making = tokio::task::spawn_blocking(move || {
            Mirror::make(&context.files, &slot, &details, &context.program)
        });
        match self.while_held(making).await? {
            Ok(Ok(mirror)) => Ok(Arc::new(mirror)),
            Ok(Err(error)) => Err(Failed::Files(error.to_string())),
            Err(error) => Err(Failed::Files(error.to_string())),
        }
    }

    fn open_stdin(&self, map: &PathMap) -> io::Result<(OwnedFd, Option<PipeSender>)> {
        let bytes = match &self.details.stdin {
            StdinSource::Messages => {
                let (stdin, sender) = input_pipe()?;
                return Ok((stdin, Some(sender)));
            }
            StdinSource::Text { text } => map.text(text).into_bytes(),
            StdinSource::Object { id } => map.bytes(&self.context.files.cache.read(id)?).into_owned(),
        };
        let mut file: File = tempfile::tempfile()?;
        file.write_all(&bytes)?;
        file.rewind()?;
        Ok((file.into(), None))
    }

    fn environment(&self, map: &PathMap) -> Vec<(OsString, OsString)> {
        let mut env: Vec<(OsString, OsString)> = self
            .wire
            .env_set
            .iter()
            .map(|(name, value)| (name.into(), map.text(value).into()))
            .collect();
        // Clocks of two machines differ.
        let left = Duration::from_secs(self.details.facts.seconds_left);
        let deadline = SystemTime::now().checked_add(left);
        if let Some(at) = deadline.and_then(|at| at.duration_since(UNIX_EPOCH).ok()) {
            env.push(("WAVECREW_DEADLINE".into(), at.as_secs().to_string().into()));
        }
        env.push(("WAVECREW_HOST".into(), self.context.host.clone().into()));
        env
    }

    /// Follows the process to its end.
    async fn follow(
        &mut self,
        key: u64,
        events: &mut UnboundedReceiver<GuardianEvent>,
        asked: &mut UnboundedReceiver<Asked>,
        input: &mut Option<PipeSender>,
    ) -> Result<(ProcessExit, u32), Failed> {
        let mut unanswered = Unanswered::default();
        let (attempt, turn) = (self.wire.attempt.clone(), self.wire.turn);
        let mut lost = false;
        loop {
            tokio::select! {
                event = events.recv() => match event {
                    Some(GuardianEvent::Spawned { process, .. }) => {
                        let message = FromHost::Spawned {
                            attempt: attempt.clone(),
                            turn,
                            pid: process.pid,
                            start_time: process.start_time,
                        };
                        self.outbox.send(&message, b"").await;
                    }
                    Some(GuardianEvent::SpawnFailed { error, .. }) => {
                        let temporary = matches!(error.reason, SpawnFailure::TooManyFiles | SpawnFailure::Other(_));
                        let reason = format!("{} (on host {})", error.reason, self.context.host);
                        return Err(Failed::Spawn { reason, temporary });
                    }
                    Some(GuardianEvent::Exited { status, killed_leftovers, .. }) => {
                        return if lost { Err(Failed::Lost) } else { Ok((status, killed_leftovers)) };
                    }
                    Some(GuardianEvent::GuardianLost) | None => return Err(Failed::Lost),
                },
                order = self.orders.recv(), if !lost => match order {
                    Some(ToTurn::Close { grace }) => self.context.guardian.close(key, grace),
                    Some(ToTurn::Input { bytes, last }) => {
                        if let Some(sender) = input {
                            // A process that no longer reads is about to exit.
                            let _ = timeout(LAST_OUTPUT, sender.write_all(&bytes)).await;
                        }
                        if last {
                            *input = None;
                        }
                    }
                    Some(ToTurn::Reply { number, reply }) => unanswered.answer(number, reply),
                    None => self.context.guardian.close(key, Duration::ZERO),
                },
                Some(Asked { request, answer }) = asked.recv() => {
                    let number = unanswered.add(answer);
                    let request = serde_json::to_value(&request).unwrap_or_default();
                    let message = FromHost::Request { attempt: attempt.clone(), turn, number, request };
                    self.outbox.send(&message, b"").await;
                }
                news = self.keeper.news.recv(), if !lost => match news {
                    Some(LeaseNews::Held) => {}
                    Some(LeaseNews::Lost) | None => {
                        lost = true;
                        self.context.guardian.close(key, Duration::from_secs(1));
                    }
                },
            }
        }
    }

    async fn bring_back(
        &mut self,
        mirror: Arc<Mirror>,
        exit: ProcessExit,
        leftovers: u32,
        [stdout, stderr]: [u64; 2],
    ) -> Result<String, Failed> {
        let (files, slot) = (Arc::clone(&self.context.files), Arc::clone(self.slot));
        let mut pause = Duration::from_millis(100);
        let brought = loop {
            let work = mirror::bring_back(
                Arc::clone(&files),
                Arc::clone(&slot),
                Arc::clone(&mirror),
                Vec::new(),
            );
            match self.while_held(work).await? {
                Ok(id) => break Ok(id),
                Err(error @ (crate::objects::StoreError::Full(_) | crate::objects::StoreError::Disk(_))) => {
                    break Err(error.to_string());
                }
                // NATS is away, or slow; as long as the lease holds, it may come back.
                Err(_) => self.while_held(tokio::time::sleep(pause)).await?,
            }
            pause = (pause * 2).min(Duration::from_secs(2));
        };
        let exit_text = match exit {
            ProcessExit::Code(code) => format!("exit code {code}"),
            ProcessExit::Signal(signal) => format!("signal {signal}"),
        };
        let files = match brought {
            Ok(id) => id,
            Err(reason) => {
                let reason = format!(
                    "cannot copy its files back from host {}: {reason}",
                    self.context.host
                );
                return Err(Failed::Spawn {
                    reason,
                    temporary: true,
                });
            }
        };
        let message = FromHost::Exited {
            attempt: self.wire.attempt.clone(),
            turn: self.wire.turn,
            exit: match exit {
                ProcessExit::Code(code) => Exit::Code(code),
                ProcessExit::Signal(signal) => Exit::Signal(signal),
            },
            killed_leftovers: leftovers,
            stdout,
            stderr,
            files: Some(files.into()),
        };
        self.outbox.send(&message, b"").await;
        Ok(exit_text)
    }
}

/// One output stream on its way to the coordinator.
struct CarriedStream {
    stream: OutputStream,
    outbox: Outbox,
    attempt: AttemptToken,
    turn: u32,
    map: PathMap,
    context: Arc<HostContext>,
}

impl CarriedStream {
    /// Sends what a process prints, until its end. Returns the number of bytes.
    async fn carry(self, fd: OwnedFd) -> u64 {
        let mut lines = Lines::new();
        let Ok(mut reader) = Receiver::from_owned_fd_unchecked(fd) else {
            return 0;
        };
        let mut buffer = vec![0; 64 << 10];
        loop {
            let read = if lines.has_partial() {
                let Ok(read) = timeout(PARTIAL, reader.read(&mut buffer)).await else {
                    self.send(&mut lines, true).await;
                    continue;
                };
                read
            } else {
                reader.read(&mut buffer).await
            };
            match read {
                Ok(0) | Err(_) => break,
                Ok(length) => {
                    lines.add(&buffer[..length], &self.map, &self.context.redactor);
                    self.send(&mut lines, false).await;
                }
            }
        }
        self.send(&mut lines, true).await;
        lines.length()
    }

    async fn send(&self, lines: &mut Lines, at_end: bool) {
        while let Some((offset, bytes)) = lines.take(&self.map, &self.context.redactor, at_end) {
            let message = FromHost::Output {
                attempt: self.attempt.clone(),
                turn: self.turn,
                stream: self.stream,
                offset,
            };
            self.outbox.send(&message, &bytes).await;
        }
    }
}

struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn spawn_error(error: &dyn std::fmt::Display) -> Failed {
    Failed::Spawn {
        reason: error.to_string(),
        temporary: true,
    }
}
