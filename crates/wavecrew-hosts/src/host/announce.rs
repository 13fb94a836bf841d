//! Announces this host and its load to coordinators.

use async_nats::jetstream::kv::Store;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{interval, sleep, timeout};
use wavecrew_process::LockAnyway;
use wavecrew_remote::names::Names;
use wavecrew_remote::wire::HostAnnouncement;

/// How often a host announces itself.
const EVERY: Duration = Duration::from_secs(2);
/// Changes within this time share an announcement.
const TOGETHER: Duration = Duration::from_millis(100);
const WRITTEN_WITHIN: Duration = Duration::from_secs(2);

/// The changing facts about a host.
#[derive(Debug, Default)]
pub(super) struct Status {
    /// The busy slots of each run.
    pub runs: Mutex<BTreeMap<String, u32>>,
    pub draining: AtomicBool,
    pub changed: Notify,
}

/// Announces the host until the task is aborted.
pub(super) async fn announce(store: Store, mut announcement: HostAnnouncement, status: Arc<Status>) {
    let key = Names::host_key(&announcement.host);
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = status.changed.notified() => sleep(TOGETHER).await,
        }
        announcement.runs = status.runs.lock_anyway().clone();
        announcement.busy = announcement.runs.values().sum();
        announcement.draining = status.draining.load(Ordering::Relaxed);
        announcement.load = load();
        let bytes = serde_json::to_vec(&announcement).expect("plain data");
        // Without an answer, the next one comes soon.
        let _ = timeout(WRITTEN_WITHIN, store.put(&key, bytes.into())).await;
    }
}

/// The load of the last minute.
fn load() -> Option<f32> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().next()?.parse().ok()
}
