//! The loop of a host: takes offers, gives them slots, and keeps them apart by run.

use super::announce::{Status, announce};
use super::mirror::{HostFiles, Slot};
use super::turn::{HostContext, ToTurn, run};
use super::{HostNews, HostSettings};
use crate::consume::consume;
use crate::mail;
use crate::objects::{ObjectCache, ObjectStore};
use crate::setup::open_project;
use crate::task::Details;
use async_nats::jetstream::Message;
use async_nats::jetstream::consumer::AckPolicy;
use async_nats::jetstream::consumer::pull;
use bytes::Bytes;
use std::collections::{HashMap, VecDeque};
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::sleep;
use wavecrew_agents::Redactor;
use wavecrew_process::guardian::{Containment, Guardian, USER_NAMESPACE};
use wavecrew_process::{GuardianEvent, ProcessError, check_open_files_limit};
use wavecrew_remote::connect::{ConnectError, Connection, Link, connect};
use wavecrew_remote::names::{Names, token};
use wavecrew_remote::sign::NotTrusted;
use wavecrew_remote::wire::{
    AttemptToken, FromHost, HostAnnouncement, Refusal, ToHost, Turn as WireTurn, WIRE_VERSION, decode, encode,
};
use wavecrew_run::sandbox::{SandboxSettings, program_rules};
use wavecrew_session::random_name;

/// An offer waits for a slot this long before it goes back.
const PENDING: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_millis(250);
/// How long a new host watches whether another one with its name is there.
const SAME_NAME: Duration = Duration::from_secs(5);
/// Tokens of turns that are over; a message that comes once more is recognised.
const REMEMBERED: usize = 10_000;
/// How long the link may be down before the person hears of it.
const QUIET: Duration = Duration::from_secs(2);

#[derive(Debug, thiserror::Error)]
pub enum HostError {
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error("another host named `{0}` is connected")]
    NameTaken(String),
    #[error("another `wavecrew worker` uses {}", .0.display())]
    StateInUse(PathBuf),
    #[error("cannot use {}: {source}", path.display())]
    State { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Process(#[from] ProcessError),
    #[error("{0}")]
    Store(String),
    #[error("the guardian process was killed; all workers were ended with it")]
    GuardianLost,
}

impl HostError {
    /// What to do about it.
    pub fn help(&self) -> String {
        match self {
            Self::Connect(error) => error.help().to_owned(),
            Self::NameTaken(_) => "give this one another name with --name".to_owned(),
            Self::StateInUse(_) => "give this one another folder with --state, or another --name".to_owned(),
            Self::State { .. } => "check its permissions, or name another folder with --state".to_owned(),
            Self::Process(_) | Self::GuardianLost => {
                "start it again; `wavecrew doctor` checks the machine".to_owned()
            }
            Self::Store(_) => "check the server's log and its JetStream limits".to_owned(),
        }
    }
}

/// An offer without a slot.
struct Pending {
    wire: WireTurn,
    details: Details,
    since: Instant,
}

struct Running {
    run: String,
    task: String,
    slot: Arc<Slot>,
    orders: UnboundedSender<ToTurn>,
}

struct Host {
    settings: HostSettings,
    context: Arc<HostContext>,
    status: Arc<Status>,
    free: Vec<Arc<Slot>>,
    /// The slot of the last turn of an attempt: its agent may look for its conversation there.
    homes: HashMap<(String, String, u32), u32>,
    pending: VecDeque<Pending>,
    running: HashMap<String, Running>,
    over: VecDeque<String>,
    done: UnboundedSender<(String, String)>,
    news: UnboundedSender<HostNews>,
    stopping: bool,
}

/// Serves until it is told to stop.
pub async fn serve(settings: HostSettings, news: UnboundedSender<HostNews>) -> Result<(), HostError> {
    let state = settings.state.clone();
    let state_error = |source| HostError::State {
        path: state.clone(),
        source,
    };
    fs::create_dir_all(&settings.state).map_err(state_error)?;
    let lock = File::create(settings.state.join("lock")).map_err(state_error)?;
    if lock.try_lock().is_err() {
        return Err(HostError::StateInUse(settings.state));
    }
    check_open_files_limit().map_err(state_error)?;
    let connection = connect(
        &settings.connection,
        &format!("wavecrew worker {}", settings.name),
    )
    .await?;
    let names = Names::new(&settings.project);
    let buckets = open_project(&connection, &names).await?;
    refuse_second(&buckets.hosts, &settings.name).await?;
    let store = ObjectStore::open(&connection.jetstream, &names)
        .await
        .map_err(|error| HostError::Store(error.to_string()))?;
    let cache = ObjectCache::open(&settings.state.join("objects")).map_err(state_error)?;
    cache.remove_old();
    let sandbox = SandboxSettings::default();
    let support = sandbox.support();
    let mut command = settings.guardian.clone();
    let (name, rules) = program_rules(&sandbox).variable();
    command.env.push((name.into(), rules.into()));
    if support.needs_user_namespace() {
        command.args.push(USER_NAMESPACE.into());
    }
    let (guardian, guardian_events) = Guardian::start(command).await?;
    let contained = guardian.containment() != Containment::None;
    let boot = random_name().map_err(|error| HostError::Store(error.to_string()))?[..12].to_owned();
    let context = Arc::new(HostContext {
        host: settings.name.clone(),
        boot: boot.clone(),
        names: names.clone(),
        jetstream: connection.jetstream.clone(),
        buckets: buckets.clone(),
        files: Arc::new(HostFiles {
            state: settings.state.clone(),
            cache,
            store,
        }),
        guardian,
        support,
        program: settings.program.clone(),
        redactor: Redactor::new(std::env::vars_os()),
        next_key: AtomicU64::new(1),
        routes: Mutex::default(),
    });
    let status = Arc::new(Status::default());
    let announcement = HostAnnouncement {
        wire: WIRE_VERSION,
        host: settings.name.clone(),
        boot,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        slots: settings.slots,
        busy: 0,
        labels: settings.labels.clone(),
        agents: settings.agents.clone(),
        load: None,
        draining: false,
    };
    let announcing = tokio::spawn(announce(buckets.hosts.clone(), announcement, Arc::clone(&status)));
    let (done, done_in) = unbounded_channel();
    let mut host = Host {
        free: (1..=settings.slots)
            .rev()
            .map(|number| Arc::new(Slot::new(number)))
            .collect(),
        settings,
        context: Arc::clone(&context),
        status,
        homes: HashMap::new(),
        pending: VecDeque::new(),
        running: HashMap::new(),
        over: VecDeque::new(),
        done,
        news,
        stopping: false,
    };
    let _ = host.news.send(HostNews::Ready {
        containment: contained,
    });
    let served = host.serve(&connection, guardian_events, done_in).await;
    announcing.abort();
    let key = Names::host_key(&host.settings.name);
    let _ = tokio::time::timeout(Duration::from_secs(2), buckets.hosts.delete(key)).await;
    drop(host);
    if let Ok(context) = Arc::try_unwrap(context).map_err(drop) {
        context.guardian.shutdown().await;
    }
    served
}

/// Two hosts of one name would take each other's work.
async fn refuse_second(hosts: &async_nats::jetstream::kv::Store, name: &str) -> Result<(), HostError> {
    let key = Names::host_key(name);
    let revision = || async { hosts.entry(&key).await.ok().flatten().map(|entry| entry.revision) };
    let Some(entry) = hosts.entry(&key).await.ok().flatten() else {
        return Ok(());
    };
    if entry.operation != async_nats::jetstream::kv::Operation::Put {
        return Ok(());
    }
    let until = Instant::now() + SAME_NAME;
    while Instant::now() < until {
        if revision().await != Some(entry.revision) {
            return Err(HostError::NameTaken(name.to_owned()));
        }
        sleep(TICK).await;
    }
    Ok(())
}

impl Host {
    async fn serve(
        &mut self,
        connection: &Connection,
        mut guardian_events: UnboundedReceiver<GuardianEvent>,
        mut done: UnboundedReceiver<(String, String)>,
    ) -> Result<(), HostError> {
        let stop_error = |source| ProcessError::System {
            what: "watch for signals",
            source,
        };
        let mut interrupt = signal(SignalKind::interrupt()).map_err(stop_error)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(stop_error)?;
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut messages = self.messages(connection);
        let mut down: Option<(Instant, bool)> = None;
        loop {
            if self.stopping && self.running.is_empty() {
                return Ok(());
            }
            tokio::select! {
                Some(message) = messages.recv() => self.handle(message).await,
                Some(event) = guardian_events.recv() => {
                    if matches!(event, GuardianEvent::GuardianLost) {
                        return Err(HostError::GuardianLost);
                    }
                    self.route(event);
                }
                Some((token, how)) = done.recv() => self.ended(&token, how),
                _ = interrupt.recv() => self.stop(),
                _ = terminate.recv() => self.stop(),
                _ = ticks.tick() => {
                    self.refuse_old();
                    self.watch_link(*connection.link.borrow(), &mut down);
                }
            }
        }
    }

    fn watch_link(&self, link: Link, down: &mut Option<(Instant, bool)>) {
        match (link, &mut *down) {
            (Link::Up, Some((_, told))) => {
                if *told {
                    let _ = self.news.send(HostNews::LinkUp);
                }
                *down = None;
            }
            (Link::Down, None) => *down = Some((Instant::now(), false)),
            (Link::Down, Some((since, told))) if !*told && since.elapsed() > QUIET => {
                *told = true;
                let _ = self.news.send(HostNews::LinkDown);
            }
            (Link::Up, None) | (Link::Down, Some(_)) => {}
        }
    }

    fn messages(&self, connection: &Connection) -> UnboundedReceiver<Message> {
        let name = format!("host-{}", token(&self.settings.name));
        let config = pull::Config {
            durable_name: Some(name.clone()),
            filter_subject: self.context.names.work_of_host(&self.settings.name),
            ack_policy: AckPolicy::Explicit,
            max_ack_pending: 20_000,
            ..pull::Config::default()
        };
        let stream = self.context.names.work_stream();
        consume(connection.jetstream.clone(), stream, name, config)
    }

    /// The first time running turns may finish, the second time they are ended.
    fn stop(&mut self) {
        if self.stopping {
            for running in self.running.values() {
                let _ = running.orders.send(ToTurn::Close {
                    grace: Duration::ZERO,
                });
            }
            return;
        }
        self.stopping = true;
        self.status.draining.store(true, Ordering::Relaxed);
        self.status.changed.notify_one();
        for pending in std::mem::take(&mut self.pending) {
            self.refuse(&pending.wire, Refusal::Busy);
        }
        let _ = self.news.send(HostNews::Draining);
    }

    fn route(&self, event: GuardianEvent) {
        let key = match &event {
            GuardianEvent::Spawned { key, .. }
            | GuardianEvent::SpawnFailed { key, .. }
            | GuardianEvent::Exited { key, .. } => *key,
            GuardianEvent::GuardianLost => return,
        };
        let routes = self.context.routes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(route) = routes.get(&key) {
            let _ = route.send(event);
        }
    }

    async fn handle(&mut self, message: Message) {
        let payload = message.payload.clone();
        // Lost with this process, it is offered again: its lease has no holder.
        let _ = message.ack().await;
        let Ok((order, rest)) = decode::<ToHost>(&payload) else {
            return;
        };
        let bytes = payload.slice_ref(rest);
        if let Err(error) = self.check_signature(&message, &order) {
            return self.distrust(&order, &error);
        }
        match order {
            ToHost::Turn(wire) => self.offered(*wire),
            ToHost::Input { attempt, last, .. } => self.order(&attempt, ToTurn::Input { bytes, last }),
            ToHost::Reply {
                attempt,
                number,
                reply,
                ..
            } => self.order(&attempt, ToTurn::Reply { number, reply }),
            ToHost::Close { attempt, grace, .. } => {
                let pending = self
                    .pending
                    .iter()
                    .position(|pending| pending.wire.attempt == attempt);
                match pending.and_then(|at| self.pending.remove(at)) {
                    Some(pending) => self.refuse(&pending.wire, Refusal::Withdrawn),
                    None => self.order(&attempt, ToTurn::Close { grace }),
                }
            }
            ToHost::Acknowledge { .. } | ToHost::Unknown => {}
        }
    }

    /// The run that a message speaks for must have signed it.
    fn check_signature(&mut self, message: &Message, order: &ToHost) -> Result<(), NotTrusted> {
        let Some(attempt) = attempt_of(order) else {
            return Ok(());
        };
        self.settings.trust.check(
            (self.context.names.project(), &attempt.run),
            message.headers.as_ref(),
            &message.subject,
            &message.payload,
        )
    }

    /// Nothing of such a message is executed. Only the run of a person whom the host does not know gets an answer:
    /// anything else may be forged, and must not end somebody's turn.
    fn distrust(&self, order: &ToHost, error: &NotTrusted) {
        if let Some(attempt) = attempt_of(order) {
            let _ = self.news.send(HostNews::NotTrusted {
                run: attempt.run.clone(),
                reason: error.to_string(),
            });
        }
        if let (ToHost::Turn(wire), Some(key)) = (order, error.stranger())
            && !self.running.contains_key(&wire.attempt.token)
        {
            let key = key.to_owned();
            self.refuse(wire, Refusal::NotTrusted { key });
        }
    }

    fn order(&self, attempt: &AttemptToken, order: ToTurn) {
        if let Some(running) = self.running.get(&attempt.token) {
            let _ = running.orders.send(order);
        }
    }

    fn offered(&mut self, wire: WireTurn) {
        let token = &wire.attempt.token;
        if self.running.contains_key(token) || self.over.contains(token) {
            return;
        }
        if wire.host != self.settings.name || self.stopping {
            return self.refuse(&wire, Refusal::Busy);
        }
        let details = match serde_json::from_value::<Details>(wire.details.clone()) {
            Ok(details) if details.version == env!("CARGO_PKG_VERSION") => details,
            Ok(_) | Err(_) => {
                let refusal = Refusal::Version {
                    wire: WIRE_VERSION,
                    program: env!("CARGO_PKG_VERSION").to_owned(),
                };
                return self.refuse(&wire, refusal);
            }
        };
        self.pending.push_back(Pending {
            wire,
            details,
            since: Instant::now(),
        });
        self.start_pending();
    }

    /// Gives free slots to the runs that have the fewest.
    fn start_pending(&mut self) {
        while !self.free.is_empty() && !self.pending.is_empty() {
            let share = |pending: &Pending| {
                let run = &pending.wire.attempt.run;
                self.running
                    .values()
                    .filter(|running| running.run == *run)
                    .count()
            };
            let fewest = (0..self.pending.len()).min_by_key(|at| share(&self.pending[*at]));
            let Some(pending) = fewest.and_then(|at| self.pending.remove(at)) else {
                return;
            };
            self.start(pending);
        }
        let busy = u32::try_from(self.running.len()).unwrap_or(u32::MAX);
        if self.status.busy.swap(busy, Ordering::Relaxed) != busy {
            self.status.changed.notify_one();
        }
    }

    fn start(&mut self, pending: Pending) {
        let Pending { wire, details, .. } = pending;
        let attempt = wire.attempt.clone();
        let home = (attempt.run.clone(), attempt.task.clone(), attempt.attempt);
        let at = self
            .homes
            .get(&home)
            .and_then(|number| self.free.iter().position(|slot| slot.number == *number));
        let slot = match at {
            Some(at) => self.free.remove(at),
            None => match self.free.pop() {
                Some(slot) => slot,
                None => return,
            },
        };
        if self.homes.len() > REMEMBERED {
            self.homes.clear();
        }
        self.homes.insert(home, slot.number);
        let (orders, orders_in) = unbounded_channel();
        self.running.insert(
            attempt.token.clone(),
            Running {
                run: attempt.run.clone(),
                task: attempt.task.clone(),
                slot: Arc::clone(&slot),
                orders,
            },
        );
        let _ = self.news.send(HostNews::Started {
            task: attempt.task.clone(),
            run: attempt.run.clone(),
        });
        let (context, done) = (Arc::clone(&self.context), self.done.clone());
        tokio::spawn(async move {
            let how = run(context, slot, wire, details, orders_in).await;
            let _ = done.send((attempt.token, how));
        });
    }

    fn ended(&mut self, token: &str, how: String) {
        if let Some(running) = self.running.remove(token) {
            let _ = self.news.send(HostNews::Ended {
                task: running.task,
                run: running.run,
                how,
            });
            self.free.push(running.slot);
            self.over.push_back(token.to_owned());
            if self.over.len() > REMEMBERED {
                self.over.pop_front();
            }
        }
        self.start_pending();
    }

    /// Offers that found no slot go back: another host may have one.
    fn refuse_old(&mut self) {
        while let Some(pending) = self
            .pending
            .pop_front_if(|pending| pending.since.elapsed() > PENDING)
        {
            self.refuse(&pending.wire, Refusal::Busy);
        }
    }

    fn refuse(&self, wire: &WireTurn, reason: Refusal) {
        let subject =
            self.context
                .names
                .from_host(&self.context.host, &wire.attempt.run, &wire.attempt.token);
        let id = format!("{}-refused", wire.attempt.token);
        let message = FromHost::Refused {
            attempt: wire.attempt.clone(),
            turn: wire.turn,
            reason,
        };
        let (context, payload) = (self.context.jetstream.clone(), encode(&message, b""));
        tokio::spawn(async move {
            // The offer expires if this cannot be sent.
            let _ = tokio::time::timeout(
                Duration::from_secs(30),
                mail::send(&context, &subject, &id, Bytes::from(payload), None),
            )
            .await;
        });
    }
}

fn attempt_of(order: &ToHost) -> Option<&AttemptToken> {
    match order {
        ToHost::Turn(turn) => Some(&turn.attempt),
        ToHost::Input { attempt, .. }
        | ToHost::Close { attempt, .. }
        | ToHost::Reply { attempt, .. }
        | ToHost::Acknowledge { attempt } => Some(attempt),
        ToHost::Unknown => None,
    }
}
