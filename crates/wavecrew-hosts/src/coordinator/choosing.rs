//! Chooses the host of each waiting turn, and keeps the announcements of hosts.

use super::run::Coordinator;
use super::sending::{send, wire_turn};
use super::turns::{Offer, Stage, Turn};
use async_nats::jetstream::kv::{Entry, Operation};
use std::time::{Duration, Instant};
use wavecrew_process::LockAnyway;
use wavecrew_remote::lease::CoordinatorLease;
use wavecrew_remote::names::Names;
use wavecrew_remote::wire::{AttemptToken, HostAnnouncement, ToHost};

impl Coordinator {
    /// Offers a turn to a host, if one has a free slot.
    pub(super) fn place(&mut self, key: u64) {
        let Some(turn) = self.turns.get_mut(&key) else {
            return;
        };
        let attempt = (turn.facts.task.clone(), turn.facts.attempt);
        let home = self.homes.get(&attempt).cloned();
        let mut hosts = self.hosts.lock_anyway();
        let home = home.filter(|host| hosts.is_alive(host));
        let Some(host) = hosts.choose(&turn.facts.wanted, home.as_deref()) else {
            if !turn.notified && !hosts.fits_somewhere(&turn.facts.wanted) {
                turn.notified = true;
                let reasons = hosts.reasons(&turn.facts.wanted);
                drop(hosts);
                let task = turn.facts.task.clone();
                self.note(format!("{task} waits: {reasons}"));
            }
            return;
        };
        hosts.assigned(&host);
        hosts.waiting = hosts.waiting.saturating_sub(1);
        let boot = hosts.boot(&host).unwrap_or_default().to_owned();
        drop(hosts);
        self.offers += 1;
        let token = AttemptToken {
            run: self.run.clone(),
            task: turn.facts.task.clone(),
            attempt: turn.facts.attempt,
            token: format!("{}-{}", self.nonce, self.offers),
        };
        self.homes.insert(attempt.clone(), host.clone());
        let subject = self.names.from_host(&host, &self.run, &token.token);
        self.needs.add(attempt, subject);
        let lease_key = Names::lease_key(&host, &self.run, &token.key());
        let outbox = self.start_post(key, &token.token, &host);
        let Some(turn) = self.turns.get_mut(&key) else {
            return;
        };
        let now = self.start.elapsed();
        let lease = CoordinatorLease::offer(self.facts.settings.terms, 0, now);
        let offer = Offer {
            token,
            host,
            boot,
            lease_key,
            lease,
            outbox,
        };
        if let Some(ready) = &turn.ready {
            let message = ToHost::Turn(Box::new(wire_turn(&self.facts, turn, ready, &offer)));
            let objects: Vec<&[u8]> = ready.inline.iter().map(|(_, bytes)| bytes.as_slice()).collect();
            send(&offer, "turn", &message, &objects.concat());
        }
        self.tokens.insert(offer.token.token.clone(), key);
        self.leases.insert(offer.lease_key.clone(), key);
        turn.stage = Stage::Offered(offer);
    }

    /// Lets a turn wait for a host again.
    pub(super) fn put_back(&mut self, key: u64, pause: Duration) {
        self.forget_offer(key);
        if let Some(turn) = self.turns.get_mut(&key) {
            turn.stage = Stage::Waiting {
                since: Instant::now() + pause,
            };
            self.hosts.lock_anyway().waiting += 1;
        }
    }

    pub(super) fn forget_offer(&mut self, key: u64) {
        if let Some(offer) = self.turns.get(&key).and_then(Turn::offer) {
            self.hosts.lock_anyway().released(&offer.host);
            self.tokens.remove(&offer.token.token);
            self.leases.remove(&offer.lease_key);
        } else {
            let mut hosts = self.hosts.lock_anyway();
            hosts.waiting = hosts.waiting.saturating_sub(1);
        }
    }

    pub(super) fn place_waiting(&mut self) {
        let now = Instant::now();
        let mut waiting: Vec<u64> = self
            .turns
            .iter()
            .filter(|(_, turn)| matches!(turn.stage, Stage::Waiting { since } if since <= now))
            .map(|(key, _)| *key)
            .collect();
        waiting.sort_unstable();
        for key in waiting {
            self.place(key);
        }
    }

    pub(super) fn handle_host(&self, entry: &Entry) {
        let mut hosts = self.hosts.lock_anyway();
        match entry.operation {
            Operation::Put => {
                if let Ok(announced) = serde_json::from_slice::<HostAnnouncement>(&entry.value) {
                    hosts.announced(announced);
                }
            }
            Operation::Delete | Operation::Purge => hosts.host_left(&entry.key),
        }
    }
}
