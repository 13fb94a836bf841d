//! Does what the engine decides: journal first, then processes, files and questions. Decides nothing itself.

mod asks;
mod briefing;
pub mod claims;
mod clock;
mod committer;
mod conversation;
pub mod documents;
mod edits;
mod examine;
mod expand;
mod files;
mod finish;
mod hear;
mod late_edits;
mod lookout;
mod messages;
mod output;
mod perform;
mod pools;
mod record;
mod reporter;
mod session;
mod shorts;
mod table;
mod taping;
mod tick;
mod trees;
mod turn;
mod turn_end;
mod usage;
mod verify;
mod worker;

pub use edits::{Edit, Moment, follow_edit, read_edit};
/// Turns of one process or of many, for conversations outside of a run.
pub mod talk {
    pub use super::conversation::conversation_id;
    pub use super::files::{write_files, write_prompt};
    pub use super::output::Output;
    pub use super::session::resolve;
    pub use super::turn_end::{failure_words, last_message};
    pub use super::worker::{Life, ProcessNews, Streams, Talk, open_streams};
}
pub use reporter::{Reporter, Running};
pub use session::{Folders, NewSession, OpenSession};
pub use verify::Verify;

use briefing::Surroundings;
use clock::Clock;
use committer::Committer;
use lookout::Channels;
use pools::PoolKeeper;
use shorts::Shorts;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::rc::Rc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use table::TableKeeper;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use wavecrew_agents::{Adapter, AgentSettings, Pools, Redactor};
use wavecrew_core::engine::{Answer, Engine, Input, Ledger, MergeOutcome, Question, WorkerId};
use wavecrew_core::event::RunOutcome;
use wavecrew_process::guardian::{Guardian, GuardianCommand};
use wavecrew_process::{ProcessError, check_open_files_limit};
use wavecrew_session::{Attempts, SessionError};
use worker::{Life, ProcessNews, Worker};

#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Process(#[from] ProcessError),
    #[error("the guardian process was killed; all workers were ended with it")]
    GuardianLost,
}

/// Asks a person; runs on a thread of its own.
pub type Asker = std::sync::Arc<dyn Fn(&Question) -> Answer + Send + Sync>;

/// What a run needs besides its session.
pub struct Surface<'a> {
    pub reporter: &'a mut dyn Reporter,
    /// Nobody to ask: questions get their default.
    pub asker: Option<Asker>,
    /// An instruction for all rows that the person gave.
    pub instruction: Option<String>,
    /// The words of the command that gives workers their tools over MCP.
    pub worker_tools: Option<Vec<String>>,
    /// The words of the command that examines claims.
    pub examiner: Vec<String>,
    /// Whose services are shared with other runs.
    pub pools: Pools,
    /// What the project sets for single agents.
    pub agent_settings: AgentSettings,
}

pub struct Driver<'a> {
    session: OpenSession,
    engine: Engine,
    surface: Surface<'a>,
    clock: Clock,
    agents: BTreeMap<String, Rc<dyn Adapter>>,
    redactor: Rc<Redactor>,
    guardian: Guardian,
    workers: BTreeMap<WorkerId, Worker>,
    /// Which worker a process belongs to, and what tells its pumps how it is.
    processes: HashMap<u64, (WorkerId, watch::Sender<Life>)>,
    /// Processes whose pipes nobody watches, and since when, the oldest first.
    young: VecDeque<(Instant, u64)>,
    next_key: u64,
    /// Since when no more than one worker has been there.
    alone_since: SystemTime,
    /// Checks of claims, by the key of their process.
    checks: HashMap<u64, verify::Check>,
    checked: UnboundedSender<(u64, wavecrew_process::Exit)>,
    inputs: VecDeque<Input>,
    surroundings: Surroundings,
    shorts: Shorts,
    attempts: Attempts,
    pools: PoolKeeper,
    table: TableKeeper,
    committer: Committer,
    /// The work of some task is merged.
    any_merged: bool,
    /// Reports of the channel that may be removed once their results are durable.
    settled: Vec<(String, u32, wavecrew_session::ClosedAttempt)>,
    process_news: UnboundedSender<ProcessNews>,
    answers: UnboundedSender<(u32, Answer)>,
    landings: UnboundedSender<(String, MergeOutcome)>,
    interrupts: u32,
    ending: Option<RunOutcome>,
}

impl<'a> Driver<'a> {
    /// Runs the session until it ends. Everything that was started is gone when this returns.
    pub fn run(
        session: OpenSession,
        engine: Engine,
        surface: Surface<'a>,
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
        local.block_on(&runtime, Self::drive(session, engine, surface, guardian))
    }

    async fn drive(
        mut session: OpenSession,
        engine: Engine,
        surface: Surface<'a>,
        guardian: GuardianCommand,
    ) -> Result<(RunOutcome, Ledger), DriveError> {
        let (guardian, notices) = Guardian::start(guardian).await?;
        session.note_guardian(guardian.process())?;
        let (process_news, news_of_processes) = unbounded_channel();
        let (answers, answered) = unbounded_channel();
        let (checked, checks_ended) = unbounded_channel();
        let (landings, landed) = unbounded_channel();
        let (news_out, news) = unbounded_channel();
        let table = session.take_table();
        let syncer = session.journal.syncer();
        let clock = Clock::start();
        let shorts = Shorts::of(&session.dir);
        let attempts = session.dir.attempts();
        let surroundings = Surroundings::of(&session.dir);
        let mut driver = Self {
            pools: PoolKeeper::new(&surface.pools, clock.now()),
            table: TableKeeper::start(table, syncer.clone(), news_out.clone()),
            committer: Committer::start(syncer, news_out),
            any_merged: trees::any_merged(engine.ledger()),
            session,
            engine,
            surface,
            clock,
            agents: BTreeMap::new(),
            redactor: Rc::new(Redactor::new(std::env::vars_os())),
            guardian,
            workers: BTreeMap::new(),
            processes: HashMap::new(),
            young: VecDeque::new(),
            next_key: 1,
            alone_since: UNIX_EPOCH,
            checks: HashMap::new(),
            checked,
            inputs: VecDeque::new(),
            surroundings,
            shorts,
            attempts,
            settled: Vec::new(),
            process_news,
            answers,
            landings,
            interrupts: 0,
            ending: None,
        };
        let channels = Channels {
            notices,
            news_of_processes,
            answered,
            checks_ended,
            landed,
            news,
        };
        let outcome = driver.look_after(channels).await;
        // Whatever failed first, this is why.
        let outcome = outcome.map_err(|error| driver.look_for_the_session().err().unwrap_or(error));
        driver.wind_up(outcome).await
    }
}
