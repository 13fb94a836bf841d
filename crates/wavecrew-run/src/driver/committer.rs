//! When the journal is synced: soon, and for many results at once. The loop never waits for it.

use super::table::TableNews;
use std::sync::mpsc;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;
use wavecrew_session::Syncer;

/// Results that arrive within this time share a sync.
const BETWEEN_SYNCS: Duration = Duration::from_millis(20);

/// Syncs the journal on a thread of its own: many results, one fsync.
pub(super) struct Committer {
    wake: mpsc::Sender<()>,
}

impl Committer {
    pub(super) fn start(syncer: Syncer, failed: UnboundedSender<TableNews>) -> Self {
        let (wake, woken) = mpsc::channel::<()>();
        std::thread::spawn(move || {
            while woken.recv().is_ok() {
                while woken.try_recv().is_ok() {}
                if let Err(error) = syncer.sync() {
                    let _ = failed.send(TableNews::Failed(error));
                    return;
                }
                std::thread::sleep(BETWEEN_SYNCS);
            }
        });
        Self { wake }
    }

    pub(super) fn wake(&self) {
        // A thread that is gone has said why.
        let _ = self.wake.send(());
    }
}
