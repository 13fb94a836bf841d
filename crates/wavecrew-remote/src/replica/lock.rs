//! The lock of a session: one key that its holder renews. A coordinator that finds it unchanged for long
//! enough replaces it; every write names the revision that it replaces, so only one of two succeeds.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use async_nats::jetstream::kv::{self, Operation, UpdateErrorKind};
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use super::{RETRY, ReplicaError, ReplicaSettings};
use crate::names::Names;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Holding {
    holder: String,
    /// Random, so that a holder recognises its own write.
    nonce: String,
    /// Changes with every renewal.
    renewals: u64,
    released: bool,
}

#[derive(Clone)]
pub(super) struct Lock {
    bucket: kv::Store,
    key: String,
    lease: Duration,
    /// The last write and its revision.
    current: Arc<Mutex<(Holding, u64)>>,
    lost: Arc<OnceLock<String>>,
}

impl Lock {
    /// `waiting` is called while an earlier holder may still be alive; `false` gives up.
    pub(super) async fn acquire(
        bucket: kv::Store,
        settings: &ReplicaSettings,
        lost: Arc<OnceLock<String>>,
        waiting: impl Fn() -> bool,
    ) -> Result<Self, ReplicaError> {
        let key = Names::coordinator_key(&settings.run);
        let holding = Holding {
            holder: settings.holder.clone(),
            nonce: nkeys::KeyPair::new_user().public_key(),
            renewals: 0,
            released: false,
        };
        let value = serde_json::to_vec(&holding).expect("plain data");
        let mut seen: Option<(u64, Instant)> = None;
        loop {
            let (found, revision) = match bucket.entry(&key).await {
                Ok(None) => (None, 0),
                Ok(Some(entry)) if entry.operation != Operation::Put => (None, entry.revision),
                Ok(Some(entry)) => (
                    serde_json::from_slice::<Holding>(&entry.value).ok(),
                    entry.revision,
                ),
                Err(_) => {
                    tokio::time::sleep(RETRY).await;
                    continue;
                }
            };
            if let Some(found) = found.filter(|found| !found.released && found.nonce != holding.nonce) {
                match seen {
                    // The key changes, so its holder is alive.
                    Some((before, _)) if before != revision => {
                        return Err(ReplicaError::InUse {
                            run: settings.run.clone(),
                            holder: found.holder,
                        });
                    }
                    Some((_, since)) if since.elapsed() >= settings.lease => {}
                    Some(_) | None => {
                        seen.get_or_insert((revision, Instant::now()));
                        if !waiting() {
                            return Err(ReplicaError::GaveUp);
                        }
                        tokio::time::sleep(RETRY).await;
                        continue;
                    }
                }
            }
            match bucket.update(&key, value.clone().into(), revision).await {
                Ok(revision) => {
                    return Ok(Self {
                        bucket,
                        key,
                        lease: settings.lease,
                        current: Arc::new(Mutex::new((holding, revision))),
                        lost,
                    });
                }
                // Another coordinator was faster, or NATS is unreachable: read again.
                Err(_) => tokio::time::sleep(RETRY).await,
            }
        }
    }

    /// Renews until another coordinator has the lock.
    pub(super) async fn renew(self) {
        loop {
            tokio::time::sleep(self.lease / 4).await;
            let mut current = self.current.lock().await;
            let (holding, revision) = &*current;
            let next = Holding {
                renewals: holding.renewals + 1,
                ..holding.clone()
            };
            let value = serde_json::to_vec(&next).expect("plain data");
            match self.bucket.update(&self.key, value.into(), *revision).await {
                Ok(revision) => *current = (next, revision),
                Err(error) if error.kind() == UpdateErrorKind::WrongLastRevision => {
                    let Ok(Some(entry)) = self.bucket.entry(&self.key).await else {
                        continue;
                    };
                    match serde_json::from_slice::<Holding>(&entry.value) {
                        // The confirmation of an earlier write was lost.
                        Ok(found) if found.nonce == holding.nonce => *current = (found, entry.revision),
                        Ok(found) => {
                            let _ = self.lost.set(found.holder);
                            return;
                        }
                        Err(_) => {
                            let _ = self.lost.set("another process".to_owned());
                            return;
                        }
                    }
                }
                // NATS is unreachable and may recover.
                Err(_) => {}
            }
        }
    }

    /// Records that no coordinator runs the session. Without it, the next one has to wait.
    pub(super) async fn release(&self) {
        const PATIENCE: Duration = Duration::from_secs(2);
        let current = self.current.lock().await;
        let released = Holding {
            released: true,
            ..current.0.clone()
        };
        let value = serde_json::to_vec(&released).expect("plain data");
        let _ = tokio::time::timeout(PATIENCE, self.bucket.update(&self.key, value.into(), current.1)).await;
    }
}
