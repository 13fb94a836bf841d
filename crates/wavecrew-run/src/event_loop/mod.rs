//! The event loop of a run. It feeds what happens to the engine and carries out the actions that the engine returns:
//! journal first, then processes, files and questions. It decides nothing itself.

mod actions;
mod bus_messages;
mod clock;
mod guardian_events;
mod journal;
mod journal_sync;
mod periodic;
mod reporter;
mod run_loop;
mod shared_pools;
mod shutdown;
mod unprotected;

pub use reporter::{Reporter, Running};

use crate::agent_files::AgentFiles;
use crate::checks::guard::Guards;
use crate::checks::program::RunningCheck;
use crate::place::{OpenPlace, PlaceEvent, Places, RemoteSession, RemoteWorkers};
use crate::sandbox::{Sandbox, SandboxSettings, program_rules};
use crate::session::OpenSession;
use crate::table::publisher::TablePublisher;
use crate::worker::Worker;
use crate::worker::appended_files::AppendedFiles;
use crate::worker::first_message::SharedNotes;
use crate::worker::packed_files::PackedFiles;
use crate::worker::streams::{ProcessState, WorkerEvent};
use crate::worktree::tasks::any_merged;
use clock::Clock;
use journal_sync::JournalSync;
use run_loop::Channels;
use shared_pools::SharedPools;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::rc::Rc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use wavecrew_agents::{Agent, AgentSettings, Pools, Redactor};
use wavecrew_core::engine::{Engine, GivenAnswer, Input, Ledger, MergeOutcome, Notice, Question, WorkerId};
use wavecrew_core::event::RunOutcome;
use wavecrew_process::guardian::{Containment, Guardian, GuardianCommand, USER_NAMESPACE};
use wavecrew_process::sandbox::Support;
use wavecrew_process::{GuardianEvent, ProcessError, check_open_files_limit};
use wavecrew_session::{Attempts, SessionError};

#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Process(#[from] ProcessError),
    #[error("the guardian process was killed; all workers were ended with it")]
    GuardianLost,
    #[error("{0}")]
    NoSandbox(String),
    #[error("{0}")]
    NoRemote(String),
}

/// The note at the start of a run if the kernel does not end workers with the guardian.
const UNCONTAINED: &str = "This machine has no PID namespace. If wavecrew and its guardian are killed at the same time, workers may keep running \
                           until you continue the session. `wavecrew doctor` shows what to do.";

/// Asks a person; runs on its own thread.
pub type Asker = std::sync::Arc<dyn Fn(&Question) -> GivenAnswer + Send + Sync>;

/// What a run needs besides its session.
pub struct RunContext<'a> {
    pub reporter: &'a mut dyn Reporter,
    /// `None` if there is nobody to ask: questions get their default answer.
    pub asker: Option<Asker>,
    /// An instruction for all rows, given by the person.
    pub instruction: Option<String>,
    /// The command line that gives workers their tools over MCP.
    pub worker_tools: Option<Vec<String>>,
    /// The command line of the program that runs a role's check.
    pub check_program: Vec<String>,
    /// Rate limit pools that are shared with other runs.
    pub pools: Pools,
    /// The project's settings for single agents.
    pub agent_settings: AgentSettings,
    /// How workers are confined.
    pub sandbox: SandboxSettings,
    /// Workers on other machines, if the run may use some.
    pub remote: Option<RemoteWorkers>,
}

pub struct Driver<'a> {
    pub(crate) session: OpenSession,
    pub(crate) engine: Engine,
    pub(crate) context: RunContext<'a>,
    pub(crate) clock: Clock,
    pub(crate) agents: BTreeMap<String, Rc<dyn Agent>>,
    pub(crate) redactor: Rc<Redactor>,
    pub(crate) places: Places,
    /// Processes that are out of reach, by key, with the reason.
    pub(crate) lost: HashMap<u64, String>,
    pub(crate) workers: BTreeMap<WorkerId, Worker>,
    /// The worker of each process, and the sender that informs its output readers.
    pub(crate) processes: HashMap<u64, (WorkerId, watch::Sender<ProcessState>)>,
    /// Processes whose pipes are not watched yet, and since when, oldest first.
    pub(crate) unwatched: VecDeque<(Instant, u64)>,
    pub(crate) next_key: u64,
    /// Since when at most one worker has been running.
    pub(crate) alone_since: SystemTime,
    pub(crate) guards: Guards,
    /// Checks by the key of their process.
    pub(crate) checks: HashMap<u64, RunningCheck>,
    pub(crate) check_exits: UnboundedSender<(u64, wavecrew_process::ProcessExit)>,
    pub(crate) inputs: VecDeque<Input>,
    pub(crate) shared_notes: SharedNotes,
    pub(crate) packed_files: PackedFiles,
    pub(crate) appended_files: AppendedFiles,
    pub(crate) agent_files: AgentFiles,
    pub(crate) sandbox: Sandbox,
    /// Agents that ignore their settings: the person has been warned.
    pub(crate) settings_warnings: BTreeSet<String>,
    pub(crate) attempts: Attempts,
    pub(crate) pools: SharedPools,
    pub(crate) table: TablePublisher,
    pub(crate) journal_sync: JournalSync,
    /// The work of at least one task is merged.
    pub(crate) any_merged: bool,
    /// Submitted reports that can be removed once their results are durable.
    pub(crate) processed_reports: Vec<(String, u32, wavecrew_session::ClosedAttempt)>,
    pub(crate) worker_events: UnboundedSender<WorkerEvent>,
    pub(crate) answers: UnboundedSender<(u32, GivenAnswer)>,
    pub(crate) merges: UnboundedSender<(String, MergeOutcome)>,
    /// Threads that merge the work of tasks.
    pub(crate) merging: Vec<std::thread::JoinHandle<()>>,
    /// Workers that could change the session's files, and when they ended.
    ended_unprotected: Vec<(Instant, String)>,
    /// Marks of tables that a person edited in the browser.
    edits_in_browser: Vec<String>,
    interrupts: u32,
    ending: Option<RunOutcome>,
}

impl<'a> Driver<'a> {
    /// Runs the session until it ends. Every process that was started is gone when this returns.
    pub fn run(
        session: OpenSession,
        engine: Engine,
        context: RunContext<'a>,
        guardian: GuardianCommand,
    ) -> Result<(RunOutcome, Ledger), DriveError> {
        let failed = |source| ProcessError::System {
            what: "start the event loop",
            source,
        };
        check_open_files_limit().map_err(failed)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(failed)?;
        let local = tokio::task::LocalSet::new();
        local.block_on(&runtime, Self::run_session(session, engine, context, guardian))
    }

    async fn run_session(
        mut session: OpenSession,
        engine: Engine,
        mut context: RunContext<'a>,
        guardian: GuardianCommand,
    ) -> Result<(RunOutcome, Ledger), DriveError> {
        let support = context.sandbox.support();
        let (guardian, guardian_events) =
            start_guardian(guardian, &mut session, &mut context, support).await?;
        let (worker_events, worker_events_in) = unbounded_channel();
        let (answers, answers_in) = unbounded_channel();
        let (check_exits, check_exits_in) = unbounded_channel();
        let (merges, merges_in) = unbounded_channel();
        let (table_events, table_events_in) = unbounded_channel();
        let table = session.take_table();
        let syncer = session.journal.syncer();
        let clock = Clock::start();
        let agent_files = AgentFiles::of_session(&session.dir);
        // An earlier run may have left some.
        agent_files.remove();
        let settings = std::mem::take(&mut context.sandbox);
        let sandbox = Sandbox::new(
            settings,
            support,
            &session.dir,
            &session.project,
            &agent_files.roots(),
        );
        if let Some(reason) = sandbox.refusal() {
            guardian.shutdown().await;
            return Err(DriveError::NoSandbox(reason));
        }
        let (place_events, place_events_in) = unbounded_channel();
        let elsewhere = match open_remote(context.remote.take(), &mut session, &sandbox, place_events) {
            Ok(elsewhere) => elsewhere,
            Err(error) => {
                guardian.shutdown().await;
                return Err(error);
            }
        };
        if !sandbox.protects_session() {
            // A run without a copy is better than none.
            let _ = session.journal.keep_copy();
        }
        let mut driver = Self {
            pools: SharedPools::new(&context.pools, clock.now()),
            table: TablePublisher::start(table, syncer.clone(), table_events.clone()),
            journal_sync: JournalSync::start(syncer, table_events),
            any_merged: any_merged(engine.ledger()),
            packed_files: PackedFiles::of(&session.dir),
            appended_files: AppendedFiles::of(&session.dir),
            agent_files,
            sandbox,
            settings_warnings: BTreeSet::new(),
            attempts: session.dir.attempts(),
            shared_notes: SharedNotes::of(&session.dir),
            session,
            engine,
            context,
            clock,
            agents: BTreeMap::new(),
            redactor: Rc::new(Redactor::new(std::env::vars_os())),
            places: Places::new(guardian, elsewhere),
            lost: HashMap::new(),
            workers: BTreeMap::new(),
            processes: HashMap::new(),
            unwatched: VecDeque::new(),
            next_key: 1,
            alone_since: UNIX_EPOCH,
            guards: Guards::default(),
            checks: HashMap::new(),
            check_exits,
            inputs: VecDeque::new(),
            processed_reports: Vec::new(),
            worker_events,
            answers,
            merges,
            merging: Vec::new(),
            ended_unprotected: Vec::new(),
            edits_in_browser: Vec::new(),
            interrupts: 0,
            ending: None,
        };
        let channels = Channels {
            guardian_events,
            place_events: place_events_in,
            worker_events: worker_events_in,
            answers: answers_in,
            check_exits: check_exits_in,
            merges: merges_in,
            table_events: table_events_in,
        };
        let outcome = driver.run_event_loop(channels).await;
        // If the session folder is gone, that is the cause of the first failure.
        let outcome = outcome.map_err(|error| driver.check_session_exists().err().unwrap_or(error));
        driver.shutdown(outcome).await
    }
}

/// Starts the guardian, and records who it is before any worker starts.
async fn start_guardian(
    mut command: GuardianCommand,
    session: &mut OpenSession,
    context: &mut RunContext<'_>,
    support: Support,
) -> Result<(Guardian, UnboundedReceiver<GuardianEvent>), DriveError> {
    let (name, rules) = program_rules(&context.sandbox).variable();
    command.env.push((name.into(), rules.into()));
    if support.needs_user_namespace() {
        command.args.push(USER_NAMESPACE.into());
    }
    let (guardian, events) = Guardian::start(command).await?;
    if let Err(error) = session.record_guardian(guardian.process()) {
        guardian.shutdown().await;
        return Err(error.into());
    }
    if guardian.containment() == Containment::None {
        context.reporter.notice(&Notice::Note(UNCONTAINED.to_owned()));
    }
    Ok((guardian, events))
}

/// Opens the place on other machines, if the run has one.
fn open_remote(
    remote: Option<RemoteWorkers>,
    session: &mut OpenSession,
    sandbox: &Sandbox,
    events: UnboundedSender<PlaceEvent>,
) -> Result<Option<OpenPlace>, DriveError> {
    let Some(RemoteWorkers { rules, open }) = remote else {
        return Ok(None);
    };
    let place = open(RemoteSession {
        session: session.dir.path(),
        project: &session.project,
        sandbox: sandbox.settings(),
        events,
    });
    let place = place.map_err(DriveError::NoRemote)?;
    session.drop_recovered(|task, attempt| place.continues(task, attempt));
    Ok(Some((place, rules)))
}
