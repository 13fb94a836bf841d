//! Rate limits: which pool a worker draws on, whether one more may start, and what its end shows about the
//! service. The rules are in [`crate::pool`].

use super::action::Action;
use super::input::WorkerId;
use super::{Engine, Mode};
use crate::event::{Event, StopReason};
use crate::id::TaskIx;
use crate::pool::{LimitKind, Pool, PoolEvent, Refusal};
use crate::time::{Timestamp, human};
use std::collections::BTreeMap;
use std::time::Duration;

/// What is known of one pool.
#[derive(Default)]
pub(super) struct PoolLimit {
    pool: Pool,
    /// Workers of other runs on this machine.
    others: usize,
    /// Since when every request of this run was refused.
    refused_since: Option<Timestamp>,
}

/// Only pools that have refused something.
pub(super) type PoolLimits = BTreeMap<String, PoolLimit>;

pub(super) fn pool_limits_of(known: &BTreeMap<String, Pool>) -> PoolLimits {
    let limit = |pool: &Pool| PoolLimit {
        pool: *pool,
        ..PoolLimit::default()
    };
    known
        .iter()
        .map(|(name, pool)| (name.clone(), limit(pool)))
        .collect()
}

impl Engine {
    /// The pool that a worker on this task draws on.
    pub(super) fn pool_of(&self, task: TaskIx) -> &str {
        let agent = self.ledger.agent_of(task, &self.options.agents);
        self.options.pools.get(agent).map_or(agent, String::as_str)
    }

    /// Whether the rate limit of the task's agent allows a start now.
    pub(super) fn pool_allows_start(&self, task: TaskIx) -> bool {
        if self.pool_limits.is_empty() {
            return true;
        }
        let pool = self.pool_of(task);
        let Some(limit) = self.pool_limits.get(pool) else {
            return true;
        };
        limit
            .pool
            .may_start(self.now, self.running_in(pool) + limit.others)
    }

    fn running_in(&self, pool: &str) -> usize {
        self.live
            .values()
            .filter(|attempt| attempt.pool == pool && attempt.is_unrecorded())
            .count()
    }

    /// Updates the pool after a worker's end: the service refused it, or not.
    pub(super) fn update_pool(&mut self, worker: WorkerId, stop: StopReason, retry_after: Option<Duration>) {
        let Some(attempt) = self.live.get(&worker) else {
            return;
        };
        let (pool, began) = (attempt.pool.clone(), attempt.started);
        let event = match (LimitKind::of(stop), self.pool_limits.get(&pool)) {
            (Some(reason), limit) => PoolEvent::Refused(Refusal {
                at: self.now,
                began,
                reason,
                retry_after,
                running: self.running_in(&pool) + limit.map_or(0, |limit| limit.others) + 1,
                random: self.next_random(),
            }),
            (None, Some(_)) if stop == StopReason::Ok => PoolEvent::Served { began },
            (None, _) => return,
        };
        let limit = self.pool_limits.entry(pool.clone()).or_default();
        limit.refused_since = match &event {
            PoolEvent::Refused(refusal) => limit.refused_since.or(Some(refusal.at)),
            PoolEvent::Served { .. } => None,
        };
        let before = limit.pool;
        limit.pool.apply(&event);
        if limit.pool != before {
            self.note_wait(&pool);
            self.out.push(Action::SharePoolEvent { pool, event });
        }
    }

    /// Takes over what all runs on this machine know of a pool.
    pub(super) fn pool_updated(&mut self, pool: &str, state: Pool, others: usize) {
        let limit = self.pool_limits.entry(pool.to_owned()).or_default();
        (limit.pool, limit.others) = (state, others);
        if state.strikes == 0 {
            // Another run was served.
            limit.refused_since = None;
        }
        self.note_wait(pool);
    }

    /// Records waits that are known when the run begins.
    pub(super) fn note_waits(&mut self) {
        let pools: Vec<String> = self.pool_limits.keys().cloned().collect();
        for pool in pools {
            self.note_wait(&pool);
        }
    }

    /// Records a wait that begins, ends or changes.
    fn note_wait(&mut self, pool: &str) {
        let state = self
            .pool_limits
            .get(pool)
            .map(|limit| limit.pool)
            .unwrap_or_default();
        let known = self
            .ledger
            .pools
            .get(pool)
            .map_or(Timestamp(0), |pool| pool.until);
        if self.mode != Mode::Idle && state.until != known && state.until.max(known) > self.now {
            self.record(Event::QuotaWait {
                at: self.now,
                pool: pool.to_owned(),
                state,
            });
        }
    }

    /// Why the run stops waiting for a service.
    pub(super) fn service_wait_exhausted(&self) -> Option<String> {
        let patience = self.options.max_service_wait;
        let exhausted = |(name, limit): (&String, &PoolLimit)| {
            let since = limit.refused_since?;
            // A wait that the service asked for comes first.
            let tried = limit.pool.refused_at;
            (tried.since(since) >= patience).then(|| {
                format!(
                    "{name} refused everything for {} ({})",
                    human(tried.since(since)),
                    limit.pool.reason.as_str()
                )
            })
        };
        self.pool_limits.iter().find_map(exhausted)
    }

    /// The next number of the sequence of the seed.
    fn next_random(&mut self) -> u64 {
        // splitmix64
        self.options.seed = self.options.seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = |z: u64, shift: u32, factor: u64| (z ^ (z >> shift)).wrapping_mul(factor);
        let z = mixed(self.options.seed, 30, 0xBF58_476D_1CE4_E5B9);
        let z = mixed(z, 27, 0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}
