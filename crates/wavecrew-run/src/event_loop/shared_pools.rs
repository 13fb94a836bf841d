//! Shares rate limits with the other runs on this machine. If that fails, the run uses its own limits.

use crate::event_loop::Driver;
use std::collections::BTreeMap;
use std::time::Duration;
use wavecrew_agents::Pools;
use wavecrew_core::engine::{Input, Notice};
use wavecrew_core::pool::{Pool, PoolEvent};
use wavecrew_core::time::Timestamp;
use wavecrew_session::{SessionError, SharedPool, SharedPoolFile};

/// How often a run with workers signs in; it counts as gone after three times as long.
const SIGN_IN: Duration = Duration::from_secs(10);

/// The pools of this run, in which other runs may have workers too.
pub(crate) struct SharedPools {
    by_agent: BTreeMap<String, String>,
    files: BTreeMap<String, PoolState>,
    /// This run's name among the others.
    me: String,
}

struct PoolState {
    file: SharedPoolFile,
    version: Option<(u64, i64, i64)>,
    seen: SharedPool,
    /// What the engine knows.
    reported: (Pool, usize),
    /// The number of workers last signed in, and when.
    signed: (usize, Timestamp),
    /// Events that are not shared yet.
    unshared: Vec<PoolEvent>,
}

impl SharedPools {
    pub(super) fn new(pools: &Pools, now: Timestamp) -> Self {
        let states = |folder: &std::path::PathBuf| {
            let one = |name: &String| {
                let state = PoolState {
                    file: SharedPoolFile::in_folder(folder, name),
                    version: None,
                    seen: SharedPool::default(),
                    reported: (Pool::default(), 0),
                    signed: (0, now),
                    unshared: Vec::new(),
                };
                (name.clone(), state)
            };
            pools.by_agent.values().map(one).collect()
        };
        Self {
            by_agent: pools.by_agent.clone(),
            files: pools.folder.as_ref().map(states).unwrap_or_default(),
            me: format!("{}-{}", std::process::id(), now.0),
        }
    }

    /// Signs off: this run has no workers any more.
    pub(super) fn sign_off(&mut self, now: Timestamp) {
        for pool in self.files.values_mut() {
            // If this fails, other runs notice that this one stopped signing in.
            let _ = pool.sync(&self.me, 0, now);
        }
    }
}

impl PoolState {
    /// Writes and reads what is new. Returns the state of the pool if it changed.
    fn sync(
        &mut self,
        me: &str,
        workers: usize,
        now: Timestamp,
    ) -> Result<Option<(Pool, usize)>, SessionError> {
        let (signed, at) = self.signed;
        let expires = workers > 0 && now.since(at) >= SIGN_IN;
        if workers != signed || expires || !self.unshared.is_empty() {
            let changed = self.file.update(|shared| {
                for event in &self.unshared {
                    shared.pool.apply(event);
                }
                shared.record_workers(me, workers, now);
            })?;
            let Some(shared) = changed else {
                return Ok(None);
            };
            (self.seen, self.signed) = (shared, (workers, now));
            self.unshared.clear();
            self.version = self.file.version();
        } else {
            let version = self.file.version();
            if version != self.version {
                (self.seen, self.version) = (self.file.read(), version);
            }
        }
        let current = (self.seen.pool, self.seen.workers_of_other_runs(me, now));
        let changed = current != self.reported;
        self.reported = current;
        Ok(changed.then_some(current))
    }
}

impl Driver<'_> {
    pub(super) fn share_pool_event(&mut self, pool: &str, event: PoolEvent) {
        if let Some(pool) = self.pools.files.get_mut(pool) {
            pool.unshared.push(event);
            self.sync_pools();
        }
    }

    /// Shares how many workers this run has, and passes what other runs share to the engine.
    pub(super) fn sync_pools(&mut self) {
        if self.pools.files.is_empty() {
            return;
        }
        let now = self.clock.now();
        let mut workers: BTreeMap<&str, usize> = BTreeMap::new();
        for worker in self.workers.values() {
            if let Some(pool) = self.pools.by_agent.get(&worker.assignment.agent) {
                *workers.entry(pool).or_default() += 1;
            }
        }
        let mut lost = None;
        for (name, pool) in &mut self.pools.files {
            let mine = workers.get(name.as_str()).copied().unwrap_or(0);
            match pool.sync(&self.pools.me, mine, now) {
                Ok(None) => {}
                Ok(Some((state, others))) => self.inputs.push_back(Input::PoolUpdated {
                    pool: name.clone(),
                    state,
                    others,
                }),
                Err(error) => lost = Some(error),
            }
        }
        if let Some(error) = lost {
            self.pools.files.clear();
            self.context.reporter.notice(&Notice::Note(format!(
                "Rate limits are not shared with other runs: {error}"
            )));
        }
    }
}
