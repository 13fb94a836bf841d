//! One turn on this host: its lease, its folders, its process, its output and its results.

use super::host_files::HostFiles;
use super::lease::{Keeper, LeaseNews};
use super::mirror::{self, Mirror};
use super::outbox::Outbox;
use super::return_changes::return_changes;
use super::slot::Slot;
use crate::mail;
use crate::setup::Buckets;
use crate::task::{Details, TurnAtHost};
use async_nats::jetstream;
use bytes::Bytes;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use wavecrew_agents::Redactor;
use wavecrew_process::guardian::Guardian;
use wavecrew_process::sandbox::Support;
use wavecrew_process::{GuardianEvent, ProcessExit};
use wavecrew_remote::lease::Terms;
use wavecrew_remote::names::Names;
use wavecrew_remote::wire::{Exit, FromHost, Refusal, Turn as WireTurn, encode};
use wavecrew_session::random_name;

/// State that all turns of a host share.
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
    /// The folder for the temporary folders of slots.
    pub temp: PathBuf,
    pub next_key: AtomicU64,
    /// The channel for the events of each process.
    pub routes: Mutex<HashMap<u64, UnboundedSender<GuardianEvent>>>,
}

/// A message of a coordinator to a running turn.
pub(super) enum ToTurn {
    Close { grace: Duration },
    Input { bytes: Bytes, last: bool },
    Reply { number: u64, reply: serde_json::Value },
}

/// Runs a turn to its end. Returns the text to show about it.
pub(super) async fn run(
    context: Arc<HostContext>,
    slot: Arc<Slot>,
    wire: WireTurn,
    details: Details,
    objects: Bytes,
    mut orders: UnboundedReceiver<ToTurn>,
) -> String {
    // Files may arrive before the lease is held; nothing starts before.
    let details = Arc::new(details);
    let mut making = tokio::spawn(mirror::make(
        Arc::clone(&context),
        Arc::clone(&slot),
        Arc::clone(&details),
        objects,
    ));
    let how = run_with(&context, &slot, &wire, &details, &mut making, &mut orders).await;
    if !making.is_finished() {
        // Until then, the slot is still in use.
        let _ = making.await;
    }
    how
}

async fn run_with(
    context: &Arc<HostContext>,
    slot: &Arc<Slot>,
    wire: &WireTurn,
    details: &Details,
    making: &mut Making,
    orders: &mut UnboundedReceiver<ToTurn>,
) -> String {
    let attempt = wire.attempt.clone();
    let (outbox, sending) = Outbox::start(context, &attempt);
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
            outbox.send(&accepted(context, wire, details), b"").await;
            let mut turn = RunningTurn {
                context,
                slot,
                wire,
                details,
                making,
                outbox: &outbox,
                keeper: &mut keeper,
                orders,
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
                    // There may be no reader.
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
    // The lease is kept until the result is stored, so that the coordinator does not revoke it before.
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

/// The facts for a coordinator that continues the run.
fn accepted(context: &HostContext, wire: &WireTurn, details: &Details) -> FromHost {
    FromHost::Accepted {
        attempt: wire.attempt.clone(),
        turn: wire.turn,
        host: context.host.clone(),
        boot: context.boot.clone(),
        details: serde_json::to_value(TurnAtHost::from(details)).unwrap_or_default(),
    }
}

/// The folders of a turn while they are prepared.
type Making = JoinHandle<Result<Arc<Mirror>, String>>;

pub(super) enum Failed {
    Files(String),
    Spawn { reason: String, temporary: bool },
    Lost,
}

pub(super) struct RunningTurn<'a> {
    pub context: &'a Arc<HostContext>,
    pub slot: &'a Arc<Slot>,
    pub wire: &'a WireTurn,
    pub details: &'a Details,
    pub making: &'a mut Making,
    pub outbox: &'a Outbox,
    pub keeper: &'a mut Keeper,
    pub orders: &'a mut UnboundedReceiver<ToTurn>,
}

impl RunningTurn<'_> {
    /// Does something that takes time, unless the lease is lost.
    pub(super) async fn while_held<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Failed> {
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

    /// Waits for the folders.
    pub(super) async fn mirror(&mut self) -> Result<Arc<Mirror>, Failed> {
        loop {
            tokio::select! {
                made = &mut *self.making => return match made {
                    Ok(Ok(mirror)) => Ok(mirror),
                    Ok(Err(reason)) => Err(Failed::Files(reason)),
                    Err(error) => Err(Failed::Files(error.to_string())),
                },
                news = self.keeper.news.recv() => match news {
                    Some(LeaseNews::Held) => {}
                    Some(LeaseNews::Lost) | None => return Err(Failed::Lost),
                },
            }
        }
    }

    pub(super) async fn return_changes(
        &mut self,
        mirror: Arc<Mirror>,
        exit: ProcessExit,
        leftovers: u32,
        [stdout, stderr]: [u64; 2],
    ) -> Result<String, Failed> {
        let (files, slot) = (Arc::clone(&self.context.files), Arc::clone(self.slot));
        let mut pause = Duration::from_millis(100);
        let returned = loop {
            let work = return_changes(Arc::clone(&files), Arc::clone(&slot), Arc::clone(&mirror));
            match self.while_held(work).await? {
                Ok(returned) => break Ok(returned),
                Err(error @ (crate::objects::StoreError::Full(_) | crate::objects::StoreError::Disk(_))) => {
                    break Err(error.to_string());
                }
                // NATS is unreachable or slow. It may recover while the lease lasts.
                Err(_) => self.while_held(tokio::time::sleep(pause)).await?,
            }
            pause = (pause * 2).min(Duration::from_secs(2));
        };
        let exit_text = match exit {
            ProcessExit::Code(code) => format!("exit code {code}"),
            ProcessExit::Signal(signal) => format!("signal {signal}"),
        };
        let sent = match returned {
            Ok(sent) => sent,
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
            files: sent.manifest.map(String::from),
            inline: (sent
                .inline
                .iter()
                .map(|(id, bytes)| (id.to_string(), bytes.len())))
            .collect(),
        };
        let objects: Vec<&[u8]> = sent.inline.iter().map(|(_, bytes)| bytes.as_slice()).collect();
        self.outbox.send(&message, &objects.concat()).await;
        Ok(exit_text)
    }
}

pub(super) fn spawn_error(error: &dyn std::fmt::Display) -> Failed {
    Failed::Spawn {
        reason: error.to_string(),
        temporary: true,
    }
}
