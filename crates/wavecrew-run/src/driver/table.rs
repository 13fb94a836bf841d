//! Keeps `tasks.csv` current from a thread of its own: writing it must not hold up workers. The journal is synced
//! first, so that the table never knows more than the journal.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedSender;
use wavecrew_session::{PublishOutcome, SessionError, Syncer, TableFile};

/// At most five refreshes a second.
const PAUSE: Duration = Duration::from_millis(200);
/// And no more than a hundredth of the time.
const SHARE: u32 = 100;

enum Job {
    PublishOutcome(Vec<u8>),
    Check,
}

/// What the thread found.
pub(super) enum TableNews {
    /// A person's version of the table; ours was not published.
    Edit(Vec<u8>),
    /// Somebody is writing it: publish again.
    Unsettled,
    Failed(SessionError),
}

pub(super) struct TableKeeper {
    jobs: mpsc::Sender<Job>,
    thread: JoinHandle<TableFile>,
    dirty: bool,
    /// The thread is at work.
    busy: Arc<AtomicBool>,
    not_before: Instant,
}

impl TableKeeper {
    pub fn start(table: TableFile, syncer: Syncer, news: UnboundedSender<TableNews>) -> Self {
        let (jobs, inbox) = mpsc::channel::<Job>();
        let busy = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&busy);
        let thread = std::thread::spawn(move || {
            let mut table = table;
            for job in inbox {
                let found = match job {
                    Job::PublishOutcome(bytes) => syncer.sync().and_then(|()| publish(&mut table, &bytes)),
                    Job::Check => table.check().map(|edit| edit.map(TableNews::Edit)),
                };
                flag.store(false, Ordering::Release);
                if let Some(found) = found.unwrap_or_else(|error| Some(TableNews::Failed(error)))
                    && news.send(found).is_err()
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

    /// Refreshes the table when it is time to, or looks for edits.
    pub fn tick(&mut self, render: impl FnOnce() -> Vec<u8>) {
        let now = Instant::now();
        if now < self.not_before || self.busy.swap(true, Ordering::AcqRel) {
            return;
        }
        let job = if std::mem::take(&mut self.dirty) {
            Job::PublishOutcome(render())
        } else {
            Job::Check
        };
        self.not_before = now + PAUSE.max(now.elapsed() * SHARE);
        // A thread that is gone has said why.
        let _ = self.jobs.send(job);
    }

    /// Stops the thread and gives the table back.
    pub fn stop(self) -> Option<TableFile> {
        drop(self.jobs);
        self.thread.join().ok()
    }
}

fn publish(table: &mut TableFile, bytes: &[u8]) -> Result<Option<TableNews>, SessionError> {
    Ok(match table.publish(bytes)? {
        PublishOutcome::Published => None,
        PublishOutcome::StillChanging => Some(TableNews::Unsettled),
        PublishOutcome::TableEdit(edit) => Some(TableNews::Edit(edit)),
    })
}
