//! Jobs of a server: starts their processes, and reads the files that they write.

use super::ServerOptions;
use super::choice::choose;
use super::job_process::JobProcess;
use super::progress::{Progress, ProgressCounts};
use crate::job::{self, JobState, JobStatus, SpawnOnCsv};
use crate::paths::Root;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::process::Command;
use tokio::time::{Instant, sleep};
use wavecrew_core::budget::Budget;
use wavecrew_process::LockAnyway;
use wavecrew_session::{SessionDir, atomic};

const POLL: Duration = Duration::from_millis(100);
/// How often the status of a background job is read.
const WATCH_INTERVAL: Duration = Duration::from_secs(1);
/// The longest time for the end of a cancelled job: its workers have a few seconds.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(20);

/// The status of the background jobs of this server: of those that run, and of those that ended without their folder.
type Watched = Arc<Mutex<HashMap<String, JobStatus>>>;

pub(super) struct Jobs {
    root: Root,
    setup: ServerOptions,
    watched: Watched,
}

impl Jobs {
    pub fn new(root: Root, setup: ServerOptions) -> Self {
        Self {
            root,
            setup,
            watched: Watched::default(),
        }
    }

    pub async fn spawn(
        &self,
        call: SpawnOnCsv,
        context: &RequestContext<RoleServer>,
    ) -> Result<Value, String> {
        let (background, limits) = (call.background, call.limits()?);
        let dir = if let Some(id) = call.resume_job_id.as_deref() {
            self.to_resume(id)?
        } else {
            let agent = choose(call.agent.as_deref(), self.setup.agent.as_deref(), context)?;
            self.create(call, agent).await?
        };
        let process = self.start(&dir, background, &limits)?;
        if !background {
            return follow(process, &dir, context).await;
        }
        tokio::spawn(watch(process, dir.clone(), Arc::clone(&self.watched)));
        Ok(json!(JobStatus::read(&dir)?))
    }

    async fn create(&self, call: SpawnOnCsv, agent: String) -> Result<SessionDir, String> {
        let (root, ceiling) = (self.root.clone(), self.setup.max_workers);
        // Large tables take a while; this does not block other calls.
        let made = tokio::task::spawn_blocking(move || job::create(&root, &agent, ceiling, &call));
        made.await.map_err(|error| error.to_string())?
    }

    fn to_resume(&self, id: &str) -> Result<SessionDir, String> {
        let dir = self.find(id)?;
        if job::held(&dir)? {
            return Err(format!("job {id} is running; ask with wait_agent_job"));
        }
        // A command for the last process is not for this one.
        drop(fs::remove_file(dir.control_file()));
        let mut status = JobStatus::read(&dir)?;
        status.status = JobState::Starting;
        status.job_error = None;
        status.write(&dir).map_err(|error| error.to_string())?;
        Ok(dir)
    }

    fn find(&self, id: &str) -> Result<SessionDir, String> {
        let dir = SessionDir::open(self.root.path(), id).ok().filter(job::is_job);
        dir.ok_or_else(|| format!("there is no job {id}"))
    }

    /// Starts the process of a job. An attached one ends when its stdin closes: when we drop it, or end.
    fn start(&self, dir: &SessionDir, background: bool, limits: &Budget) -> Result<JobProcess, String> {
        let mut command = Command::new(&self.setup.program);
        command
            .args(["mcp", "--job", dir.id()])
            .arg(format!("--limits={}", json!(limits)))
            .current_dir(self.root.path())
            .stdin(if background { Stdio::null() } else { Stdio::piped() });
        if !background {
            command.arg("--attached");
        }
        JobProcess::start(command, dir)
    }

    /// The status of a job, even if it lost its folder while this server ran.
    fn status(&self, id: &str) -> Result<JobStatus, String> {
        let read = self.find(id).and_then(|dir| JobStatus::read(&dir));
        read.or_else(|why| self.watched.lock_anyway().get(id).cloned().ok_or(why))
    }

    pub async fn wait(
        &self,
        id: &str,
        timeout: Duration,
        context: &RequestContext<RoleServer>,
    ) -> Result<Value, String> {
        let until = Instant::now() + timeout;
        let mut progress = Progress::of(context);
        loop {
            let status = self.status(id)?;
            progress.notify(counts(&status), context).await;
            let timed_out = !status.status.is_over();
            if !timed_out || Instant::now() >= until || context.ct.is_cancelled() {
                let mut answer = json!(status);
                answer["timed_out"] = timed_out.into();
                return Ok(answer);
            }
            sleep(POLL).await;
        }
    }

    pub async fn cancel(&self, id: &str) -> Result<Value, String> {
        let until = Instant::now() + CANCEL_TIMEOUT;
        let mut asked = false;
        loop {
            let status = self.status(id)?;
            if status.status.is_over() || Instant::now() >= until {
                return Ok(json!(status));
            }
            if let Ok(dir) = self.find(id)
                && !asked
                && job::held(&dir)?
            {
                asked = true;
                atomic::write_volatile(&dir.control_file(), b"cancel").map_err(|error| error.to_string())?;
            }
            sleep(POLL).await;
        }
    }
}

/// Follows a job until it ends. If the call is cancelled, the job ends.
async fn follow(
    mut process: JobProcess,
    dir: &SessionDir,
    context: &RequestContext<RoleServer>,
) -> Result<Value, String> {
    let mut progress = Progress::of(context);
    let mut lifeline = process.lifeline();
    loop {
        tokio::select! {
            ended = process.wait() => {
                let status = process.outcome(ended.map_err(|error| error.to_string())?);
                progress.notify(counts(&status), context).await;
                return Ok(json!(status));
            }
            () = context.ct.cancelled() => {
                drop(lifeline.take());
                let _ = process.wait().await;
                return Err(format!("the call was cancelled; continue with resume_job_id {}", dir.id()));
            }
            () = sleep(POLL) => progress.notify(counts(process.refresh_status()), context).await,
        }
    }
}

/// Follows a background job, to know its status even if its folder disappears.
async fn watch(mut process: JobProcess, dir: SessionDir, watched: Watched) {
    let id = dir.id().to_owned();
    loop {
        let status = process.refresh_status().clone();
        watched.lock_anyway().insert(id.clone(), status);
        tokio::select! {
            ended = process.wait() => {
                let outcome = ended.ok().map(|code| process.outcome(code));
                let mut watched = watched.lock_anyway();
                match outcome.filter(|_| JobStatus::read(&dir).is_err()) {
                    Some(status) => watched.insert(id, status),
                    None => watched.remove(&id),
                };
                return;
            }
            () = sleep(WATCH_INTERVAL) => {}
        }
    }
}

fn counts(status: &JobStatus) -> ProgressCounts {
    ProgressCounts {
        done: status.completed_items + status.failed_items,
        failed: status.failed_items,
        running: status.running_items,
        total: status.total_items,
        cost: status.cost,
    }
}
