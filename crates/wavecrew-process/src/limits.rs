//! The limit of open files. Every worker needs two pipe ends.

use std::fs::File;
use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit of open files to the hard limit. If that is refused, fewer workers can run at once,
/// and starting one too many fails. Call this after the guardian was started: workers inherit the guardian's
/// limit, and some programs loop over every possible descriptor.
pub fn raise_open_files_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum {
        let _ = setrlimit(
            Resource::Nofile,
            Rlimit {
                current: maximum,
                maximum,
            },
        );
    }
}

/// What a run opens before its first worker. The event loop does not survive a shortage during its setup.
const NEEDED_FILES: usize = 24;

/// Fails early when too few files may be opened.
pub fn check_open_files_limit() -> io::Result<()> {
    let opened: io::Result<Vec<File>> = (0..NEEDED_FILES).map(|_| File::open("/dev/null")).collect();
    opened.map(drop)
}
