//! The limit of open files: a thousand workers need two pipe ends each.

use std::fs::File;
use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Lifts this process' soft limit of open files to its hard limit. A refusal is no error: fewer workers fit, and
/// the one that does not fit says so. Call it after the guardian was started, because workers keep the guardian's
/// limit: some programs walk over every possible descriptor.
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

/// What a run opens before its first worker. The event loop does not survive a shortage in its own set-up, so there
/// has to be room before it is made.
const NEEDED: usize = 24;

/// Says early and clearly that too few files may be opened.
pub fn check_open_files_limit() -> io::Result<()> {
    let opened: io::Result<Vec<File>> = (0..NEEDED).map(|_| File::open("/dev/null")).collect();
    opened.map(drop)
}
