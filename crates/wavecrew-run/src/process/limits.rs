//! The limit of open files: a thousand workers need two pipe ends each.

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
