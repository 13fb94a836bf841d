//! The thread of remote workers: one event at a time, like the driver's loop.

use super::journal_facts::JournalFacts;
use super::left_behind::AllLeftBehind;
use super::prepare::{PrepareError, RunFiles};
use super::results::{Remover, purge};
use super::turns::{Ended, Ready, Turn};
use super::unneeded::Needs;
use super::{Command, Directory, RunFacts};
use crate::lease_keys::Written;
use crate::link_watch::LinkWatch;
use crate::objects::{ObjectCache, ObjectStore};
use crate::setup::Buckets;
use async_nats::jetstream::stream::Stream;
use futures_util::StreamExt;
use std::collections::HashMap;
use std::sync::mpsc::Sender as Opened;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use wavecrew_process::LockAnyway;
use wavecrew_remote::connect::{Connection, Link};
use wavecrew_remote::lease::{CoordinatorLease, LeaseRecord, Moment};
use wavecrew_remote::names::Names;
use wavecrew_remote::sign::RunKey;
use wavecrew_run::place::PlaceEvent;
use wavecrew_run::worker_commands::RelayReply;

/// How often leases and waiting turns are checked.
const TICK: Duration = Duration::from_millis(200);
/// How long the end of the run waits until hosts have been informed.
const FAREWELL: Duration = Duration::from_secs(5);

/// What tasks of the thread share.
pub(super) struct Shared {
    pub store: ObjectStore,
    pub cache: ObjectCache,
    pub files: Arc<RunFiles>,
    pub news: UnboundedSender<News>,
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
    },
}

pub(super) struct Coordinator {
    pub facts: RunFacts,
    pub names: Names,
    pub run: String,
    /// Makes tokens of this process different from those of the one before.
    pub nonce: String,
    pub offers: u64,
    /// Signs messages to hosts.
    pub signing: Arc<RunKey>,
    pub connection: Connection,
    pub buckets: Buckets,
    pub shared: Arc<Shared>,
    pub hosts: Arc<Mutex<Directory>>,
    pub events: UnboundedSender<PlaceEvent>,
    pub turns: HashMap<u64, Turn>,
    /// Turns by the token of their offer.
    pub tokens: HashMap<String, u64>,
    /// Turns by the key of their lease.
    pub leases: HashMap<String, u64>,
    /// The host of each attempt: its conversation is there.
    pub homes: HashMap<(String, u32), String>,
    pub result_stream: Stream,
    pub remover: Remover,
    /// Messages of hosts, which are removed when the journal has the end of their attempt.
    pub needs: Needs,
    pub journal: JournalFacts,
    pub left_behind: AllLeftBehind,
    pub start: Instant,
    pub link: LinkWatch,
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
                Some(Ok(entry)) => {
                    coordinator.handle_host(&entry);
                    coordinator.place_waiting();
                }
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

impl Coordinator {
    pub(super) fn now(&self) -> Moment {
        self.start.elapsed()
    }

    pub(super) fn note(&self, text: String) {
        let _ = self.events.send(PlaceEvent::Note(text));
    }

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
            News::LeftBehind { key, token, found } => self.adopt(key, &token, found),
            News::Undeliverable { key, token, reason } => {
                if self.tokens.get(&token) == Some(&key) {
                    self.spawn_failed(key, reason, false);
                }
            }
        }
    }

    /// Messages about attempts that have an end in the journal can be removed from the stream.
    pub(super) fn follow_journal(&mut self) {
        let new = self.journal.catch_up();
        for attempt in new.over {
            self.needs.over(&attempt, self.start.elapsed());
        }
        let others_need = !self.left_behind.is_empty();
        for unneeded in self.needs.take_unneeded(self.start.elapsed(), others_need) {
            self.remover.remove(unneeded);
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
            let hosts = self.hosts.lock_anyway();
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
        let link = *self.connection.link.borrow();
        match self.link.observe(link) {
            None => {}
            Some(Link::Up) => self.note("NATS answers again".to_owned()),
            Some(Link::Down) => {
                let shown = self.facts.settings.connection.shown();
                self.note(format!(
                    "NATS at {shown} does not answer; the run waits; no result is lost"
                ));
            }
        }
    }

    /// Ends the remaining turns and waits a short time until hosts have been informed.
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
            // The run has ended normally, so nothing has to be found later.
            purge(&self.result_stream, &self.names.results_of_run(&self.run)).await;
        }
        let _ = tokio::time::timeout(FAREWELL, self.connection.client.flush()).await;
    }
}
