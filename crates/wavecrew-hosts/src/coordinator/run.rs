//! The thread of remote workers: one event at a time, like the driver's loop. It chooses hosts, follows leases and passes on
//! what hosts report.

use super::brought_here;
use super::journal_facts::JournalFacts;
use super::left_behind::AllLeftBehind;
use super::pipes::{Work, carry};
use super::prepare::{PrepareError, RunFiles};
use super::results::{Incoming, Remover, Results, purge};
use super::turns::{CommandLine, Ended, FILE_TRIES, Offer, Outgoing, Ready, Stage, Turn};
use super::{Command, Directory, RunFacts, lock};
use crate::lease_keys::{self, Written};
use crate::mail;
use crate::objects::{Content, ObjectCache, ObjectId, ObjectStore, StoreError};
use crate::path_map::PathMap;
use crate::setup::{Buckets, open_project};
use crate::task::{Details, SandboxFacts, StdinSource};
use async_nats::jetstream;
use async_nats::jetstream::kv::{Entry, Operation};
use async_nats::jetstream::stream::Stream;
use bytes::Bytes;
use futures_util::StreamExt;
use rustix::io::ioctl_fionbio;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::mpsc::Sender as Opened;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use wavecrew_core::event::ProcessId;
use wavecrew_process::{GuardianEvent, ProcessExit, Spawn, SpawnError, SpawnFailure};
use wavecrew_remote::connect::{Connection, Link, connect};
use wavecrew_remote::lease::{CoordinatorAction, CoordinatorLease, LeaseRecord, Moment, TurnResult};
use wavecrew_remote::names::Names;
use wavecrew_remote::sign::RunKey;
use wavecrew_remote::wire::{
    AttemptToken, Exit, FromHost, HostAnnouncement, Refusal, ToHost, Turn as WireTurn, decode, encode,
};
use wavecrew_run::place::{PlaceEvent, WorkerFacts};
use wavecrew_run::worker_commands::{Identity, RelayReply, RelayRequest, WorkerCommands};
use wavecrew_session::{SessionDir, random_name};

/// How often leases and waiting turns are looked at.
const TICK: Duration = Duration::from_millis(200);
/// Standard input up to this size travels in the message.
const INLINE: u64 = 64 << 10;
/// A turn that a host had no room for is not offered again at once.
const BUSY_PAUSE: Duration = Duration::from_millis(200);
/// How long the end of the run waits for hosts to hear of it.
const FAREWELL: Duration = Duration::from_secs(5);
/// The link may break for this long before the person hears of it.
const QUIET: Duration = Duration::from_secs(2);

/// What tasks of the thread share.
pub(super) struct Shared {
    pub store: ObjectStore,
    pub cache: ObjectCache,
    pub files: Arc<RunFiles>,
    news: UnboundedSender<News>,
}

impl Shared {
    pub fn news(&self) -> UnboundedSender<News> {
        self.news.clone()
    }

    pub fn ended(&self, key: u64, ended: Ended) {
        let _ = self.news.send(News::Ended { key, ended });
    }
}

/// What tasks report to the loop.
pub(super) enum News {
    Prepared {
        key: u64,
        ready: Result<Ready, PrepareError>,
    },
    Ended {
        key: u64,
        ended: Ended,
    },
    LeaseWritten {
        key: u64,
        token: String,
        expected: u64,
        written: Written,
    },
    LeaseRead {
        key: u64,
        token: String,
        found: Option<(u64, LeaseRecord)>,
    },
    Answered {
        key: u64,
        token: String,
        number: u64,
        reply: RelayReply,
    },
    Undeliverable {
        key: u64,
        token: String,
        reason: String,
    },
    /// The lease of a turn that an earlier coordinator left at a host.
    LeftBehind {
        key: u64,
        token: String,
        found: Option<(u64, LeaseRecord)>,
        stdin: Vec<u8>,
    },
}

pub(super) struct Coordinator {
    pub facts: RunFacts,
    pub names: Names,
    pub run: String,
    /// Makes tokens of this process different from those of the one before.
    nonce: String,
    offers: u64,
    /// Signs what goes to hosts.
    signing: Arc<RunKey>,
    pub connection: Connection,
    pub buckets: Buckets,
    pub shared: Arc<Shared>,
    pub hosts: Arc<Mutex<Directory>>,
    events: UnboundedSender<PlaceEvent>,
    pub turns: HashMap<u64, Turn>,
    /// Turns by the token of their offer.
    pub tokens: HashMap<String, u64>,
    /// The host of each attempt: its conversation is there.
    pub homes: HashMap<(String, u32), String>,
    pub result_stream: Stream,
    pub remover: Remover,
    /// What hosts sent about each attempt: removed once the journal has its end.
    pub subjects: HashMap<(String, u32), Vec<String>>,
    pub journal: JournalFacts,
    pub left_behind: AllLeftBehind,
    start: Instant,
    link: LinkState,
}

enum LinkState {
    Up,
    Down { since: Instant, told: bool },
}

pub(super) async fn run(
    facts: RunFacts,
    mut commands: UnboundedReceiver<Command>,
    hosts: Arc<Mutex<Directory>>,
    events: UnboundedSender<PlaceEvent>,
    opened: &Opened<Result<(), String>>,
) {
    let (news, mut news_in) = unbounded_channel();
    let (mut coordinator, mut sources) = match Box::pin(Coordinator::open(facts, hosts, events, news)).await {
        Ok(open) => open,
        Err(reason) => {
            let _ = opened.send(Err(reason));
            return;
        }
    };
    let _ = opened.send(Ok(()));
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            command = commands.recv() => match command {
                Some(Command::Spawn { key, spawn, facts }) => coordinator.spawn(key, spawn, *facts),
                Some(Command::Close { key, grace }) => coordinator.close(key, grace),
                Some(Command::Shutdown) => break,
                Some(Command::Abandon) | None => return,
            },
            Some(news) = news_in.recv() => coordinator.handle_news(news),
            Some(incoming) = sources.results.recv() => coordinator.handle_message(&incoming),
            entry = sources.hosts.next() => match entry {
                Some(Ok(entry)) => coordinator.handle_host(&entry),
                Some(Err(_)) => {}
                None => sources.hosts = coordinator.watch_hosts().await,
            },
            entry = sources.leases.next() => match entry {
                Some(Ok(entry)) => coordinator.handle_lease(&entry),
                Some(Err(_)) => {}
                None => sources.leases = coordinator.watch_leases().await,
            },
            _ = ticks.tick() => coordinator.tick(),
        }
    }
    coordinator.shutdown(&mut news_in).await;
}

type Entries = futures_util::stream::BoxStream<'static, Result<Entry, String>>;

struct Sources {
    results: UnboundedReceiver<Incoming>,
    hosts: Entries,
    leases: Entries,
}

impl Coordinator {
    async fn open(
        facts: RunFacts,
        hosts: Arc<Mutex<Directory>>,
        events: UnboundedSender<PlaceEvent>,
        news: UnboundedSender<News>,
    ) -> Result<(Self, Sources), String> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let session = SessionDir::at(&facts.session).map_err(|error| text(&error))?;
        let run = session.id().to_owned();
        let connection = connect(&facts.settings.connection, &format!("wavecrew run {run}"))
            .await
            .map_err(|error| format!("{error}; {}", error.help()))?;
        let names = Names::new(&facts.settings.project);
        let buckets = open_project(&connection, &names)
            .await
            .map_err(|error| format!("{error}; {}", error.help()))?;
        let store = ObjectStore::open(&connection.jetstream, &names)
            .await
            .map_err(|error| text(&error))?;
        let cache =
            ObjectCache::open(&session.cache_folder().join("objects")).map_err(|error| text(&error))?;
        let files = RunFiles::new(&facts.project, &session, facts.settings.include.clone());
        let shared = Arc::new(Shared {
            store,
            cache,
            files: Arc::new(files.map_err(|error| text(&error))?),
            news,
        });
        let filter = names.results_of_run(&run);
        let results = Results::open(&connection.jetstream, &names.result_stream(), filter).await;
        let mut results =
            results.ok_or_else(|| format!("the stream {} cannot be opened", names.result_stream()))?;
        let mut coordinator = Self {
            nonce: random_name().map_err(|error| text(&error))?[..12].to_owned(),
            offers: 0,
            signing: Arc::new(RunKey::new(&facts.settings.identity, names.project(), &run)),
            facts,
            names,
            run,
            connection,
            buckets,
            shared,
            hosts,
            events,
            turns: HashMap::new(),
            tokens: HashMap::new(),
            homes: HashMap::new(),
            remover: Remover::start(results.stream()),
            result_stream: results.stream(),
            subjects: HashMap::new(),
            journal: JournalFacts::new(session.journal_file()),
            left_behind: AllLeftBehind::default(),
            start: Instant::now(),
            link: LinkState::Up,
        };
        coordinator.learn_hosts().await;
        for note in brought_here::catch_up(&coordinator.shared).await {
            coordinator.note(note);
        }
        coordinator.find_left_behind(&mut results).await;
        let sources = Sources {
            hosts: coordinator.watch_hosts().await,
            leases: coordinator.watch_leases().await,
            results: results.follow(),
        };
        Ok((coordinator, sources))
    }

    pub(super) fn now(&self) -> Moment {
        self.start.elapsed()
    }

    pub(super) fn note(&self, text: String) {
        let _ = self.events.send(PlaceEvent::Note(text));
    }

    /// Hosts that are there already.
    async fn learn_hosts(&self) {
        let store = &self.buckets.hosts;
        let Ok(mut keys) = store.keys().await else { return };
        while let Some(Ok(key)) = keys.next().await {
            if let Ok(Some(entry)) = store.entry(key).await {
                self.handle_host(&entry);
            }
        }
    }

    async fn watch_hosts(&self) -> Entries {
        watch(&self.buckets.hosts, ">").await
    }

    async fn watch_leases(&self) -> Entries {
        watch(&self.buckets.leases, &Names::leases_of_run(&self.run)).await
    }

    // What the driver wants.

    fn spawn(&mut self, key: u64, spawn: Spawn, facts: WorkerFacts) {
        let Spawn {
            program,
            args,
            cwd,
            env_set,
            env_remove,
            stdin,
            stdout,
            stderr,
            confinement,
        } = spawn;
        let (pipe, queue) = unbounded_channel();
        let confined = confinement.is_some();
        tokio::spawn(carry(
            key,
            stdout,
            stderr,
            confinement,
            queue,
            Arc::clone(&self.shared),
        ));
        let mut turn = Turn {
            facts,
            command: CommandLine {
                program,
                args,
                cwd,
                env_set,
                env_remove,
            },
            confined,
            stage: Stage::Preparing,
            ready: None,
            pipe,
            input: None,
            closing: None,
            file_tries: 0,
            told: false,
            map: PathMap::default(),
            last_request: 0,
        };
        let stdin = match read_stdin(stdin) {
            Stdin::Known(content) => Some(content),
            Stdin::Pipe(fd) => {
                turn.input = Some(fd);
                None
            }
        };
        let prompt = turn.command.prompt_file();
        // A worker that is spoken to has nobody who knows what was said.
        let at_host = stdin.is_some().then(|| self.find_for(&turn.facts)).flatten();
        match at_host {
            Some(token) => self.ask_for(key, token, stdin.unwrap_or_default()),
            None => self.prepare(key, &turn.facts, prompt, stdin),
        }
        self.turns.insert(key, turn);
    }

    pub(super) fn prepare(
        &self,
        key: u64,
        facts: &WorkerFacts,
        prompt: Option<PathBuf>,
        stdin: Option<Vec<u8>>,
    ) {
        let (shared, facts) = (Arc::clone(&self.shared), facts.clone());
        tokio::spawn(async move {
            let prepared = shared.files.prepare(&facts, prompt, &shared.store).await;
            let ready = match prepared {
                Ok((roots, git)) => {
                    stdin_source(&shared.store, stdin)
                        .await
                        .map(|stdin| Ready { roots, git, stdin })
                }
                Err(error) => Err(error),
            };
            let _ = shared.news.send(News::Prepared { key, ready });
        });
    }

    fn close(&mut self, key: u64, grace: Duration) {
        let Some(turn) = self.turns.get_mut(&key) else {
            return;
        };
        turn.closing = Some(grace);
        match &turn.stage {
            Stage::Preparing | Stage::Ending(_) => {}
            Stage::Waiting { .. } => self.exited(key, ProcessExit::Signal(15), 0),
            Stage::Offered(offer) | Stage::Running(offer) => {
                let message = ToHost::Close {
                    attempt: offer.token.clone(),
                    turn: turn.facts.turn,
                    grace,
                };
                send(offer, "close", &message, b"");
                let host = offer.host.clone();
                if !lock(&self.hosts).is_alive(&host) {
                    // Nobody is there to end it; whatever comes later is refused.
                    self.take_back(key);
                }
            }
        }
    }

    // What happens to turns.

    fn handle_news(&mut self, news: News) {
        match news {
            News::Prepared { key, ready } => self.prepared(key, ready),
            News::Ended { key, ended } => self.ended(key, ended),
            News::LeaseWritten {
                key,
                token,
                expected,
                written,
            } => self.with_lease(key, &token, |lease, now| match written {
                Written::Done { .. } => lease.written(expected),
                Written::Conflict => lease.conflict(expected),
                Written::Unknown => lease.tick(now),
            }),
            News::LeaseRead { key, token, found } => {
                self.with_lease(key, &token, |lease, now| lease.seen(found, now));
            }
            News::Answered {
                key,
                token,
                number,
                reply,
            } => {
                if self.tokens.get(&token) == Some(&key) {
                    self.answered(key, number, &reply);
                }
            }
            News::LeftBehind {
                key,
                token,
                found,
                stdin,
            } => self.adopt(key, &token, found, stdin),
            News::Undeliverable { key, token, reason } => {
                if self.tokens.get(&token) == Some(&key) {
                    self.spawn_failed(key, reason, false);
                }
            }
        }
    }

    pub(super) fn answered(&self, key: u64, number: u64, reply: &RelayReply) {
        let Some(turn) = self.turns.get(&key) else { return };
        let Some(offer) = turn.offer() else { return };
        let message = ToHost::Reply {
            attempt: offer.token.clone(),
            turn: turn.facts.turn,
            number,
            reply: serde_json::to_value(reply).unwrap_or_default(),
        };
        send(offer, &format!("reply-{number}"), &message, b"");
    }

    fn prepared(&mut self, key: u64, ready: Result<Ready, PrepareError>) {
        let Some(turn) = self.turns.get_mut(&key) else {
            return;
        };
        if turn.closing.is_some() {
            return self.exited(key, ProcessExit::Signal(15), 0);
        }
        match ready {
            Ok(ready) => {
                turn.ready = Some(ready);
                turn.stage = Stage::Waiting {
                    since: Instant::now(),
                };
                self.place(key);
            }
            Err(error) => {
                let full = matches!(error, PrepareError::Store(StoreError::Full(_)));
                let temporary = !full && matches!(error, PrepareError::Store(_));
                self.spawn_failed(key, error.to_string(), temporary);
            }
        }
    }

    /// Offers a turn to a host, if one has room.
    fn place(&mut self, key: u64) {
        let Some(turn) = self.turns.get_mut(&key) else {
            return;
        };
        let attempt = (turn.facts.task.clone(), turn.facts.attempt);
        let home = self.homes.get(&attempt).cloned();
        let mut hosts = lock(&self.hosts);
        let home = home.filter(|host| hosts.is_alive(host));
        let Some(host) = hosts.choose(&turn.facts.wanted, home.as_deref()) else {
            if !turn.told && !hosts.fits_somewhere(&turn.facts.wanted) {
                turn.told = true;
                let reasons = hosts.reasons(&turn.facts.wanted);
                drop(hosts);
                let task = turn.facts.task.clone();
                self.note(format!("{task} waits: {reasons}"));
            }
            return;
        };
        hosts.assigned(&host);
        hosts.waiting = hosts.waiting.saturating_sub(1);
        let boot = hosts.boot(&host).unwrap_or_default().to_owned();
        drop(hosts);
        self.offers += 1;
        let token = AttemptToken {
            run: self.run.clone(),
            task: turn.facts.task.clone(),
            attempt: turn.facts.attempt,
            token: format!("{}-{}", self.nonce, self.offers),
        };
        self.homes.insert(attempt.clone(), host.clone());
        let subject = self.names.from_host(&host, &self.run, &token.token);
        self.subjects.entry(attempt).or_default().push(subject);
        let outbox = self.start_post(key, &token.token, &host);
        let Some(turn) = self.turns.get_mut(&key) else {
            return;
        };
        let now = self.start.elapsed();
        let lease = CoordinatorLease::offer(self.facts.settings.terms, 0, now);
        let offer = Offer {
            token,
            host,
            boot,
            lease,
            outbox,
        };
        let message = wire_turn(&self.facts, turn, &offer);
        send(&offer, "turn", &ToHost::Turn(Box::new(message)), b"");
        self.tokens.insert(offer.token.token.clone(), key);
        turn.stage = Stage::Offered(offer);
    }

    /// The task that sends messages of a turn to its host.
    pub(super) fn start_post(&self, key: u64, token: &str, host: &str) -> UnboundedSender<Outgoing> {
        let (outbox, queue) = unbounded_channel();
        tokio::spawn(post(
            self.connection.jetstream.clone(),
            Arc::clone(&self.signing),
            self.names.to_host(host, &self.run),
            key,
            token.to_owned(),
            queue,
            Arc::clone(&self.shared),
        ));
        outbox
    }

    /// Puts a turn back among those that wait for a host.
    fn put_back(&mut self, key: u64, pause: Duration) {
        self.forget_offer(key);
        if let Some(turn) = self.turns.get_mut(&key) {
            turn.stage = Stage::Waiting {
                since: Instant::now() + pause,
            };
            lock(&self.hosts).waiting += 1;
        }
    }

    fn forget_offer(&mut self, key: u64) {
        if let Some(offer) = self.turns.get(&key).and_then(Turn::offer) {
            lock(&self.hosts).released(&offer.host);
            self.tokens.remove(&offer.token.token);
        } else {
            let mut hosts = lock(&self.hosts);
            hosts.waiting = hosts.waiting.saturating_sub(1);
        }
    }

    /// A turn is over: forgets it, and lets the next one have its slot.
    fn over(&mut self, key: u64) {
        self.forget_offer(key);
        self.turns.remove(&key);
        self.place_waiting();
    }

    fn place_waiting(&mut self) {
        let now = Instant::now();
        let mut waiting: Vec<u64> = self
            .turns
            .iter()
            .filter(|(_, turn)| matches!(turn.stage, Stage::Waiting { since } if since <= now))
            .map(|(key, _)| *key)
            .collect();
        waiting.sort_unstable();
        for key in waiting {
            self.place(key);
        }
    }

    fn exited(&mut self, key: u64, status: ProcessExit, leftovers: u32) {
        self.over(key);
        let _ = self.events.send(PlaceEvent::Process(GuardianEvent::Exited {
            key,
            status,
            killed_leftovers: leftovers,
        }));
    }

    fn spawn_failed(&mut self, key: u64, reason: String, temporary: bool) {
        let program = self
            .turns
            .get(&key)
            .map(|turn| turn.command.program.to_string_lossy().into_owned());
        self.over(key);
        let error = SpawnError {
            program: program.unwrap_or_default(),
            reason: SpawnFailure::Elsewhere { reason, temporary },
        };
        let _ = self
            .events
            .send(PlaceEvent::Process(GuardianEvent::SpawnFailed { key, error }));
    }

    fn lost(&mut self, key: u64, reason: String) {
        if let Some(turn) = self.turns.get(&key) {
            // Its conversation is lost with it.
            self.homes.remove(&(turn.facts.task.clone(), turn.facts.attempt));
        }
        self.over(key);
        let _ = self.events.send(PlaceEvent::Lost { key, reason });
    }

    fn ended(&mut self, key: u64, ended: Ended) {
        match ended {
            Ended::Exited {
                exit,
                leftovers,
                notes,
            } => {
                for note in notes {
                    self.note(note);
                }
                if let Some(turn) = self.turns.get_mut(&key)
                    && let Some(offer) = turn.offer_mut()
                {
                    let token = offer.token.clone();
                    send(offer, "over", &ToHost::Acknowledge { attempt: token }, b"");
                }
                self.exited(key, exit, leftovers);
            }
            Ended::FilesLost(reason) => self.lost(key, reason),
        }
    }

    // Leases.

    fn with_lease(
        &mut self,
        key: u64,
        token: &str,
        change: impl FnOnce(&mut CoordinatorLease, Moment) -> Vec<CoordinatorAction>,
    ) {
        let now = self.now();
        let Some(offer) = self.turns.get_mut(&key).and_then(Turn::offer_mut) else {
            return;
        };
        if offer.token.token == token {
            let actions = change(&mut offer.lease, now);
            self.follow(key, actions);
        }
    }

    fn take_back(&mut self, key: u64) {
        let now = self.now();
        if let Some(offer) = self.turns.get_mut(&key).and_then(Turn::offer_mut) {
            let actions = offer.lease.take_back(now);
            self.follow(key, actions);
        }
    }

    pub(super) fn follow(&mut self, key: u64, actions: Vec<CoordinatorAction>) {
        for action in actions {
            let Some(offer) = self.turns.get(&key).and_then(Turn::offer) else {
                return;
            };
            let lease_key = Names::lease_key(&offer.host, &self.run, &offer.token.key());
            let (store, news) = (self.buckets.leases.clone(), self.shared.news.clone());
            let token = offer.token.token.clone();
            match action {
                CoordinatorAction::Write { expected, record } => {
                    tokio::spawn(async move {
                        let written = lease_keys::write(&store, &lease_key, expected, &record).await;
                        let _ = news.send(News::LeaseWritten {
                            key,
                            token,
                            expected,
                            written,
                        });
                    });
                }
                CoordinatorAction::Read => {
                    tokio::spawn(async move {
                        if let Ok(found) = lease_keys::read(&store, &lease_key).await {
                            let _ = news.send(News::LeaseRead { key, token, found });
                        }
                    });
                }
                CoordinatorAction::Interrupted => {
                    let reason = format!("its host {} was lost", offer.host);
                    self.lost(key, reason);
                }
                CoordinatorAction::Over => {}
            }
        }
    }

    fn handle_lease(&mut self, entry: &Entry) {
        let record = match entry.operation {
            Operation::Put => lease_keys::record(&entry.value),
            Operation::Delete | Operation::Purge => return,
        };
        let found = self.turns.iter().find_map(|(key, turn)| {
            let offer = turn.offer()?;
            let lease_key = Names::lease_key(&offer.host, &self.run, &offer.token.key());
            (lease_key == entry.key).then(|| (*key, offer.token.token.clone()))
        });
        if let Some((key, token)) = found {
            let revision = entry.revision;
            self.with_lease(key, &token, |lease, now| {
                lease.seen(Some((revision, record)), now)
            });
        }
    }

    // Hosts.

    fn handle_host(&self, entry: &Entry) {
        let mut hosts = lock(&self.hosts);
        match entry.operation {
            Operation::Put => {
                if let Ok(announced) = serde_json::from_slice::<HostAnnouncement>(&entry.value) {
                    hosts.announced(announced);
                }
            }
            Operation::Delete | Operation::Purge => hosts.gone(&entry.key),
        }
    }

    /// What the journal has the end of need not stay in the stream.
    pub(super) fn follow_journal(&mut self) {
        let new = self.journal.catch_up();
        for attempt in new.over {
            for subject in self.subjects.remove(&attempt).unwrap_or_default() {
                self.remover.subject(subject);
            }
        }
        for task in new.local {
            self.give_up(&task);
        }
    }

    fn tick(&mut self) {
        self.watch_link();
        self.follow_journal();
        let (now, mut due, mut restarted) = (self.now(), Vec::new(), Vec::new());
        {
            let hosts = lock(&self.hosts);
            for (key, turn) in &self.turns {
                let Some(offer) = turn.offer() else { continue };
                if offer.lease.next_tick().is_some_and(|at| at <= now) {
                    due.push((*key, offer.token.token.clone()));
                }
                if hosts.boot(&offer.host).is_some_and(|boot| boot != offer.boot) {
                    restarted.push(*key);
                }
            }
        }
        for (key, token) in due {
            self.with_lease(key, &token, CoordinatorLease::tick);
        }
        // Another start of a host does not know the turns of the one before.
        for key in restarted {
            self.take_back(key);
        }
        self.place_waiting();
    }

    fn watch_link(&mut self) {
        let is_up = *self.connection.link.borrow() == Link::Up;
        match &mut self.link {
            LinkState::Up if !is_up => {
                self.link = LinkState::Down {
                    since: Instant::now(),
                    told: false,
                };
            }
            LinkState::Down { told, .. } if is_up => {
                let told = *told;
                self.link = LinkState::Up;
                if told {
                    self.note("NATS answers again".to_owned());
                }
            }
            LinkState::Down { since, told } if !*told && since.elapsed() > QUIET => {
                *told = true;
                let shown = self.facts.settings.connection.shown();
                self.note(format!(
                    "NATS at {shown} does not answer; the run waits; no result is lost"
                ));
            }
            LinkState::Up | LinkState::Down { .. } => {}
        }
    }

    // What hosts report.

    fn handle_message(&mut self, incoming: &Incoming) {
        let Some((from, bytes)) = read_message(&incoming.message.payload) else {
            return;
        };
        if attempt_of(&from).is_some_and(|attempt| self.tokens.contains_key(&attempt.token)) {
            self.handle_report(from, bytes, incoming.sequence);
        } else {
            self.handle_foreign(from, bytes, incoming.sequence);
        }
    }

    pub(super) fn handle_report(&mut self, from: FromHost, bytes: Bytes, sequence: u64) {
        let Some(attempt) = attempt_of(&from) else { return };
        // Of an attempt that is over: refused.
        let Some(key) = self.tokens.get(&attempt.token).copied() else {
            return;
        };
        let Some(turn) = self.turns.get_mut(&key) else {
            return;
        };
        match from {
            FromHost::Accepted { .. } | FromHost::Unknown => {}
            FromHost::Refused { reason, .. } => self.refused(key, &reason),
            FromHost::Spawned { pid, start_time, .. } => self.spawned(key, pid, start_time),
            FromHost::SpawnFailed { errno, reason, .. } => self.spawn_failed(key, reason, errno != 0),
            FromHost::Output { stream, offset, .. } => {
                let _ = turn.pipe.send(Work::Output {
                    stream,
                    offset,
                    bytes,
                });
            }
            FromHost::Request { number, request, .. } => {
                if number > turn.last_request {
                    turn.last_request = number;
                    self.request(key, number, request, sequence);
                }
            }
            FromHost::Exited {
                exit,
                killed_leftovers,
                files,
                ..
            } => {
                let number = turn.facts.turn;
                let Some(offer) = turn.offer_mut() else { return };
                if offer.lease.result(number) != TurnResult::Accept {
                    return;
                }
                let exit = match exit {
                    Exit::Code(code) => ProcessExit::Code(code),
                    Exit::Signal(signal) => ProcessExit::Signal(signal),
                };
                let host = offer.host.clone();
                let roots = turn.ready.as_ref().map(|ready| ready.roots.clone());
                let _ = turn.pipe.send(Work::Exited {
                    exit,
                    leftovers: killed_leftovers,
                    files: files.and_then(|id| ObjectId::try_from(id).ok()),
                    roots: roots.unwrap_or_default(),
                    host,
                });
                let stage = std::mem::replace(&mut turn.stage, Stage::Preparing);
                turn.stage = match stage {
                    Stage::Offered(offer) | Stage::Running(offer) | Stage::Ending(offer) => {
                        Stage::Ending(offer)
                    }
                    other @ (Stage::Preparing | Stage::Waiting { .. }) => other,
                };
                // The key of the lease says that it is over; nobody has to renew it.
                let now = self.now();
                if let Some(offer) = self.turns.get_mut(&key).and_then(Turn::offer_mut) {
                    let actions = offer.lease.finish(now);
                    self.follow(key, actions);
                }
            }
            FromHost::Lost { .. } => self.take_back(key),
        }
    }

    fn refused(&mut self, key: u64, reason: &Refusal) {
        let Some(turn) = self.turns.get_mut(&key) else {
            return;
        };
        let Some(host) = turn.offer().map(|offer| offer.host.clone()) else {
            return;
        };
        if turn.closing.is_some() {
            return self.exited(key, ProcessExit::Signal(15), 0);
        }
        match reason {
            Refusal::Busy | Refusal::Withdrawn => {
                lock(&self.hosts).refused(&host);
                self.homes.retain(|_, home| *home != host);
                self.put_back(key, BUSY_PAUSE);
            }
            Refusal::Files { reason } => {
                turn.file_tries += 1;
                if turn.file_tries >= FILE_TRIES {
                    let reason = format!("host {host} could not get its files: {reason}");
                    return self.spawn_failed(key, reason, true);
                }
                // What the store seemed to have is gone.
                self.shared.store.forget_known();
                let (facts, stdin) = (turn.facts.clone(), turn.ready.take().map(|ready| ready.stdin));
                let prompt = turn.command.prompt_file();
                self.put_back(key, Duration::ZERO);
                if let Some(turn) = self.turns.get_mut(&key) {
                    turn.stage = Stage::Preparing;
                }
                let stdin = match stdin {
                    Some(StdinSource::Text { text }) => Some(text.into_bytes()),
                    Some(StdinSource::Object { .. } | StdinSource::Messages) | None => None,
                };
                self.prepare(key, &facts, prompt, stdin);
            }
            Refusal::Version { program, .. } => {
                let reason = format!(
                    "host {host} runs wavecrew {program}; this run uses {}",
                    env!("CARGO_PKG_VERSION")
                );
                self.spawn_failed(key, reason, false);
            }
            Refusal::NoAgent { agent } => {
                self.spawn_failed(key, format!("host {host} has no {agent}"), false);
            }
            Refusal::NotTrusted { key: signer } => {
                let reason = format!(
                    "host {host} does not trust this run; on that host, run `wavecrew worker --trust {signer}`"
                );
                self.spawn_failed(key, reason, false);
            }
            Refusal::Other => {
                let reason =
                    format!("host {host} refuses the task for a reason that this version does not know");
                self.spawn_failed(key, reason, false);
            }
        }
    }

    fn spawned(&mut self, key: u64, pid: i32, start_time: u64) {
        let Some(turn) = self.turns.get_mut(&key) else {
            return;
        };
        let stage = std::mem::replace(&mut turn.stage, Stage::Preparing);
        turn.stage = match stage {
            Stage::Offered(offer) => Stage::Running(offer),
            other @ (Stage::Preparing | Stage::Waiting { .. } | Stage::Running(_) | Stage::Ending(_)) => {
                other
            }
        };
        let Stage::Running(offer) = &turn.stage else {
            return;
        };
        if let Some(fd) = turn.input.take() {
            let (outbox, token, number) = (offer.outbox.clone(), offer.token.clone(), turn.facts.turn);
            tokio::spawn(feed(fd, outbox, token, number));
        }
        let process = ProcessId {
            pid,
            start_time,
            boot_id: String::new(),
            host: Some(offer.host.clone()),
        };
        let _ = self
            .events
            .send(PlaceEvent::Process(GuardianEvent::Spawned { key, process }));
    }

    /// A command of the worker: carried out here, where its token is compared.
    fn request(&self, key: u64, number: u64, request: serde_json::Value, sequence: u64) {
        let Some(turn) = self.turns.get(&key) else { return };
        let Some(offer) = turn.offer() else { return };
        let (token, news) = (offer.token.token.clone(), self.shared.news.clone());
        let (env, request, remover) = (
            turn.command.env_set.clone(),
            turn.map_json(request),
            self.remover.clone(),
        );
        tokio::task::spawn_blocking(move || {
            let is_report = is_report(&request);
            let reply = carry_out(&env, request, Waiting::ForPerson);
            if !is_report {
                // Whoever continues the run must not do it twice. A report it must find.
                remover.message(sequence);
            }
            let _ = news.send(News::Answered {
                key,
                token,
                number,
                reply,
            });
        });
    }

    /// Ends what is left and waits until hosts have heard of it, but not for long.
    async fn shutdown(&mut self, news: &mut UnboundedReceiver<News>) {
        let keys: Vec<u64> = self.turns.keys().copied().collect();
        for key in keys {
            self.close(key, Duration::ZERO);
            self.take_back(key);
        }
        let until = tokio::time::Instant::now() + FAREWELL;
        while self.turns.values().any(|turn| turn.offer().is_some()) {
            match tokio::time::timeout_at(until, news.recv()).await {
                Ok(Some(news)) => self.handle_news(news),
                Ok(None) | Err(_) => break,
            }
        }
        if !self.turns.values().any(|turn| turn.offer().is_some()) {
            // The run has ended in order: nobody has to find anything.
            purge(&self.result_stream, &self.names.results_of_run(&self.run)).await;
        }
        let _ = tokio::time::timeout(FAREWELL, self.connection.client.flush()).await;
    }
}

/// Whether a command may wait for a person.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Waiting {
    ForPerson,
    No,
}

fn is_report(request: &serde_json::Value) -> bool {
    matches!(
        serde_json::from_value::<RelayRequest>(request.clone()),
        Ok(RelayRequest::Report { .. })
    )
}

/// Carries out a command of a worker with this environment.
pub(super) fn carry_out(
    env: &[(OsString, OsString)],
    request: serde_json::Value,
    waiting: Waiting,
) -> RelayReply {
    let variable = |name: &str| {
        let found = env.iter().find(|(known, _)| known == OsStr::new(name))?;
        found.1.to_str().map(str::to_owned)
    };
    let reply = serde_json::from_value::<RelayRequest>(request)
        .map_err(|error| error.to_string())
        .and_then(|request| {
            if waiting == Waiting::No && matches!(request, RelayRequest::Ask { .. }) {
                return Err("the run was continued by another process; ask again".to_owned());
            }
            let who = Identity::from_variables(variable).map_err(|error| error.to_string())?;
            let commands = WorkerCommands::open(who).map_err(|error| error.to_string())?;
            Ok(commands.answer(request))
        });
    reply.unwrap_or_else(|message| RelayReply::Refused {
        message,
        help: String::new(),
    })
}

pub(super) fn read_message(payload: &Bytes) -> Option<(FromHost, Bytes)> {
    let (from, rest) = decode::<FromHost>(payload).ok()?;
    let bytes = payload.slice_ref(rest);
    Some((from, bytes))
}

pub(super) fn attempt_of(from: &FromHost) -> Option<&AttemptToken> {
    match from {
        FromHost::Accepted { attempt, .. }
        | FromHost::Refused { attempt, .. }
        | FromHost::Spawned { attempt, .. }
        | FromHost::SpawnFailed { attempt, .. }
        | FromHost::Output { attempt, .. }
        | FromHost::Request { attempt, .. }
        | FromHost::Exited { attempt, .. }
        | FromHost::Lost { attempt } => Some(attempt),
        FromHost::Unknown => None,
    }
}

fn wire_turn(facts: &RunFacts, turn: &Turn, offer: &Offer) -> WireTurn {
    let ready = turn.ready.clone();
    let stdin = ready
        .as_ref()
        .map_or(StdinSource::Messages, |ready| ready.stdin.clone());
    let text = |text: &OsStr| text.to_string_lossy().into_owned();
    let mut env_set: Vec<(String, String)> = turn
        .command
        .env_set
        .iter()
        .map(|(name, value)| (text(name), text(value)))
        .collect();
    for name in &facts.settings.env {
        if let Ok(value) = std::env::var(name) {
            env_set.push((name.clone(), value));
        }
    }
    let details = Details {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        facts: turn.facts.clone(),
        project: facts.project.clone(),
        session: facts.session.clone(),
        program: facts.settings.program.clone(),
        cwd: turn.command.cwd.clone(),
        roots: ready
            .as_ref()
            .map(|ready| ready.roots.clone())
            .unwrap_or_default(),
        stdin,
        git: ready.and_then(|ready| ready.git),
        sandbox: SandboxFacts::of(&facts.sandbox, &turn.facts.role),
        confined: turn.confined,
    };
    WireTurn {
        attempt: offer.token.clone(),
        turn: turn.facts.turn,
        host: offer.host.clone(),
        lease: facts.settings.terms.lease,
        program: text(&turn.command.program),
        args: turn.command.args.iter().map(|arg| text(arg)).collect(),
        folder: String::new(),
        env_set,
        env_remove: turn.command.env_remove.iter().map(|name| text(name)).collect(),
        files: None,
        bring_back: Vec::new(),
        details: serde_json::to_value(&details).expect("plain data"),
    }
}

fn send(offer: &Offer, what: &str, message: &ToHost, bytes: &[u8]) {
    // The task ends only with the turn.
    let _ = offer.outbox.send(Outgoing {
        id: format!("{}-{what}", offer.token.token),
        payload: encode(message, bytes),
    });
}

/// Sends the messages of one turn to its host, in order.
async fn post(
    context: jetstream::Context,
    signing: Arc<RunKey>,
    subject: String,
    key: u64,
    token: String,
    mut queue: UnboundedReceiver<Outgoing>,
    shared: Arc<Shared>,
) {
    while let Some(Outgoing { id, payload }) = queue.recv().await {
        if let Err(error) = mail::send(&context, &subject, &id, payload.into(), Some(&signing)).await {
            let _ = shared.news.send(News::Undeliverable {
                key,
                token: token.clone(),
                reason: error.to_string(),
            });
        }
    }
}

/// Sends what the driver writes to an interactive worker.
async fn feed(fd: OwnedFd, outbox: UnboundedSender<Outgoing>, attempt: AttemptToken, turn: u32) {
    let reader = ioctl_fionbio(&fd, true)
        .map_err(std::io::Error::from)
        .and_then(|()| Receiver::from_owned_fd_unchecked(fd));
    let Ok(mut reader) = reader else { return };
    let mut buffer = vec![0; 64 << 10];
    let mut offset = 0;
    loop {
        let read = reader.read(&mut buffer).await.unwrap_or(0);
        let message = ToHost::Input {
            attempt: attempt.clone(),
            turn,
            offset,
            last: read == 0,
        };
        let id = format!("{}-input-{offset}-{}", attempt.token, read == 0);
        let payload = encode(&message, &buffer[..read]);
        if outbox.send(Outgoing { id, payload }).is_err() || read == 0 {
            return;
        }
        offset += read as u64;
    }
}

enum Stdin {
    Known(Vec<u8>),
    Pipe(OwnedFd),
}

/// A file is read at once; a pipe is read while the worker runs.
fn read_stdin(fd: OwnedFd) -> Stdin {
    let file = File::from(fd);
    match file.metadata() {
        Ok(found) if found.is_file() => {
            let mut bytes = Vec::new();
            let _ = (&file).read_to_end(&mut bytes);
            Stdin::Known(bytes)
        }
        // `/dev/null` and other devices have nothing to say.
        Ok(found) if !std::os::unix::fs::FileTypeExt::is_fifo(&found.file_type()) => Stdin::Known(Vec::new()),
        Ok(_) | Err(_) => Stdin::Pipe(file.into()),
    }
}

async fn stdin_source(store: &ObjectStore, stdin: Option<Vec<u8>>) -> Result<StdinSource, PrepareError> {
    let Some(bytes) = stdin else {
        return Ok(StdinSource::Messages);
    };
    match String::from_utf8(bytes) {
        Ok(text) if text.len() as u64 <= INLINE => Ok(StdinSource::Text { text }),
        Ok(text) => put_stdin(store, text.into_bytes()).await,
        Err(error) => put_stdin(store, error.into_bytes()).await,
    }
}

async fn put_stdin(store: &ObjectStore, bytes: Vec<u8>) -> Result<StdinSource, PrepareError> {
    let id = ObjectId::of_bytes(&bytes);
    store.put(vec![(id.clone(), Content::Bytes(bytes))]).await?;
    Ok(StdinSource::Object { id })
}

/// What changes in a bucket from now on.
async fn watch(store: &jetstream::kv::Store, keys: &str) -> Entries {
    loop {
        match store.watch(keys).await {
            Ok(watch) => {
                return watch
                    .map(|entry| entry.map_err(|error| error.to_string()))
                    .boxed();
            }
            Err(_) => tokio::time::sleep(Duration::from_secs(1)).await,
        }
    }
}
