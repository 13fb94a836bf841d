//! The process of a job: runs its session and keeps the caller's output table current.

use super::create::described;
use super::output::render;
use super::spec::JobSpec;
use super::status::{JobState, JobStatus};
use super::table::InputTable;
use super::worktrees::JobWorktrees;
use crate::limits;
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};
use wavecrew_agents::{AgentSettings, Pools};
use wavecrew_core::budget::Budget;
use wavecrew_core::engine::{AgentChoice, Engine, Ledger, Notice, Options};
use wavecrew_core::event::{Event, RunOutcome};
use wavecrew_process::guardian::GuardianCommand;
use wavecrew_process::{signal_self, terminate_when_stdin_closes};
use wavecrew_run::checks::Verify;
use wavecrew_run::event_loop::{Driver, Reporter, RunContext, Running};
use wavecrew_run::place::RemoteWorkers;
use wavecrew_run::sandbox::SandboxSettings;
use wavecrew_run::session::OpenSession;
use wavecrew_run::worktree::Isolation;
use wavecrew_session::{Holder, SessionDir, SessionError, SessionLock, SessionState, atomic};

/// A file of a job is written at most this often, and for at most a twentieth of the time.
const PAUSE: Duration = Duration::from_millis(200);
const SHARE: u32 = 20;

/// What the process needs from its program.
pub struct JobOptions {
    pub guardian: GuardianCommand,
    pub worker_tools: Option<Vec<String>>,
    /// The project's settings for every run: budgets, prices, time limits.
    pub options: Options,
    /// Names of pools from the settings, by agent.
    pub pools: BTreeMap<String, String>,
    /// Limits that replace those of the job.
    pub limits: Budget,
    /// The project's settings for single agents.
    pub agent_settings: AgentSettings,
    pub sandbox: SandboxSettings,
    /// Workers on other machines, if the settings name some.
    pub remote: Option<RemoteWorkers>,
    pub holder: Holder,
    /// Whether it ends with the process that started it, which holds the other end of stdin.
    pub attached: bool,
}

/// Runs the job to its end.
pub fn run(project: &Path, id: &str, job: JobOptions) -> Result<(), String> {
    // Signals of the caller's terminal or process group do not reach the job.
    let _ = rustix::process::setsid();
    if job.attached {
        terminate_when_stdin_closes();
    }
    let dir = SessionDir::open(project, id).map_err(|error| error.to_string())?;
    let (spec, input) = read(&dir)?;
    // Held until the last file is written, which is after the session is closed.
    let _held = SessionLock::acquire(&dir.job_lock(), &job.holder).map_err(|error| error.to_string())?;
    let (mut session, ledger) =
        OpenSession::resume(project, dir.clone(), &job.holder, None).map_err(|error| described(&error))?;
    session.info.state = SessionState::Running;
    let mut status = JobStatus::starting(id, &spec.output_csv, input.items.len());
    status.status = JobState::Running;
    let pools = Pools::find([spec.agent.as_str()], &job.pools, |name| std::env::var_os(name));
    let limit = Duration::from_secs(spec.runtime_seconds);
    session.verify = spec.verify.clone().map(|command| Verify { command, limit });
    let worktrees = match spec.isolation {
        Isolation::None => None,
        Isolation::Worktree => Some(JobWorktrees::new(project, &dir)),
    };
    session.folders = worktrees.as_ref().map(JobWorktrees::folders);
    let options = Options {
        pools: pools.by_agent.clone(),
        concurrency: spec.concurrency,
        agents: AgentChoice {
            default: spec.agent.clone(),
            by_role: BTreeMap::new(),
            ignore_rows: false,
        },
        one_shot: Some(limit),
        check_all: spec.verify.is_some(),
        // A limit stays in force until another one replaces it.
        budget: job
            .limits
            .or(ledger.budget)
            .or(spec.limits)
            .or(job.options.budget),
        ..job.options
    };
    let mut writer = OutputWriter {
        dir,
        spec,
        input,
        status,
        status_timer: RefreshTimer::new(),
        table_timer: RefreshTimer::new(),
        stopped_by: None,
        worktrees,
    };
    writer.publish(&ledger).map_err(|error| error.to_string())?;
    let run_context = RunContext {
        reporter: &mut writer,
        asker: None,
        instruction: None,
        worker_tools: job.worker_tools,
        // The rows of a job have no other check than `verify`.
        check_program: Vec::new(),
        pools,
        agent_settings: job.agent_settings,
        sandbox: job.sandbox,
        remote: job.remote,
    };
    let outcome = Driver::run(session, Engine::new(ledger, options), run_context, job.guardian);
    match outcome {
        Ok((ending, ledger)) => writer.end(&ending, &ledger).map_err(|error| error.to_string()),
        Err(error) => {
            writer.status.status = JobState::Failed;
            writer.status.job_error = Some(error.to_string());
            writer.status.running_items = 0;
            // The failure itself is more important.
            let _ = writer.status.write(&writer.dir);
            Err(error.to_string())
        }
    }
}

fn read(dir: &SessionDir) -> Result<(JobSpec, InputTable), String> {
    let bytes = fs::read(dir.job_file()).map_err(|_| format!("there is no job {}", dir.id()))?;
    let spec: JobSpec = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
    let bytes = fs::read(dir.job_input()).map_err(|error| error.to_string())?;
    let input = InputTable::read(&bytes, spec.id_column.as_deref())?;
    Ok((spec, input))
}

/// Keeps the output table and the status current while the job runs.
struct OutputWriter {
    dir: SessionDir,
    spec: JobSpec,
    input: InputTable,
    status: JobStatus,
    status_timer: RefreshTimer,
    table_timer: RefreshTimer,
    /// The item whose worker stopped the job.
    stopped_by: Option<String>,
    worktrees: Option<JobWorktrees>,
}

/// Decides when to write a file again: after a change, not too often, and for at most its share of the time.
struct RefreshTimer {
    changed: bool,
    not_before: Instant,
}

impl RefreshTimer {
    fn new() -> Self {
        Self {
            changed: true,
            not_before: Instant::now(),
        }
    }

    /// Calls `refresh` if it is due.
    fn refresh_if_due(
        &mut self,
        refresh: impl FnOnce() -> Result<(), SessionError>,
    ) -> Result<(), SessionError> {
        let from = Instant::now();
        if !self.changed || from < self.not_before {
            return Ok(());
        }
        self.changed = false;
        let done = refresh();
        self.not_before = Instant::now() + PAUSE.max(from.elapsed() * SHARE);
        done
    }
}

impl OutputWriter {
    fn publish(&mut self, ledger: &Ledger) -> Result<(), SessionError> {
        let (dir, spec, input) = (&self.dir, &self.spec, &self.input);
        let worktrees = self.worktrees.as_ref();
        let status = &mut self.status;
        self.status_timer.refresh_if_due(|| {
            status.update(input, ledger);
            status.write(dir)
        })?;
        self.table_timer.refresh_if_due(|| {
            let bytes = render(dir.id(), spec, input, ledger, worktrees);
            atomic::write_shared(&spec.output_csv, &bytes)
        })
    }

    fn end(&mut self, ending: &RunOutcome, ledger: &Ledger) -> Result<(), SessionError> {
        let (state, error) = match ending {
            RunOutcome::Completed | RunOutcome::Failed => (JobState::Completed, None),
            RunOutcome::Cancelled => (JobState::Cancelled, None),
            RunOutcome::Interrupted => match &self.stopped_by {
                Some(item) => (
                    JobState::Cancelled,
                    Some(format!("the worker of {item} stopped the job")),
                ),
                None => (
                    JobState::Stopped,
                    Some(format!(
                        "interrupted; continue with resume_job_id {}",
                        self.dir.id()
                    )),
                ),
            },
            RunOutcome::Stalled { chain } => (JobState::Failed, Some(format!("stalled: {chain}"))),
            RunOutcome::LimitReached { why, go_on } => {
                let more = limits::arguments(go_on);
                let why = format!(
                    "stopped at a limit: {why}; continue with resume_job_id {}{more}",
                    self.dir.id()
                );
                (JobState::Stopped, Some(why))
            }
            RunOutcome::Blocked { why, .. } => (
                JobState::Stopped,
                Some(format!("{why}; continue with resume_job_id {}", self.dir.id())),
            ),
        };
        self.status.status = state;
        self.status.job_error = error;
        self.status.update(&self.input, ledger);
        if let Some(worktrees) = &mut self.worktrees {
            // No worker runs any more.
            worktrees.clean_up(&[], ledger);
        }
        let bytes = render(
            self.dir.id(),
            &self.spec,
            &self.input,
            ledger,
            self.worktrees.as_ref(),
        );
        atomic::write_shared(&self.spec.output_csv, &bytes)?;
        self.status.write(&self.dir)
    }

    /// A worker ends the whole job, which the caller allows.
    fn stop(&mut self, item: String) {
        if self.stopped_by.is_none() {
            self.stopped_by = Some(item);
            // Like pressing Ctrl-C once: nothing new starts, running workers may finish.
            signal_self(Signal::INT);
        }
    }
}

impl Reporter for OutputWriter {
    fn event(&mut self, event: &Event, ledger: &Ledger) {
        self.status_timer.changed = true;
        self.table_timer.changed = true;
        if let Event::Finished { task, .. } = event
            && self.spec.allow_stop
            && let Some(found) = ledger.plan().find(task)
            && ledger.task(found).result.output("stop") == "true"
        {
            let item = self.input.items.iter().find(|item| item.task_id == *task);
            let item = item.map_or(task, |item| &item.item_id).clone();
            self.stop(item);
        }
    }

    fn notice(&mut self, notice: &Notice) {
        if let Notice::Note(text) = notice {
            self.status.note(text);
            self.status_timer.changed = true;
        }
    }

    fn tick(&mut self, running: &[Running], ledger: &Ledger) {
        if let Some(worktrees) = self.worktrees.as_mut().filter(|_| self.table_timer.changed) {
            worktrees.clean_up(running, ledger);
        }
        // If the table cannot be written now, the next try may succeed; the end of the job reports a failure.
        let _ = self.publish(ledger);
    }

    fn wants_running(&self) -> bool {
        self.worktrees.is_some()
    }
}
