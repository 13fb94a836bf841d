//! Handles the messages of hosts about turns.

use super::pipes::Work;
use super::results::Incoming;
use super::run::Coordinator;
use super::sending::feed;
use super::turns::{FILE_TRIES, Stage, Turn};
use crate::objects::ObjectId;
use bytes::Bytes;
use std::time::Duration;
use wavecrew_core::event::ProcessId;
use wavecrew_process::{GuardianEvent, LockAnyway, ProcessExit};
use wavecrew_remote::lease::TurnResult;
use wavecrew_remote::wire::{AttemptToken, Exit, FromHost, Refusal, decode, unbundle};
use wavecrew_run::place::PlaceEvent;

/// A turn for which a host had no slot is not offered again immediately.
const BUSY_PAUSE: Duration = Duration::from_millis(200);

impl Coordinator {
    pub(super) fn handle_message(&mut self, incoming: &Incoming) {
        self.needs.saw(incoming.sequence);
        for (from, bytes) in read_messages(&incoming.message.payload) {
            if attempt_of(&from).is_some_and(|attempt| self.tokens.contains_key(&attempt.token)) {
                self.handle_report(from, bytes, incoming.sequence);
            } else {
                self.handle_foreign(from, bytes, incoming.sequence);
            }
        }
    }

    pub(super) fn handle_report(&mut self, from: FromHost, bytes: Bytes, sequence: u64) {
        let Some(attempt) = attempt_of(&from) else { return };
        // For an attempt that is over: refused.
        let Some(key) = self.tokens.get(&attempt.token).copied() else {
            return;
        };
        let Some(turn) = self.turns.get_mut(&key) else {
            return;
        };
        match from {
            FromHost::Accepted { .. } | FromHost::Unknown => {}
            FromHost::Refused { reason, .. } => self.refused(key, &reason),
            FromHost::Spawned { pid, start_time, .. } => self.spawned(key, pid, start_time),
            FromHost::SpawnFailed { errno, reason, .. } => self.spawn_failed(key, reason, errno != 0),
            FromHost::Output { stream, offset, .. } => {
                let _ = turn.pipe.send(Work::Output {
                    stream,
                    offset,
                    bytes,
                });
            }
            FromHost::Request { number, request, .. } => {
                if number > turn.last_request {
                    turn.last_request = number;
                    self.request(key, number, request, sequence);
                }
            }
            FromHost::Exited {
                exit,
                killed_leftovers,
                files,
                inline,
                ..
            } => {
                let number = turn.facts.turn;
                let Some(offer) = turn.offer_mut() else { return };
                if offer.lease.result(number) != TurnResult::Accept {
                    return;
                }
                let exit = match exit {
                    Exit::Code(code) => ProcessExit::Code(code),
                    Exit::Signal(signal) => ProcessExit::Signal(signal),
                };
                let host = offer.host.clone();
                let roots = turn.ready.as_ref().map(|ready| ready.roots.clone());
                let _ = turn.pipe.send(Work::Exited {
                    exit,
                    leftovers: killed_leftovers,
                    files: files.and_then(|id| ObjectId::try_from(id).ok()),
                    inline: inline
                        .into_iter()
                        .filter_map(|(id, length)| Some((ObjectId::try_from(id).ok()?, length)))
                        .collect(),
                    objects: bytes,
                    roots: roots.unwrap_or_default(),
                    host,
                });
                let stage = std::mem::replace(&mut turn.stage, Stage::Preparing);
                turn.stage = match stage {
                    Stage::Offered(offer) | Stage::Running(offer) | Stage::Ending(offer) => {
                        Stage::Ending(offer)
                    }
                    other @ (Stage::Preparing | Stage::Waiting { .. }) => other,
                };
                // The lease's key records that it is over, so it needs no renewal.
                let now = self.now();
                if let Some(offer) = self.turns.get_mut(&key).and_then(Turn::offer_mut) {
                    let actions = offer.lease.finish(now);
                    self.follow(key, actions);
                }
            }
            FromHost::Lost { .. } => self.take_back(key),
        }
    }

    pub(super) fn refused(&mut self, key: u64, reason: &Refusal) {
        let Some(turn) = self.turns.get_mut(&key) else {
            return;
        };
        let Some(host) = turn.offer().map(|offer| offer.host.clone()) else {
            return;
        };
        if turn.closing.is_some() {
            return self.exited(key, ProcessExit::Signal(15), 0);
        }
        match reason {
            Refusal::Busy | Refusal::Withdrawn => {
                self.hosts.lock_anyway().refused(&host);
                self.homes.retain(|_, home| *home != host);
                self.put_back(key, BUSY_PAUSE);
            }
            Refusal::Files { reason } => {
                turn.file_tries += 1;
                if turn.file_tries >= FILE_TRIES {
                    let reason = format!("host {host} could not get its files: {reason}");
                    return self.spawn_failed(key, reason, true);
                }
                // Objects that the store seemed to have are gone.
                self.shared.store.forget_known();
                self.put_back(key, Duration::ZERO);
                if let Some(turn) = self.turns.get_mut(&key) {
                    turn.stage = Stage::Preparing;
                }
                self.prepare(key);
            }
            Refusal::Version { program, .. } => {
                let reason = format!(
                    "host {host} runs wavecrew {program}; this run uses {}",
                    env!("CARGO_PKG_VERSION")
                );
                self.spawn_failed(key, reason, false);
            }
            Refusal::NoAgent { agent } => {
                self.spawn_failed(key, format!("host {host} has no {agent}"), false);
            }
            Refusal::NotTrusted { key: signer } => {
                let reason = format!(
                    "host {host} does not trust this run; on that host, run `wavecrew worker --trust {signer}`"
                );
                self.spawn_failed(key, reason, false);
            }
            Refusal::Other => {
                let reason =
                    format!("host {host} refuses the task for a reason that this version does not know");
                self.spawn_failed(key, reason, false);
            }
        }
    }

    pub(super) fn spawned(&mut self, key: u64, pid: i32, start_time: u64) {
        let Some(turn) = self.turns.get_mut(&key) else {
            return;
        };
        let stage = std::mem::replace(&mut turn.stage, Stage::Preparing);
        turn.stage = match stage {
            Stage::Offered(offer) => Stage::Running(offer),
            other @ (Stage::Preparing | Stage::Waiting { .. } | Stage::Running(_) | Stage::Ending(_)) => {
                other
            }
        };
        let Stage::Running(offer) = &turn.stage else {
            return;
        };
        if let Some(fd) = turn.input.take() {
            let (outbox, token, number) = (offer.outbox.clone(), offer.token.clone(), turn.facts.turn);
            tokio::spawn(feed(fd, outbox, token, number));
        }
        let process = ProcessId {
            pid,
            start_time,
            boot_id: String::new(),
            host: Some(offer.host.clone()),
        };
        let _ = self
            .events
            .send(PlaceEvent::Process(GuardianEvent::Spawned { key, process }));
    }
}

/// The content of a host's message. Unreadable parts are skipped.
pub(super) fn read_messages(payload: &Bytes) -> Vec<(FromHost, Bytes)> {
    let messages = unbundle(payload).unwrap_or_default();
    let read = messages
        .into_iter()
        .filter_map(|message| decode::<FromHost>(message).ok());
    read.map(|(from, rest)| (from, payload.slice_ref(rest))).collect()
}

pub(super) fn attempt_of(from: &FromHost) -> Option<&AttemptToken> {
    match from {
        FromHost::Accepted { attempt, .. }
        | FromHost::Refused { attempt, .. }
        | FromHost::Spawned { attempt, .. }
        | FromHost::SpawnFailed { attempt, .. }
        | FromHost::Output { attempt, .. }
        | FromHost::Request { attempt, .. }
        | FromHost::Exited { attempt, .. }
        | FromHost::Lost { attempt } => Some(attempt),
        FromHost::Unknown => None,
    }
}
