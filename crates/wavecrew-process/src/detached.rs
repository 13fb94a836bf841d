//! Children of this process that are not ended with the others: each looks after itself.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, getpid};

use crate::process_table::{self, Entry};

static APART: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// A child that is left alone as long as this lives.
#[derive(Debug)]
pub struct DetachedChild(u32);

/// Starts a child that [`end_all_descendants`](super::end_all_descendants) leaves alone, with all that it starts.
/// `pid` tells its number.
pub fn start_detached<T, E>(
    start: impl FnOnce() -> Result<T, E>,
    pid: impl FnOnce(&T) -> Option<u32>,
) -> Result<(T, Option<DetachedChild>), E> {
    // Nobody looks at the table between the start of the child and the note about it.
    let mut apart = locked();
    let child = start()?;
    let noted = pid(&child).map(|pid| {
        apart.insert(pid);
        DetachedChild(pid)
    });
    Ok((child, noted))
}

impl Drop for DetachedChild {
    fn drop(&mut self) {
        locked().remove(&self.0);
    }
}

/// Everything below this process but what is apart.
pub(super) fn descendants() -> Vec<Entry> {
    let apart = locked();
    let is_apart = |pid: Pid| apart.contains(&pid.as_raw_pid().cast_unsigned());
    process_table::descendants_except(getpid(), is_apart)
}

fn locked() -> MutexGuard<'static, BTreeSet<u32>> {
    // A set of numbers is whole, whatever happened to whoever held it.
    APART.lock().unwrap_or_else(PoisonError::into_inner)
}
