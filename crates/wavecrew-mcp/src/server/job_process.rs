//! The process of a job, from the server's side.

use super::teams::start_detached_process;
use crate::job::{self, JobState, JobStatus};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::process::{ExitStatus, Stdio};
use tokio::process::{Child, ChildStdin, Command};
use wavecrew_process::DetachedChild;
use wavecrew_session::SessionDir;

/// Bytes of a job's stderr that are read.
const STDERR_BYTES: usize = 16 << 10;

/// A process that drives a job.
pub(super) struct JobProcess {
    dir: SessionDir,
    child: Child,
    _detached: Option<DetachedChild>,
    /// Kept open, in case its folder disappears.
    stderr_log: File,
    /// The latest status.
    last: JobStatus,
}

impl JobProcess {
    /// Starts a job by `command`.
    pub fn start(mut command: Command, dir: &SessionDir) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("the job could not be started: {error}");
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(true);
        let stderr_log = options.open(dir.job_stderr()).map_err(failed)?;
        command
            .stdout(Stdio::null())
            .stderr(stderr_log.try_clone().map_err(failed)?);
        let last = JobStatus::read(dir)?;
        let (child, detached) = start_detached_process(&mut command)?;
        Ok(Self {
            dir: dir.clone(),
            child,
            _detached: detached,
            stderr_log,
            last,
        })
    }

    /// The stdin of an attached job, whose end ends the job. Taken from the child, because waiting for the child closes it.
    pub fn lifeline(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// Reads the status again.
    pub fn refresh_status(&mut self) -> &JobStatus {
        if let Ok(status) = JobStatus::read(&self.dir) {
            self.last = status;
        }
        &self.last
    }

    /// Waits for its end.
    pub async fn wait(&mut self) -> std::io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// The status after the process has ended.
    pub fn outcome(&mut self, code: ExitStatus) -> JobStatus {
        let has_status = JobStatus::read(&self.dir).is_ok();
        let mut status = self.refresh_status().clone();
        if has_status && code.success() {
            return status;
        }
        let error = self.job_error_text();
        if error.is_some() || !has_status {
            let gone = || "the job's folder is gone".to_owned();
            status.status = JobState::Failed;
            status.running_items = 0;
            status.job_error = Some(error.unwrap_or_else(gone));
        }
        status
    }

    fn job_error_text(&self) -> Option<String> {
        let mut bytes = vec![0; STDERR_BYTES];
        let length = self.stderr_log.read_at(&mut bytes, 0).unwrap_or(0);
        job::error_text(&bytes[..length])
    }
}
