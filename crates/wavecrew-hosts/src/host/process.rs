//! The process of one turn: started in its copy of the folders, and followed to its end.

use super::lease::LeaseNews;
use super::mirror::Mirror;
use super::output::CarriedStream;
use super::relay::{self, Asked, Unanswered};
use super::slot::SandboxOf;
use super::turn::{Failed, RunningTurn, ToTurn, spawn_error};
use crate::objects::ObjectReader;
use crate::path_map::PathMap;
use crate::task::StdinSource;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe::Sender as PipeSender;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;
use wavecrew_core::worker_variables;
use wavecrew_process::LockAnyway;
use wavecrew_process::sandbox::Support;
use wavecrew_process::{GuardianEvent, ProcessExit, Spawn, SpawnFailure, input_pipe, output_pipe};
use wavecrew_remote::wire::{FromHost, OutputStream};
use wavecrew_run::sandbox::{Sandbox, SandboxMode};
use wavecrew_run::worker_commands::Relay;

/// Output ends with the process; more than this is never waited for.
const LAST_OUTPUT: Duration = Duration::from_secs(3);

impl RunningTurn<'_> {
    pub(super) async fn run(&mut self) -> Result<String, Failed> {
        let mirror = self.mirror().await?;
        let facts = &self.details.facts;
        let (sandbox_of, mut sandbox) = self.sandbox(&mirror);
        if let Some(reason) = sandbox.refusal() {
            return Err(Failed::Spawn {
                reason: format!("{reason} (on host {})", self.context.host),
                temporary: false,
            });
        }
        let number = facts.number.to_string();
        let here = sandbox.temp_folder(&number);
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
            .find(|(name, _)| name == worker_variables::TOKEN)
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
        // Emptied now: it may be large.
        let _ = sandbox.temp_folder(&number);
        self.slot.keep_sandbox(sandbox_of, sandbox);
        self.return_changes(mirror, exit, leftovers, lengths).await
    }

    /// The sandbox of the slot's last turn if it fits, or else a new one.
    fn sandbox(&self, mirror: &Mirror) -> (SandboxOf, Sandbox) {
        let settings = self.details.sandbox.settings();
        let support = match settings.mode {
            SandboxMode::Off => Support::default(),
            SandboxMode::Auto | SandboxMode::Require => self.context.support,
        };
        let (session, project) = (&mirror.session, &mirror.project);
        let of = (settings.clone(), session.path().to_owned(), project.clone());
        let sandbox = self.slot.take_sandbox(&of).unwrap_or_else(|| {
            let temp = self.context.temp.join(self.slot.number.to_string());
            let _ = std::fs::create_dir_all(&temp);
            Sandbox::of_copy(settings, support, session, project, Some(temp.as_path()))
        });
        (of, sandbox)
    }

    fn routes(&self) -> std::sync::MutexGuard<'_, HashMap<u64, UnboundedSender<GuardianEvent>>> {
        self.context.routes.lock_anyway()
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
            env.push((worker_variables::DEADLINE.into(), at.as_secs().to_string().into()));
        }
        env.push((worker_variables::HOST.into(), self.context.host.clone().into()));
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
}

struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
