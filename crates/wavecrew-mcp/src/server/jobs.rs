//! Jobs as the server sees them: processes that it starts, and files that they leave.

use super::Setup;
use super::choice::choose;
use super::progress::{Progress, Standing};
use crate::job::{self, JobState, JobStatus, SpawnOnCsv};
use crate::paths::Root;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use serde_json::{Value, json};
use std::fs::File;
use std::process::Stdio;
use std::time::Duration;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};
use wavecrew_core::budget::Budget;
use wavecrew_store::{SessionDir, atomic};

const POLL: Duration = Duration::from_millis(100);
/// A job that was told to end takes at most this long: its workers have a few seconds.
const CANCEL: Duration = Duration::from_secs(20);

pub(super) struct Jobs {
    root: Root,
    setup: Setup,
}

impl Jobs {
    pub fn new(root: Root, setup: Setup) -> Self {
        Self { root, setup }
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
        let child = self.start(&dir, background, &limits)?;
        if !background {
            return attend(child, &dir, context).await;
        }
        let mut child = child;
        // Only so that it does not stay a zombie; it goes on without us.
        tokio::spawn(async move { child.wait().await });
        Ok(json!(JobStatus::read(&dir)?))
    }

    async fn create(&self, call: SpawnOnCsv, agent: String) -> Result<SessionDir, String> {
        let (root, ceiling) = (self.root.clone(), self.setup.max_workers);
        // Large tables take a while; other calls go on meanwhile.
        let made = tokio::task::spawn_blocking(move || job::create(&root, &agent, ceiling, &call));
        made.await.map_err(|error| error.to_string())?
    }

    fn to_resume(&self, id: &str) -> Result<SessionDir, String> {
        let dir = self.find(id)?;
        if job::held(&dir)? {
            return Err(format!("job {id} is running; ask with wait_agent_job"));
        }
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

    /// Starts the process of a job. One that is attached ends when we drop its stdin, or end ourselves.
    fn start(&self, dir: &SessionDir, background: bool, limits: &Budget) -> Result<Child, String> {
        let failed = |error: std::io::Error| format!("the job could not be started: {error}");
        let complaints = File::create(job::complaints_file(dir)).map_err(failed)?;
        let mut command = Command::new(&self.setup.program);
        command
            .args(["mcp", "--job", dir.id()])
            .arg(format!("--limits={}", json!(limits)))
            .current_dir(self.root.path())
            .stdout(Stdio::null())
            .stderr(complaints)
            .stdin(if background { Stdio::null() } else { Stdio::piped() });
        if !background {
            command.arg("--attached");
        }
        command.spawn().map_err(failed)
    }

    pub async fn wait(
        &self,
        id: &str,
        patience: Duration,
        context: &RequestContext<RoleServer>,
    ) -> Result<Value, String> {
        let dir = self.find(id)?;
        let until = Instant::now() + patience;
        let mut progress = Progress::of(context);
        loop {
            let status = JobStatus::read(&dir)?;
            progress.tell(standing(&status), context).await;
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
        let dir = self.find(id)?;
        let until = Instant::now() + CANCEL;
        let word = dir.run_folder().join("control");
        let mut asked = false;
        loop {
            let status = JobStatus::read(&dir)?;
            if status.status.is_over() || Instant::now() >= until {
                return Ok(json!(status));
            }
            if !asked && job::held(&dir)? {
                asked = true;
                atomic::write_volatile(&word, b"cancel").map_err(|error| error.to_string())?;
            }
            sleep(POLL).await;
        }
    }
}

/// Stays with a job until it ends; the job ends when the call is taken back.
async fn attend(
    mut child: Child,
    dir: &SessionDir,
    context: &RequestContext<RoleServer>,
) -> Result<Value, String> {
    let mut progress = Progress::of(context);
    // Out of the child's hands: waiting for it would close its stdin.
    let mut lifeline = child.stdin.take();
    loop {
        tokio::select! {
            ended = child.wait() => {
                let code = ended.map_err(|error| error.to_string())?;
                let mut status = JobStatus::read(dir)?;
                if !code.success() && let Some(why) = job::complaint(dir) {
                    status.status = JobState::Failed;
                    status.job_error = Some(why);
                }
                progress.tell(standing(&status), context).await;
                return Ok(json!(status));
            }
            () = context.ct.cancelled() => {
                drop(lifeline.take());
                let _ = child.wait().await;
                return Err(format!("the call was taken back; go on with resume_job_id {}", dir.id()));
            }
            () = sleep(POLL) => {
                if let Ok(status) = JobStatus::read(dir) {
                    progress.tell(standing(&status), context).await;
                }
            }
        }
    }
}

fn standing(status: &JobStatus) -> Standing {
    Standing {
        done: status.completed_items + status.failed_items,
        failed: status.failed_items,
        running: status.running_items,
        total: status.total_items,
        cost: status.cost,
    }
}
