//! A caller's table as a session: the server creates it, and its own process runs it, so that it can outlive the caller.

mod create;
mod output;
mod run;
mod spec;
mod status;
mod table;
mod worktrees;

pub use create::create;
pub use run::{JobOptions, run};
pub use spec::SpawnOnCsv;
pub use status::{JobState, JobStatus, held};

use wavecrew_session::SessionDir;

/// The stderr of a program as one text for the model; `None` if it is empty.
pub fn error_text(stderr: &[u8]) -> Option<String> {
    let text = wavecrew_core::sanitise::sanitise(stderr);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let text = lines.collect::<Vec<_>>().join("\n");
    let text = text.trim_start_matches("x ").trim_start_matches("× ");
    Some(text.to_owned()).filter(|text| !text.is_empty())
}

/// What the process of the job wrote to stderr.
fn job_error_text(dir: &SessionDir) -> Option<String> {
    error_text(&std::fs::read(dir.job_stderr()).ok()?)
}

/// Whether the session is a job.
pub fn is_job(dir: &SessionDir) -> bool {
    dir.job_file().exists()
}
