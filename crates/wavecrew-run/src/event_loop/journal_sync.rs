//! Syncs the journal to disk: soon, and many results at once. The event loop never waits for it.

use crate::table::publisher::TableEvent;
use std::sync::mpsc;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;
use wavecrew_session::Syncer;

/// Results that arrive within this time share a sync.
const BETWEEN_SYNCS: Duration = Duration::from_millis(20);

/// Syncs the journal on its own thread: many results, one fsync.
pub(crate) struct JournalSync {
    wake: mpsc::Sender<()>,
}

impl JournalSync {
    pub(crate) fn start(syncer: Syncer, failed: UnboundedSender<TableEvent>) -> Self {
        let (wake, woken) = mpsc::channel::<()>();
        std::thread::spawn(move || {
            while woken.recv().is_ok() {
                while woken.try_recv().is_ok() {}
                if let Err(error) = syncer.sync() {
                    let _ = failed.send(TableEvent::Failed(error));
                    return;
                }
                std::thread::sleep(BETWEEN_SYNCS);
            }
        });
        Self { wake }
    }

    pub(crate) fn wake(&self) {
        // A thread that has ended has reported why.
        let _ = self.wake.send(());
    }
}
