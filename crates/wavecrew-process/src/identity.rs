//! Identifies a process so that it can be recognised after the coordinator died, and ends processes that a
//! dead run left behind. A pid alone is not enough: the kernel reuses it.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::process_table::{self, Entry};
use crate::{KILL_INTERVAL, end_process_trees, send_signal};
use rustix::process::{Pid, Signal};
use wavecrew_core::event::ProcessId;
use wavecrew_core::worker_variables;

use super::WORKER_VARIABLE;

pub(crate) fn process_id(pid: i32, start_time: u64) -> ProcessId {
    ProcessId {
        pid,
        start_time,
        boot_id: boot_id().to_owned(),
        host: None,
    }
}

/// The entry of exactly this process, while it is alive.
fn entry_of(process: &ProcessId) -> Option<Entry> {
    if process.boot_id != boot_id() || process.pid <= 0 || process.host.is_some() {
        return None;
    }
    process_table::entry(Pid::from_raw(process.pid)?)
        .filter(|e| e.is_alive() && e.start_time == process.start_time)
}

/// Whether exactly this process, not a later one with its pid, still runs.
pub fn is_alive(process: &ProcessId) -> bool {
    entry_of(process).is_some()
}

/// The result of [`end_leftovers`].
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Leftovers {
    pub ended: usize,
    /// Processes that this user cannot end.
    pub survivors: Vec<i32>,
}

/// Ends what the run of a dead coordinator left behind: its recorded workers with their groups and descendants, and every
/// process that a worker of this session started. Hold the session's lock. Blocks for at most a few seconds.
pub fn end_leftovers(guardian: Option<&ProcessId>, workers: &[ProcessId], session_dir: &Path) -> Leftovers {
    // A guardian that is still alive is already ending them, and knows orphans that no other process can
    // attribute.
    const GUARDIAN_TIMEOUT: Duration = Duration::from_secs(3);
    let since = Instant::now();
    while let Some(e) = guardian.and_then(entry_of) {
        if since.elapsed() > GUARDIAN_TIMEOUT {
            send_signal(&e, Signal::KILL);
        }
        sleep(KILL_INTERVAL);
        if since.elapsed() > GUARDIAN_TIMEOUT * 2 {
            break;
        }
    }
    let (ended, alive) = end_process_trees(|| roots(workers, session_dir));
    Leftovers {
        ended,
        survivors: alive.iter().map(|e| e.pid.as_raw_pid()).collect(),
    }
}

fn roots(workers: &[ProcessId], session_dir: &Path) -> Vec<Entry> {
    let alive: Vec<Entry> = workers.iter().filter_map(entry_of).collect();
    process_table::all()
        .into_iter()
        .filter(|e| {
            let belongs_to_worker =
                |w: &Entry| e.pid == w.pid || (w.group == w.pid.as_raw_pid() && e.group == w.group);
            alive.iter().any(belongs_to_worker) || belongs_to_session(e.pid, session_dir)
        })
        .collect()
}

/// Checks both variables: a shell in which a person exported the session folder is not a worker.
fn belongs_to_session(pid: Pid, session_dir: &Path) -> bool {
    process_table::environment_variable(pid, worker_variables::SESSION_DIR)
        .is_some_and(|dir| dir == session_dir.as_os_str().as_bytes())
        && process_table::environment_variable(pid, WORKER_VARIABLE).is_some()
}

pub(crate) fn boot_id() -> &'static str {
    static BOOT: OnceLock<String> = OnceLock::new();
    BOOT.get_or_init(|| {
        let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        text.trim().to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_instance_is_alive() {
        let pid = rustix::process::getpid();
        let me = process_id(pid.as_raw_pid(), process_table::entry(pid).unwrap().start_time);
        assert!(is_alive(&me));
        assert!(!is_alive(&ProcessId {
            start_time: me.start_time + 1,
            ..me.clone()
        }));
        assert!(!is_alive(&ProcessId {
            boot_id: "another boot".to_owned(),
            ..me.clone()
        }));
        assert!(!is_alive(&ProcessId { pid: -1, ..me }));
    }
}
