//! Does what the engine decides: journal first, then processes, files and questions. Decides nothing itself.

mod asks;
mod briefing;
pub mod claims;
pub mod documents;
mod edits;
mod examine;
mod expand;
mod files;
mod finish;
mod late_edits;
mod messages;
mod output;
mod perform;
mod pools;
mod reporter;
mod session;
mod shorts;
mod table;
mod taping;
mod trees;
mod turn;
mod usage;
mod verify;
mod worker;

pub use edits::{Edit, Moment, follow_edit, read_edit};
/// Turns of one process or of many, for conversations outside of a run.
pub mod talk {
    pub use super::files::{write_files, write_prompt};
    pub use super::output::Output;
    pub use super::session::resolve;
    pub use super::turn::{conversation_id, failure_words, last_message};
    pub use super::worker::{Life, ProcessNews, Streams, Talk, open_streams};
}
pub use reporter::{Reporter, Running};
pub use session::{Folders, NewSession, OpenSession, SessionError, replay};
pub use verify::Verify;

use crate::agent::{Adapter, AgentSettings, Pools, Redactor};
use crate::guardian::{Guardian, GuardianCommand};
use crate::process::{Notice as ProcessNotice, ProcessError, SpawnFailure, check_open_files_limit};
use briefing::Surroundings;
use pools::PoolKeeper;
use shorts::Shorts;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fs;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::mpsc as std_mpsc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use table::{TableKeeper, TableNews};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use wavecrew_core::engine::{
    Answer, Engine, Exit, Input, Landing, Ledger, Notice, Question, SpawnError, StopKind, WorkerId,
};
use wavecrew_core::event::{Ending, Event};
use wavecrew_core::time::Timestamp;
use wavecrew_store::{Attempts, StoreError, Syncer};
use worker::{Life, ProcessNews, Worker};

/// How often clocks, edits and words from outside are looked at.
const TICK: Duration = Duration::from_millis(100);

/// A process that is gone by then never has its pipes watched.
const YOUNG: Duration = Duration::from_millis(20);

/// Results that arrive within this time share a sync.
const BETWEEN_SYNCS: Duration = Duration::from_millis(20);

#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    #[error(transparent)]
    Store(#[from] StoreError),
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
    checked: UnboundedSender<(u64, crate::process::Exit)>,
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
    settled: Vec<(String, u32, wavecrew_store::Closed)>,
    process_news: UnboundedSender<ProcessNews>,
    answers: UnboundedSender<(u32, Answer)>,
    landings: UnboundedSender<(String, Landing)>,
    interrupts: u32,
    ending: Option<Ending>,
}

/// Wall-clock time that never goes back: the machine's clock may jump, a run's may not.
struct Clock {
    wall: u64,
    from: Instant,
}

impl Clock {
    fn start() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            wall: u64::try_from(wall.as_millis()).unwrap_or(u64::MAX),
            from: Instant::now(),
        }
    }

    fn now(&self) -> Timestamp {
        Timestamp(self.wall).plus(self.from.elapsed())
    }
}

/// Syncs the journal on a thread of its own: many results, one fsync.
struct Committer {
    wake: std_mpsc::Sender<()>,
}

impl Committer {
    fn start(syncer: Syncer, failed: UnboundedSender<TableNews>) -> Self {
        let (wake, woken) = std_mpsc::channel::<()>();
        std::thread::spawn(move || {
            while woken.recv().is_ok() {
                while woken.try_recv().is_ok() {}
                if let Err(error) = syncer.sync() {
                    let _ = failed.send(TableNews::Failed(error));
                    return;
                }
                std::thread::sleep(BETWEEN_SYNCS);
            }
        });
        Self { wake }
    }

    fn wake(&self) {
        // A thread that is gone has said why.
        let _ = self.wake.send(());
    }
}

impl<'a> Driver<'a> {
    /// Runs the session until it ends. Everything that was started is gone when this returns.
    pub fn run(
        session: OpenSession,
        engine: Engine,
        surface: Surface<'a>,
        guardian: GuardianCommand,
    ) -> Result<(Ending, Ledger), DriveError> {
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
    ) -> Result<(Ending, Ledger), DriveError> {
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

    async fn look_after(&mut self, mut channels: Channels) -> Result<Ending, DriveError> {
        let signal_error = |source| ProcessError::System {
            what: "watch for signals",
            source,
        };
        let mut interrupt = signal(SignalKind::interrupt()).map_err(signal_error)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(signal_error)?;
        let mut hangup = signal(SignalKind::hangup()).map_err(signal_error)?;
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut grows = tokio::time::interval(YOUNG);
        grows.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut recovered = self.session.take_recovered();
        for report in &mut recovered {
            report.body = self.redactor.text(&report.body);
        }
        // What others wait for is known before anything starts.
        self.look_at_pools();
        self.inputs.push_back(Input::Begin { recovered });
        loop {
            while let Some(input) = self.inputs.pop_front() {
                self.step(input)?;
            }
            if let Some(ending) = self.ending.take() {
                return Ok(ending);
            }
            tokio::select! {
                biased;
                Some(notice) = channels.notices.recv() => self.hear(notice)?,
                Some(news) = channels.news_of_processes.recv() => match news {
                    ProcessNews::TurnOver { key } => self.turn_over(key)?,
                    ProcessNews::Ended { key, exit } => self.process_ended(key, exit)?,
                },
                Some((key, exit)) = channels.checks_ended.recv() => self.check_ended(key, exit),
                Some((task, landing)) = channels.landed.recv() => {
                    self.inputs.push_back(Input::Landed { task, landing });
                }
                Some(news) = channels.news.recv() => self.table_news(news)?,
                Some((question, answer)) = channels.answered.recv() => {
                    self.inputs.push_back(Input::Answered { question, answer });
                }
                _ = interrupt.recv() => self.interrupted(),
                _ = terminate.recv() => self.inputs.push_back(Input::Stop(StopKind::Interrupt)),
                _ = hangup.recv() => self.inputs.push_back(Input::Stop(StopKind::Interrupt)),
                _ = ticks.tick() => self.tick()?,
                _ = grows.tick(), if !self.young.is_empty() => self.watch_the_grown(),
                () = std::future::ready(()), if self.session.journal.has_unwritten() => {
                    self.session.journal.flush()?;
                    self.committer.wake();
                }
            }
        }
    }

    /// Processes that are still there after a while have their pipes watched.
    fn watch_the_grown(&mut self) {
        while let Some((_, key)) = self.young.pop_front_if(|(since, _)| since.elapsed() >= YOUNG) {
            if let Some((_, life)) = self.processes.get(&key) {
                life.send_if_modified(|life| {
                    let grows = matches!(life, Life::Young);
                    if grows {
                        *life = Life::Watched;
                    }
                    grows
                });
            }
        }
    }

    /// Once: start nothing new. Again: end what runs.
    fn interrupted(&mut self) {
        self.interrupts += 1;
        let (input, note) = if self.interrupts == 1 {
            (
                Input::Drain,
                "Stopping: workers that run may finish. Press Ctrl-C again to end them.",
            )
        } else {
            (Input::Stop(StopKind::Interrupt), "Ending all workers.")
        };
        self.surface.reporter.notice(&Notice::Note(note.to_owned()));
        self.inputs.push_back(input);
    }

    fn step(&mut self, input: Input) -> Result<(), DriveError> {
        let actions = self.engine.step(self.clock.now(), input);
        self.perform(actions)
    }

    fn hear(&mut self, notice: ProcessNotice) -> Result<(), DriveError> {
        match notice {
            ProcessNotice::Spawned { key, process } => {
                if let Some((worker, _)) = self.processes.get(&key)
                    && let Some(state) = self.workers.get(worker)
                {
                    self.inputs.push_back(Input::Spawned {
                        worker: *worker,
                        process,
                        voice: state.output.voice(),
                    });
                }
            }
            ProcessNotice::SpawnFailed { key, error } => {
                if self.check_failed(key, &error.to_string()) {
                    return Ok(());
                }
                let Some((worker, _)) = self.processes.remove(&key) else {
                    return Ok(());
                };
                if let Some(state) = self.workers.get_mut(&worker) {
                    state.alive.retain(|alive| *alive != key);
                }
                let text = error.to_string();
                self.tape_not_started(worker, &text);
                let error = match error.reason {
                    SpawnFailure::TooManyFiles | SpawnFailure::Other(_) => SpawnError::Shortage(text),
                    SpawnFailure::NotFound
                    | SpawnFailure::NoWorkingFolder(_)
                    | SpawnFailure::NotPermitted
                    | SpawnFailure::NotAProgram
                    | SpawnFailure::TooLong => SpawnError::Permanent(text),
                };
                self.inputs.push_back(Input::SpawnFailed { worker, error });
                self.closed_if_gone(worker);
            }
            ProcessNotice::Exited { key, status, .. } => {
                if !self.check_exited(key, status)
                    && let Some((_, life)) = self.processes.get(&key)
                {
                    // Its pumps answer with `ProcessNews::Ended` once they have taken in the rest.
                    let _ = life.send(Life::Gone(status));
                }
            }
            ProcessNotice::GuardianLost => return Err(DriveError::GuardianLost),
        }
        Ok(())
    }

    /// Without its folder a run has nothing to write to, and its workers nowhere to report.
    fn look_for_the_session(&self) -> Result<(), DriveError> {
        if self.session.journal.is_in_place() {
            return Ok(());
        }
        let path = self.session.dir.path().to_owned();
        Err(StoreError::Gone { path }.into())
    }

    fn tick(&mut self) -> Result<(), DriveError> {
        self.look_for_the_session()?;
        self.look_for_reports()?;
        self.note_conversations();
        self.look_for_questions();
        self.look_at_usage();
        self.look_at_last_calls();
        self.look_at_checks();
        self.look_for_words();
        self.look_at_pools();
        self.shorts.flush();
        self.inputs.push_back(Input::Tick);
        let ledger = self.engine.ledger();
        self.table.tick(|| session::render(ledger));
        let running = if self.surface.reporter.wants_running() {
            self.running()
        } else {
            Vec::new()
        };
        self.surface.reporter.tick(&running, self.engine.ledger());
        Ok(())
    }

    fn running(&self) -> Vec<Running> {
        let show = |worker: &Worker| Running {
            task: worker.assignment.id.clone(),
            role: worker.assignment.role.clone(),
            attempt: worker.assignment.attempt,
            elapsed: worker.started.elapsed(),
            silent: worker.last_output.elapsed(),
            last_line: worker.output.last_line(),
        };
        self.workers.values().map(show).collect()
    }

    /// `wavecrew cancel` and its kin leave a word in a file.
    fn look_for_words(&mut self) {
        let path: PathBuf = self.session.dir.run_folder().join("control");
        let Ok(word) = fs::read_to_string(&path) else {
            return;
        };
        // Whoever wrote it waits for it to go.
        let _ = fs::remove_file(&path);
        match word.trim() {
            "cancel" => self.inputs.push_back(Input::Stop(StopKind::Cancel)),
            "pause" => self.inputs.push_back(Input::Pause),
            "resume" => self.inputs.push_back(Input::Resume),
            _ => {}
        }
    }

    fn table_news(&mut self, news: TableNews) -> Result<(), DriveError> {
        match news {
            TableNews::Failed(error) => Err(error.into()),
            TableNews::Unsettled => {
                self.table.mark_dirty();
                Ok(())
            }
            TableNews::Edit(bytes) => {
                self.table.mark_dirty();
                self.hand_edit(&bytes)
            }
        }
    }

    /// Journals what is to be recorded, then tells the reporter.
    fn record(&mut self, events: &mut Vec<Event>) -> Result<(), DriveError> {
        if events.is_empty() {
            return Ok(());
        }
        if events.iter().all(|event| matches!(event, Event::Spawned { .. })) {
            // Of use to who comes after a crash: it may wait for the next event of a busy run, but no longer.
            self.session.journal.append_later(events)?;
        } else {
            self.session.journal.append(events)?;
            self.committer.wake();
        }
        for event in events.drain(..) {
            if matches!(
                event,
                Event::Finished { .. }
                    | Event::Skipped { .. }
                    | Event::Reset { .. }
                    | Event::TreeRefused { .. }
                    | Event::Judged { .. }
                    | Event::Reworked { .. }
                    | Event::RolledBack { .. }
            ) {
                self.table.mark_dirty();
            }
            match event {
                Event::Judged { .. } => self.write_loop_state()?,
                Event::TreeMerged { .. } => self.any_merged = true,
                _ => {}
            }
            self.announce(&event);
            self.tape_event(&event);
            self.surface.reporter.event(&event, self.engine.ledger());
        }
        Ok(())
    }

    fn exit_of(exit: crate::process::Exit) -> Exit {
        match exit {
            crate::process::Exit::Code(code) => Exit::Code(code),
            crate::process::Exit::Signal(signal) => Exit::Signal(signal),
        }
    }
}

struct Channels {
    notices: UnboundedReceiver<ProcessNotice>,
    news_of_processes: UnboundedReceiver<ProcessNews>,
    answered: UnboundedReceiver<(u32, Answer)>,
    checks_ended: UnboundedReceiver<(u64, crate::process::Exit)>,
    landed: UnboundedReceiver<(String, Landing)>,
    news: UnboundedReceiver<TableNews>,
}
