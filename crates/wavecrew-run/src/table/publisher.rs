//! Publishes `tasks.csv` from its own thread, so that writing it does not delay workers. The journal is synced first, so
//! that the table never contains more than the journal.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedSender;
use wavecrew_session::{PublishOutcome, SessionError, Syncer, TableFile};

/// At most five refreshes a second.
const PAUSE: Duration = Duration::from_millis(200);
/// And at most 1 % of the time.
const SHARE: u32 = 100;

enum Job {
    Publish(Vec<u8>),
    Check,
}

/// What the thread found.
pub(crate) enum TableEvent {
    /// A person edited the table; ours was not published.
    Edited(Vec<u8>),
    /// Another program is writing the file: publish again later.
    BeingWritten,
    Failed(SessionError),
}

pub(crate) struct TablePublisher {
    jobs: mpsc::Sender<Job>,
    thread: JoinHandle<TableFile>,
    dirty: bool,
    /// The thread is writing or checking.
    busy: Arc<AtomicBool>,
    not_before: Instant,
}

impl TablePublisher {
    pub fn start(table: TableFile, syncer: Syncer, events: UnboundedSender<TableEvent>) -> Self {
        let (jobs, inbox) = mpsc::channel::<Job>();
        let busy = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&busy);
        let thread = std::thread::spawn(move || {
            let mut table = table;
            for job in inbox {
                let found = match job {
                    Job::Publish(bytes) => syncer.sync().and_then(|()| publish(&mut table, &bytes)),
                    Job::Check => table.check().map(|edit| edit.map(TableEvent::Edited)),
                };
                flag.store(false, Ordering::Release);
                if let Some(found) = found.unwrap_or_else(|error| Some(TableEvent::Failed(error)))
                    && events.send(found).is_err()
                {
                    break;
                }
            }
            table
        });
        Self {
            jobs,
            thread,
            dirty: false,
            busy,
            not_before: Instant::now(),
        }
    }

    pub fn mark_dirty(&mut self) {
        self.dirty = true;
    }

    /// Publishes a changed table, or checks for table edits, if enough time has passed.
    pub fn refresh(&mut self, render: impl FnOnce() -> Vec<u8>) {
        let now = Instant::now();
        if now < self.not_before || self.busy.swap(true, Ordering::AcqRel) {
            return;
        }
        let job = if std::mem::take(&mut self.dirty) {
            Job::Publish(render())
        } else {
            Job::Check
        };
        self.not_before = now + PAUSE.max(now.elapsed() * SHARE);
        // A thread that has ended has reported why.
        let _ = self.jobs.send(job);
    }

    /// Stops the thread and returns the table.
    pub fn stop(self) -> Option<TableFile> {
        drop(self.jobs);
        self.thread.join().ok()
    }
}

fn publish(table: &mut TableFile, bytes: &[u8]) -> Result<Option<TableEvent>, SessionError> {
    Ok(match table.publish(bytes)? {
        PublishOutcome::Published => None,
        PublishOutcome::StillChanging => Some(TableEvent::BeingWritten),
        PublishOutcome::TableEdit(edit) => Some(TableEvent::Edited(edit)),
    })
}
