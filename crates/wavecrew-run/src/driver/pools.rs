//! Shares what is known of services with the other runs on this machine. What cannot be shared is no reason to fail:
//! then this run waits by what it knows itself.

use super::Driver;
use std::collections::BTreeMap;
use std::time::Duration;
use wavecrew_agents::Pools;
use wavecrew_core::engine::{Input, Notice};
use wavecrew_core::pool::{Pool, PoolEvent};
use wavecrew_core::time::Timestamp;
use wavecrew_session::{SessionError, SharedPool, SharedPoolFile};

/// A run that has workers shows itself so often; it counts as gone after three times as long.
const SHOWN: Duration = Duration::from_secs(10);

/// The pools of this run that others may have workers in.
pub(super) struct PoolKeeper {
    by_agent: BTreeMap<String, String>,
    files: BTreeMap<String, Kept>,
    /// This run's name among the others.
    me: String,
}

struct Kept {
    file: SharedPoolFile,
    version: Option<(u64, i64, i64)>,
    seen: SharedPool,
    /// What the engine was told.
    told: (Pool, usize),
    /// How many workers the others were told of, and when.
    signed: (usize, Timestamp),
    /// What the others were not told yet.
    unsaid: Vec<PoolEvent>,
}

impl PoolKeeper {
    pub(super) fn new(pools: &Pools, now: Timestamp) -> Self {
        let kept = |folder: &std::path::PathBuf| {
            let one = |name: &String| {
                let kept = Kept {
                    file: SharedPoolFile::in_folder(folder, name),
                    version: None,
                    seen: SharedPool::default(),
                    told: (Pool::default(), 0),
                    signed: (0, now),
                    unsaid: Vec::new(),
                };
                (name.clone(), kept)
            };
            pools.by_agent.values().map(one).collect()
        };
        Self {
            by_agent: pools.by_agent.clone(),
            files: pools.folder.as_ref().map(kept).unwrap_or_default(),
            me: format!("{}-{}", std::process::id(), now.0),
        }
    }

    /// No worker of this run is left.
    pub(super) fn leave(&mut self, now: Timestamp) {
        for kept in self.files.values_mut() {
            // What others are not told now they find out when they look for this run.
            let _ = kept.look(&self.me, 0, now);
        }
    }
}

impl Kept {
    /// Says and hears what is new; what the engine is to be told, if anything.
    fn look(
        &mut self,
        me: &str,
        workers: usize,
        now: Timestamp,
    ) -> Result<Option<(Pool, usize)>, SessionError> {
        let (signed, at) = self.signed;
        let fades = workers > 0 && now.since(at) >= SHOWN;
        if workers != signed || fades || !self.unsaid.is_empty() {
            let changed = self.file.update(|shared| {
                for news in &self.unsaid {
                    shared.pool.apply(news);
                }
                shared.record_workers(me, workers, now);
            })?;
            let Some(shared) = changed else {
                return Ok(None);
            };
            (self.seen, self.signed) = (shared, (workers, now));
            self.unsaid.clear();
            self.version = self.file.version();
        } else {
            let version = self.file.version();
            if version != self.version {
                (self.seen, self.version) = (self.file.read(), version);
            }
        }
        let now_known = (self.seen.pool, self.seen.workers_of_other_runs(me, now));
        let is_news = now_known != self.told;
        self.told = now_known;
        Ok(is_news.then_some(now_known))
    }
}

impl Driver<'_> {
    pub(super) fn share(&mut self, pool: &str, news: PoolEvent) {
        if let Some(kept) = self.pools.files.get_mut(pool) {
            kept.unsaid.push(news);
            self.look_at_pools();
        }
    }

    /// Tells the others how many workers this run has, and the engine what the others know.
    pub(super) fn look_at_pools(&mut self) {
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
        for (name, kept) in &mut self.pools.files {
            let mine = workers.get(name.as_str()).copied().unwrap_or(0);
            match kept.look(&self.pools.me, mine, now) {
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
            self.surface.reporter.notice(&Notice::Note(format!(
                "Waits for rate limits are not shared with other runs: {error}"
            )));
        }
    }
}
