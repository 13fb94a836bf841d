//! Detached children: [`end_all_descendants`](crate::end_all_descendants) leaves them running, because each ends its own
//! processes.

use std::collections::BTreeSet;
use std::sync::Mutex;

use rustix::process::{Pid, getpid};

use crate::LockAnyway;
use crate::process_table::{self, Entry};

static DETACHED: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// Keeps a child detached until it is dropped.
#[derive(Debug)]
pub struct DetachedChild(u32);

/// Starts a child that [`end_all_descendants`](crate::end_all_descendants) leaves running, with all its descendants.
pub fn start_detached<T, E>(
    start: impl FnOnce() -> Result<T, E>,
    pid: impl FnOnce(&T) -> Option<u32>,
) -> Result<(T, Option<DetachedChild>), E> {
    // Holding the lock keeps others from reading the process table between the start of the child and its
    // registration.
    let mut detached = DETACHED.lock_anyway();
    let child = start()?;
    let registration = pid(&child).map(|pid| {
        detached.insert(pid);
        DetachedChild(pid)
    });
    Ok((child, registration))
}

impl Drop for DetachedChild {
    fn drop(&mut self) {
        DETACHED.lock_anyway().remove(&self.0);
    }
}

/// The descendants of this process without detached children and their descendants.
pub(super) fn attached_descendants() -> Vec<Entry> {
    let detached = DETACHED.lock_anyway();
    let is_detached = |pid: Pid| detached.contains(&pid.as_raw_pid().cast_unsigned());
    process_table::descendants_except(getpid(), is_detached)
}
