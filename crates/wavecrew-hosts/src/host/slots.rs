//! Assigns slots to offers: each run gets its share, and offers without a slot are returned.

use super::HostNews;
use super::serve::Host;
use super::slot::Slot;
use super::turn::{ToTurn, run};
use crate::mail;
use crate::task::Details;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use wavecrew_process::LockAnyway;
use wavecrew_remote::wire::{FromHost, Refusal, Turn as WireTurn, WIRE_VERSION, encode};

/// An offer waits this long for a slot before it is returned.
const PENDING: Duration = Duration::from_secs(2);
/// Tokens of turns that are over; a message that comes once more is recognised.
const REMEMBERED: usize = 10_000;

/// An offer without a slot.
pub(super) struct Pending {
    pub wire: WireTurn,
    details: Details,
    /// The messages that followed it.
    objects: Bytes,
    since: Instant,
}

pub(super) struct Running {
    run: String,
    task: String,
    slot: Arc<Slot>,
    pub orders: UnboundedSender<ToTurn>,
}

impl Host {
    pub(super) fn offered(&mut self, wire: WireTurn, objects: Bytes) {
        let token = &wire.attempt.token;
        if self.running.contains_key(token) || self.over.contains(token) {
            return;
        }
        if wire.host != self.settings.name || self.stopping {
            return self.refuse(&wire, Refusal::Busy);
        }
        let details = match serde_json::from_value::<Details>(wire.details.clone()) {
            Ok(details) if details.version == env!("CARGO_PKG_VERSION") => details,
            Ok(_) | Err(_) => {
                let refusal = Refusal::Version {
                    wire: WIRE_VERSION,
                    program: env!("CARGO_PKG_VERSION").to_owned(),
                };
                return self.refuse(&wire, refusal);
            }
        };
        self.pending.push_back(Pending {
            wire,
            details,
            objects,
            since: Instant::now(),
        });
        self.start_pending();
    }

    /// Gives free slots to the runs that have the fewest.
    pub(super) fn start_pending(&mut self) {
        while !self.free.is_empty() && !self.pending.is_empty() {
            let share = |pending: &Pending| {
                let run = &pending.wire.attempt.run;
                self.running
                    .values()
                    .filter(|running| running.run == *run)
                    .count()
            };
            let fewest = (0..self.pending.len()).min_by_key(|at| share(&self.pending[*at]));
            let Some(pending) = fewest.and_then(|at| self.pending.remove(at)) else {
                return;
            };
            self.start(pending);
        }
        let mut runs = BTreeMap::new();
        for running in self.running.values() {
            *runs.entry(running.run.clone()).or_insert(0) += 1;
        }
        let mut known = self.status.runs.lock_anyway();
        if *known != runs {
            *known = runs;
            self.status.changed.notify_one();
        }
    }

    fn start(&mut self, pending: Pending) {
        let Pending {
            wire,
            details,
            objects,
            ..
        } = pending;
        let attempt = wire.attempt.clone();
        let home = (attempt.run.clone(), attempt.task.clone(), attempt.attempt);
        let at = self
            .homes
            .get(&home)
            .and_then(|number| self.free.iter().position(|slot| slot.number == *number));
        let slot = match at {
            Some(at) => self.free.remove(at),
            None => match self.free.pop() {
                Some(slot) => slot,
                None => return,
            },
        };
        if self.homes.len() > REMEMBERED {
            self.homes.clear();
        }
        self.homes.insert(home, slot.number);
        let (orders, orders_in) = unbounded_channel();
        self.running.insert(
            attempt.token.clone(),
            Running {
                run: attempt.run.clone(),
                task: attempt.task.clone(),
                slot: Arc::clone(&slot),
                orders,
            },
        );
        let _ = self.news.send(HostNews::Started {
            task: attempt.task.clone(),
            run: attempt.run.clone(),
        });
        let (context, done) = (Arc::clone(&self.context), self.done.clone());
        tokio::spawn(async move {
            let how = run(context, slot, wire, details, objects, orders_in).await;
            let _ = done.send((attempt.token, how));
        });
    }

    pub(super) fn ended(&mut self, token: &str, how: String) {
        if let Some(running) = self.running.remove(token) {
            let _ = self.news.send(HostNews::Ended {
                task: running.task,
                run: running.run,
                how,
            });
            self.free.push(running.slot);
            self.over.push_back(token.to_owned());
            if self.over.len() > REMEMBERED {
                self.over.pop_front();
            }
        }
        self.start_pending();
    }

    /// Returns offers without a slot, because another host may have one.
    pub(super) fn refuse_old(&mut self) {
        while let Some(pending) = self
            .pending
            .pop_front_if(|pending| pending.since.elapsed() > PENDING)
        {
            self.refuse(&pending.wire, Refusal::Busy);
        }
    }

    pub(super) fn refuse(&self, wire: &WireTurn, reason: Refusal) {
        let subject =
            self.context
                .names
                .from_host(&self.context.host, &wire.attempt.run, &wire.attempt.token);
        let id = format!("{}-refused", wire.attempt.token);
        let message = FromHost::Refused {
            attempt: wire.attempt.clone(),
            turn: wire.turn,
            reason,
        };
        let (context, payload) = (self.context.jetstream.clone(), encode(&message, b""));
        tokio::spawn(async move {
            // The offer expires if this cannot be sent.
            let _ = tokio::time::timeout(
                Duration::from_secs(30),
                mail::send(&context, &subject, &id, Bytes::from(payload), None),
            )
            .await;
        });
    }
}
