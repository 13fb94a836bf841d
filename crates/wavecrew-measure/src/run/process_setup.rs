//! What every process that runs tests needs: a build cache, and a way to be stopped.

use std::env;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Mutex;

use signal_hook::consts::{SIGINT, SIGTERM};

use super::watchdog::Watchdog;
use wavecrew_process::LockAnyway;

/// Where compilers keep their build output between runs.
pub fn cache_folder() -> PathBuf {
    let own = env::var_os("XDG_CACHE_HOME")
        .filter(|value| !value.is_empty())
        .map(PathBuf::from);
    let base = own.or_else(|| env::home_dir().map(|home| home.join(".cache")));
    base.unwrap_or_else(env::temp_dir).join("wavecrew/measure")
}

static WATCHDOG: Mutex<Option<Watchdog>> = Mutex::new(None);

/// Becomes readable on SIGINT and SIGTERM: frameworks run in their own process groups and do not receive them. A watchdog
/// process ends the frameworks when this process is killed.
pub fn stop_on_signals() -> io::Result<OwnedFd> {
    let mut watchdog = WATCHDOG.lock_anyway();
    if watchdog.is_none() {
        *watchdog = Some(Watchdog::start(&env::current_exe()?)?);
    }
    let (ours, theirs) = UnixStream::pair()?;
    for signal in [SIGINT, SIGTERM] {
        signal_hook::low_level::pipe::register(signal, theirs.try_clone()?)?;
    }
    Ok(ours.into())
}

/// Ends the watchdog of this process, if it has one: nothing that it started outlives it.
pub fn end_watchdog() {
    let watchdog = WATCHDOG.lock_anyway().take();
    if let Some(watchdog) = watchdog {
        watchdog.end();
    }
}
