//! Waiting for services: which pool a worker draws on, whether one more of it may start, and what its end says about
//! the service. The rules themselves are in [`crate::pool`].

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
    /// Since when this run was refused everything.
    refused_since: Option<Timestamp>,
}

/// Only pools that ever refused anything are here.
pub(super) type PoolLimits = BTreeMap<String, PoolLimit>;

pub(super) fn pool_limits_of(known: &BTreeMap<String, Pool>) -> PoolLimits {
    let gate = |(name, pool): (&String, &Pool)| {
        let gate = PoolLimit {
            pool: *pool,
            ..PoolLimit::default()
        };
        (name.clone(), gate)
    };
    known.iter().map(gate).collect()
}

impl Engine {
    /// The pool that a worker on this task draws on.
    pub(super) fn pool_of(&self, task: TaskIx) -> &str {
        let agent = self.ledger.agent_of(task, &self.options.agents);
        self.options.pools.get(agent).map_or(agent, String::as_str)
    }

    /// Whether the service behind the task's agent may be asked now.
    pub(super) fn pool_allows_start(&self, task: TaskIx) -> bool {
        if self.pool_limits.is_empty() {
            return true;
        }
        let pool = self.pool_of(task);
        let Some(gate) = self.pool_limits.get(pool) else {
            return true;
        };
        gate.pool.may_start(self.now, self.running_in(pool) + gate.others)
    }

    fn running_in(&self, pool: &str) -> usize {
        self.live
            .values()
            .filter(|attempt| attempt.pool == pool && attempt.is_unrecorded())
            .count()
    }

    /// A service turned the worker away, or did not.
    pub(super) fn update_pool(&mut self, worker: WorkerId, stop: StopReason, retry_after: Option<Duration>) {
        let Some(attempt) = self.live.get(&worker) else {
            return;
        };
        let (pool, began) = (attempt.pool.clone(), attempt.started);
        let event = match (LimitKind::of(stop), self.pool_limits.get(&pool)) {
            (Some(reason), gate) => PoolEvent::Refused(Refusal {
                at: self.now,
                began,
                reason,
                retry_after,
                running: self.running_in(&pool) + gate.map_or(0, |gate| gate.others) + 1,
                random: self.next_random(),
            }),
            (None, Some(_)) if stop == StopReason::Ok => PoolEvent::Served { began },
            (None, _) => return,
        };
        let gate = self.pool_limits.entry(pool.clone()).or_default();
        gate.refused_since = match &event {
            PoolEvent::Refused(refusal) => gate.refused_since.or(Some(refusal.at)),
            PoolEvent::Served { .. } => None,
        };
        let before = gate.pool;
        gate.pool.apply(&event);
        if gate.pool != before {
            self.note_wait(&pool);
            self.out.push(Action::SharePoolEvent { pool, event });
        }
    }

    /// What other runs know of a pool, which is what counts.
    pub(super) fn pool_seen(&mut self, pool: &str, state: Pool, others: usize) {
        let gate = self.pool_limits.entry(pool.to_owned()).or_default();
        (gate.pool, gate.others) = (state, others);
        if state.strikes == 0 {
            // Another run was served.
            gate.refused_since = None;
        }
        self.note_wait(pool);
    }

    /// Puts waits on record that were heard of before the run began.
    pub(super) fn note_waits(&mut self) {
        let pools: Vec<String> = self.pool_limits.keys().cloned().collect();
        for pool in pools {
            self.note_wait(&pool);
        }
    }

    /// Puts it on record when nothing may start for a while, or when what was on record no longer holds.
    fn note_wait(&mut self, pool: &str) {
        let state = self
            .pool_limits
            .get(pool)
            .map(|gate| gate.pool)
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

    /// Why there is no use in waiting any longer.
    pub(super) fn service_wait_exhausted(&self) -> Option<String> {
        let patience = self.options.max_service_wait;
        let lost = |(name, gate): (&String, &PoolLimit)| {
            let since = gate.refused_since?;
            // A wait that a service asked for is waited out first.
            let tried = gate.pool.refused_at;
            (tried.since(since) >= patience).then(|| {
                format!(
                    "{name} refused everything for {} ({})",
                    human(tried.since(since)),
                    gate.pool.reason.as_str()
                )
            })
        };
        self.pool_limits.iter().find_map(lost)
    }

    /// The next number of a sequence that its seed decides.
    fn next_random(&mut self) -> u64 {
        // splitmix64
        self.options.seed = self.options.seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = |z: u64, shift: u32, factor: u64| (z ^ (z >> shift)).wrapping_mul(factor);
        let z = mixed(self.options.seed, 30, 0xBF58_476D_1CE4_E5B9);
        let z = mixed(z, 27, 0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}
