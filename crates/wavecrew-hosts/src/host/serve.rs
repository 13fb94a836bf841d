//! The loop of a host: receives offers, assigns slots, and separates them by run.

use super::announce::{Status, announce};
use super::host_files::HostFiles;
use super::slot::Slot;
use super::slots::{Pending, Running};
use super::turn::{HostContext, ToTurn};
use super::{HostNews, HostSettings};
use crate::consume::consume;
use crate::link_watch::LinkWatch;
use crate::objects::{ObjectCache, ObjectStore};
use crate::setup::open_project;
use async_nats::jetstream::Message;
use async_nats::jetstream::consumer::AckPolicy;
use async_nats::jetstream::consumer::pull;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::sleep;
use wavecrew_agents::Redactor;
use wavecrew_process::LockAnyway;
use wavecrew_process::guardian::{Containment, Guardian, USER_NAMESPACE};
use wavecrew_process::{GuardianEvent, ProcessError, check_open_files_limit};
use wavecrew_remote::connect::{ConnectError, Connection, Link, connect};
use wavecrew_remote::names::{Names, token};
use wavecrew_remote::wire::{HostAnnouncement, Refusal, WIRE_VERSION};
use wavecrew_run::sandbox::{SandboxSettings, make_temp_folder, program_rules};
use wavecrew_session::random_name;

const TICK: Duration = Duration::from_millis(250);
/// How long a new host waits to detect another one with its name.
const SAME_NAME: Duration = Duration::from_secs(5);

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

pub(super) struct Host {
    pub settings: HostSettings,
    pub context: Arc<HostContext>,
    pub status: Arc<Status>,
    pub free: Vec<Arc<Slot>>,
    /// The slot of the last turn of an attempt: its agent may look for its conversation there.
    pub homes: HashMap<(String, String, u32), u32>,
    pub pending: VecDeque<Pending>,
    pub running: HashMap<String, Running>,
    pub over: VecDeque<String>,
    pub done: UnboundedSender<(String, String)>,
    pub news: UnboundedSender<HostNews>,
    pub stopping: bool,
}

/// Serves until it is asked to stop.
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
    let temp = temp_folder(&settings.state)?;
    let boot = random_name().map_err(|error| HostError::Store(error.to_string()))?[..12].to_owned();
    let context = Arc::new(HostContext {
        host: settings.name.clone(),
        boot: boot.clone(),
        names: names.clone(),
        jetstream: connection.jetstream.clone(),
        buckets: buckets.clone(),
        files: Arc::new(HostFiles::new(settings.state.clone(), cache, store)),
        guardian,
        support,
        program: settings.program.clone(),
        redactor: Redactor::new(std::env::vars_os()),
        temp: temp.path().to_owned(),
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
        runs: BTreeMap::new(),
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

/// The folder for the temporary folders of workers. It is removed with the host.
fn temp_folder(state: &Path) -> Result<TempDir, HostError> {
    make_temp_folder(&state.join("temp")).ok_or_else(|| HostError::State {
        path: std::env::temp_dir(),
        source: io::Error::other("no folder can be created there"),
    })
}

/// Two hosts with the same name would receive each other's work.
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
        let mut link = LinkWatch::default();
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
                    let news = link.observe(*connection.link.borrow()).map(|link| match link {
                        Link::Up => HostNews::LinkUp,
                        Link::Down => HostNews::LinkDown,
                    });
                    if let Some(news) = news {
                        let _ = self.news.send(news);
                    }
                }
            }
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
        let routes = self.context.routes.lock_anyway();
        if let Some(route) = routes.get(&key) {
            let _ = route.send(event);
        }
    }
}
