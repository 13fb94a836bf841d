//! What every run of tests by this program has: a place for builds, and an end.

use std::env;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use signal_hook::consts::{SIGINT, SIGTERM};
use wavecrew_measure::run::watch::Watch;

/// Where builds of compilers live on between runs.
pub fn cache_folder() -> PathBuf {
    let own = env::var_os("XDG_CACHE_HOME")
        .filter(|value| !value.is_empty())
        .map(PathBuf::from);
    let base = own.or_else(|| env::home_dir().map(|home| home.join(".cache")));
    base.unwrap_or_else(env::temp_dir).join("wavecrew/measure")
}

/// Readable as soon as a person or the system wants an end: the frameworks are in groups of their own and do not hear it. What
/// this process cannot hear of either, its being killed, a watcher sees.
pub fn stop_on_signals() -> io::Result<OwnedFd> {
    static WATCH: Mutex<Option<Watch>> = Mutex::new(None);
    let mut watch = WATCH.lock().unwrap_or_else(PoisonError::into_inner);
    if watch.is_none() {
        *watch = Some(Watch::start(&env::current_exe()?)?);
    }
    let (ours, theirs) = UnixStream::pair()?;
    for signal in [SIGINT, SIGTERM] {
        signal_hook::low_level::pipe::register(signal, theirs.try_clone()?)?;
    }
    Ok(ours.into())
}
