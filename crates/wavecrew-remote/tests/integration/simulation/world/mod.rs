//! The world: the network, the store, the streams, the faults, and the rules that must hold.

mod coordinators;
mod faults;
mod hosts;
mod network;
mod rules;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

use super::coordinator::{Coordinator, Entry};
use super::host::{Host, Process, Token};
use super::seen::{Happened, Seen};
use wavecrew_remote::lease::{
    CoordinatorAction, CoordinatorLease, HostAction, HostLease, LeaseRecord, Terms, TurnResult,
};
use wavecrew_test_support::simulation::Rng;

/// Milliseconds of true time in which faults happen. Afterwards the world is calm, and everything must come to its end.
const FAULTS_UNTIL: u64 = 300_000;
/// A run that takes more steps hangs.
const STEPS: usize = 200_000;
/// Clocks run at most this much too fast or too slow, in thousandths.
const DRIFT: usize = 40;
const HOUR: usize = 3_600_000;

/// Who sends and receives: one start of a host, or one start of a coordinator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Actor {
    Host { host: usize, boot: u32 },
    Coordinator(usize),
}

#[derive(Debug, Clone)]
pub enum Request {
    Read,
    Write { expected: u64, record: LeaseRecord },
}

#[derive(Debug, Clone)]
pub enum Answer {
    Found(Option<(u64, LeaseRecord)>),
    Written {
        expected: u64,
        record: LeaseRecord,
        revision: u64,
    },
    Conflict {
        expected: u64,
        record: LeaseRecord,
    },
}

#[derive(Debug, Clone)]
pub enum Event {
    /// A request reaches the store.
    Request(Actor, Token, Request),
    Answer(Actor, Token, Answer),
    /// The store notifies a coordinator about a change.
    Watched(usize, Token, u64, LeaseRecord),
    /// The stream of work delivers: a turn, or an acknowledgement.
    Turn {
        host: usize,
        token: Token,
        turn: u32,
    },
    Acknowledge {
        host: usize,
        token: Token,
    },
    /// A host publishes a result; the stream delivers it.
    Publish {
        host: usize,
        boot: u32,
        token: Token,
        turn: u32,
    },
    Published {
        host: usize,
        boot: u32,
        token: Token,
        turn: u32,
    },
    Result {
        token: Token,
        turn: u32,
    },
    HostTick {
        host: usize,
        boot: u32,
        token: Token,
    },
    CoordinatorTick {
        number: usize,
        token: Token,
    },
    Exit {
        host: usize,
        boot: u32,
        token: Token,
        turn: u32,
    },
    Ended {
        host: usize,
        boot: u32,
        token: Token,
    },
    Fault,
    HostUp(usize),
    HostResumed {
        host: usize,
        boot: u32,
        counts: bool,
    },
    HostJoined(usize),
    CoordinatorUp,
    CoordinatorResumed(usize),
    CoordinatorJoined(usize),
}

pub struct World {
    rng: Rng,
    now: u64,
    order: u64,
    queue: BinaryHeap<Reverse<(u64, u64)>>,
    events: BTreeMap<u64, Event>,
    terms: Terms,
    tasks: usize,
    turns: Vec<u32>,
    /// Task and host of each token.
    tokens: Vec<(usize, usize)>,
    hosts: Vec<Host>,
    /// All that were ever started; the dead ones are `None`. The last one is the one in charge.
    coordinators: Vec<Option<Coordinator>>,
    journal: Vec<Entry>,
    store: BTreeMap<Token, (u64, LeaseRecord)>,
    revision: u64,
    results: Vec<(Token, u32)>,
    seen: Seen,
    trace: bool,
}

impl World {
    pub fn new(mut rng: Rng) -> Self {
        let terms = Terms::default();
        let clock = |rng: &mut Rng| {
            let offset = rng.below(2 * HOUR) as u64;
            (offset, (1000 - DRIFT + rng.below(2 * DRIFT + 1)) as u64)
        };
        let hosts = (0..2 + rng.below(3))
            .map(|_| {
                let (offset, speed) = clock(&mut rng);
                Host::new(offset, speed)
            })
            .collect();
        let tasks = 1 + rng.below(4);
        let turns = (0..tasks).map(|_| 1 + u32::from(rng.one_in(3))).collect();
        let mut world = Self {
            rng,
            now: 0,
            order: 0,
            queue: BinaryHeap::new(),
            events: BTreeMap::new(),
            terms,
            tasks,
            turns,
            tokens: Vec::new(),
            hosts,
            coordinators: Vec::new(),
            journal: Vec::new(),
            store: BTreeMap::new(),
            revision: 0,
            results: Vec::new(),
            seen: Seen::default(),
            trace: std::env::var_os("WAVECREW_SIM_TRACE").is_some(),
        };
        world.start_coordinator();
        world.later(1, Event::Fault);
        world
    }

    pub fn run_to_the_end(mut self) -> Seen {
        for _ in 0..STEPS {
            let Some(Reverse((at, order))) = self.queue.pop() else {
                self.check_the_end();
                return self.seen;
            };
            assert!(at >= self.now, "time goes forward");
            self.now = at;
            let event = self.events.remove(&order).expect("queued once");
            if self.trace {
                println!("{at} {event:?}");
            }
            self.happen(event);
        }
        panic!("no end: {:?}", self.journal);
    }

    fn later(&mut self, delay: u64, event: Event) {
        self.order += 1;
        self.queue.push(Reverse((self.now + delay, self.order)));
        self.events.insert(self.order, event);
    }

    fn is_calm(&self) -> bool {
        self.now >= FAULTS_UNTIL
    }

    /// Mostly quick, sometimes longer than a lease.
    fn delay(&mut self) -> u64 {
        let limit = match self.rng.below(40) {
            0 if !self.is_calm() => 60_000,
            1..4 if !self.is_calm() => 8_000,
            _ => 50,
        };
        1 + self.rng.below(limit) as u64
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Request(from, token, request) => self.store_request(from, token, request),
            Event::Answer(to, token, answer) => self.answer(to, token, answer),
            Event::Watched(number, token, revision, record) => {
                self.with_coordinator(
                    number,
                    token,
                    Event::Watched(number, token, revision, record.clone()),
                    |lease, now| lease.seen(Some((revision, record)), now),
                );
            }
            Event::Turn { host, token, turn } => self.turn(host, token, turn),
            Event::Acknowledge { host, token } => {
                let again = Event::Acknowledge { host, token };
                let boot = self.hosts[host].boot;
                self.with_host(host, boot, token, again, |lease, _| lease.release());
            }
            Event::Publish {
                host,
                boot,
                token,
                turn,
            } => self.publish(host, boot, token, turn),
            Event::Published {
                host,
                boot,
                token,
                turn,
            } => {
                if self.hosts[host].boot == boot && !self.unreachable(host) {
                    self.hosts[host].unsent.retain(|sent| *sent != (token, turn));
                }
            }
            Event::Result { token, turn } => self.result(token, turn),
            Event::HostTick { host, boot, token } => {
                let again = Event::HostTick { host, boot, token };
                self.with_host(host, boot, token, again, HostLease::tick);
            }
            Event::CoordinatorTick { number, token } => {
                let again = Event::CoordinatorTick { number, token };
                self.with_coordinator(number, token, again, CoordinatorLease::tick);
            }
            Event::Exit {
                host,
                boot,
                token,
                turn,
            } => self.exit(host, boot, token, turn),
            Event::Ended { host, boot, token } => self.ended(host, boot, token),
            Event::Fault => self.fault(),
            Event::HostUp(host) => {
                let host = &mut self.hosts[host];
                host.up = true;
                host.boot += 1;
            }
            Event::HostResumed { host, boot, counts } => {
                let now = self.now;
                let host = &mut self.hosts[host];
                if host.boot == boot && host.paused {
                    host.paused = false;
                    host.pauses += now - host.paused_at;
                    if !counts {
                        host.lost_time += now - host.paused_at;
                    }
                    host.resumed_at = host.clock(now);
                    for event in std::mem::take(&mut host.deferred) {
                        self.later(0, event);
                    }
                }
            }
            Event::HostJoined(host) => self.hosts[host].cut = false,
            Event::CoordinatorUp => self.start_coordinator(),
            Event::CoordinatorResumed(number) => {
                if let Some(coordinator) = &mut self.coordinators[number] {
                    coordinator.paused = false;
                }
            }
            Event::CoordinatorJoined(number) => {
                if let Some(coordinator) = &mut self.coordinators[number] {
                    coordinator.cut = false;
                }
            }
        }
    }
}
