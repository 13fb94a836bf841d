//! Follows the lease of each turn: performs the writes and reads that [`CoordinatorLease`] requests.

use super::run::{Coordinator, News};
use super::turns::Turn;
use crate::lease_keys;
use async_nats::jetstream::kv::{Entry, Operation};
use wavecrew_remote::lease::{CoordinatorAction, CoordinatorLease, Moment};

impl Coordinator {
    pub(super) fn with_lease(
        &mut self,
        key: u64,
        token: &str,
        change: impl FnOnce(&mut CoordinatorLease, Moment) -> Vec<CoordinatorAction>,
    ) {
        let now = self.now();
        let Some(offer) = self.turns.get_mut(&key).and_then(Turn::offer_mut) else {
            return;
        };
        if offer.token.token == token {
            let actions = change(&mut offer.lease, now);
            self.follow(key, actions);
        }
    }

    pub(super) fn take_back(&mut self, key: u64) {
        let now = self.now();
        if let Some(offer) = self.turns.get_mut(&key).and_then(Turn::offer_mut) {
            let actions = offer.lease.take_back(now);
            self.follow(key, actions);
        }
    }

    pub(super) fn follow(&mut self, key: u64, actions: Vec<CoordinatorAction>) {
        for action in actions {
            let Some(offer) = self.turns.get(&key).and_then(Turn::offer) else {
                return;
            };
            let lease_key = offer.lease_key.clone();
            let (store, news) = (self.buckets.leases.clone(), self.shared.news.clone());
            let token = offer.token.token.clone();
            match action {
                CoordinatorAction::Write { expected, record } => {
                    tokio::spawn(async move {
                        let written = lease_keys::write(&store, &lease_key, expected, &record).await;
                        let _ = news.send(News::LeaseWritten {
                            key,
                            token,
                            expected,
                            written,
                        });
                    });
                }
                CoordinatorAction::Read => {
                    tokio::spawn(async move {
                        if let Ok(found) = lease_keys::read(&store, &lease_key).await {
                            let _ = news.send(News::LeaseRead { key, token, found });
                        }
                    });
                }
                CoordinatorAction::Interrupted => {
                    let reason = format!("its host {} was lost", offer.host);
                    self.lost(key, reason);
                }
                CoordinatorAction::Over => {}
            }
        }
    }

    pub(super) fn handle_lease(&mut self, entry: &Entry) {
        let record = match entry.operation {
            Operation::Put => lease_keys::record(&entry.value),
            Operation::Delete | Operation::Purge => return,
        };
        let Some(key) = self.leases.get(&entry.key).copied() else {
            return;
        };
        let token = self.turns.get(&key).and_then(Turn::offer);
        let token = token.map(|offer| offer.token.token.clone());
        if let Some(token) = token {
            let revision = entry.revision;
            self.with_lease(key, &token, |lease, now| {
                lease.seen(Some((revision, record)), now)
            });
        }
    }
}
