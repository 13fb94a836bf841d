//! The process of a job as the server sees it: started, waited for, and its stderr read.

use super::teams::apart;
use crate::job::{self, JobState, JobStatus};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::process::{ExitStatus, Stdio};
use tokio::process::{Child, ChildStdin, Command};
use wavecrew_process::DetachedChild;
use wavecrew_session::SessionDir;

/// Bytes of a job's stderr that are kept.
const COMPLAINT: usize = 16 << 10;

/// A process that drives a job.
pub(super) struct JobProcess {
    dir: SessionDir,
    child: Child,
    _apart: Option<DetachedChild>,
    /// Read here too, for the case that the folder it lies in is gone.
    stderr_log: File,
    /// How the job stood when it was looked at last.
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
        let (child, apart) = apart(&mut command)?;
        Ok(Self {
            dir: dir.clone(),
            child,
            _apart: apart,
            stderr_log,
            last,
        })
    }

    /// What a job that is attached ends with. It must be taken out of the child's hands: waiting for it would close it.
    pub fn lifeline(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// How it stands.
    pub fn look(&mut self) -> &JobStatus {
        if let Ok(status) = JobStatus::read(&self.dir) {
            self.last = status;
        }
        &self.last
    }

    /// Waits for its end.
    pub async fn wait(&mut self) -> std::io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// How the job stands now that its process has ended.
    pub fn outcome(&mut self, code: ExitStatus) -> JobStatus {
        let is_there = JobStatus::read(&self.dir).is_ok();
        let mut status = self.look().clone();
        if is_there && code.success() {
            return status;
        }
        let error = self.job_error_text();
        if error.is_some() || !is_there {
            let gone = || "the job's folder is gone".to_owned();
            status.status = JobState::Failed;
            status.running_items = 0;
            status.job_error = Some(error.unwrap_or_else(gone));
        }
        status
    }

    fn job_error_text(&self) -> Option<String> {
        let mut bytes = vec![0; COMPLAINT];
        let length = self.stderr_log.read_at(&mut bytes, 0).unwrap_or(0);
        job::error_text(&bytes[..length])
    }
}
