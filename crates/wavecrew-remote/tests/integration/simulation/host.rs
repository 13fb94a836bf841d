//! A simulated host: its clock, its leases, its processes.

use std::collections::BTreeMap;
use std::time::Duration;

use super::world::Event;
use wavecrew_remote::lease::{HostLease, Moment};

/// One attempt of one task on one host; its number stands for the random token.
pub type Token = usize;

pub struct Host {
    pub up: bool,
    /// The number of starts.
    pub boot: u32,
    pub paused: bool,
    pub cut: bool,
    /// Monotonic time is `offset + running * speed / 1000`.
    offset: u64,
    speed: u64,
    /// Time that its clock did not count while it was paused.
    pub lost_time: u64,
    pub leases: BTreeMap<Token, HostLease>,
    pub processes: BTreeMap<Token, Process>,
    /// Results that the stream has not confirmed yet.
    pub unsent: Vec<(Token, u32)>,
    pub paused_at: u64,
    /// When it was resumed the last time, by its clock.
    pub resumed_at: Moment,
    /// All time it has been paused for.
    pub pauses: u64,
    /// The pauses before a write, by the moment at which it was sent.
    pub pauses_before: BTreeMap<Moment, u64>,
    /// What happened while it was paused.
    pub deferred: Vec<Event>,
}

/// Everything that a turn runs.
pub struct Process {
    pub task: usize,
    pub turn: u32,
    /// Told to end.
    pub ending: bool,
    /// When the last confirmed write was sent, by the host's clock.
    pub confirmed: Moment,
}

impl Host {
    pub fn new(offset: u64, speed: u64) -> Self {
        Self {
            up: true,
            boot: 1,
            paused: false,
            cut: false,
            offset,
            speed,
            lost_time: 0,
            leases: BTreeMap::new(),
            processes: BTreeMap::new(),
            unsent: Vec::new(),
            paused_at: 0,
            resumed_at: Duration::ZERO,
            deferred: Vec::new(),
            pauses_before: BTreeMap::new(),
            pauses: 0,
        }
    }

    /// How far its clock is from that of a machine that started with the world.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    pub fn clock(&self, now: u64) -> Moment {
        Duration::from_millis(self.offset + (now - self.lost_time) * self.speed / 1000)
    }

    /// True time until its clock shows `moment`, rounded up.
    pub fn until(&self, now: u64, moment: Moment) -> u64 {
        let left = moment.saturating_sub(self.clock(now));
        let left = u64::try_from(left.as_millis()).expect("a short time");
        left * 1000 / self.speed + 1
    }

    /// How much time of its own clock passes in true time.
    pub fn speed(&self) -> u64 {
        self.speed
    }

    /// Whether it was paused since the last confirmed write of a process was sent. Its clock may not have noticed.
    pub fn paused_since(&self, process: &Process) -> bool {
        self.paused || self.pauses > self.pauses_before[&process.confirmed]
    }

    /// The machine loses power: everything on it is gone.
    pub fn crash(&mut self) {
        self.up = false;
        self.paused = false;
        self.leases.clear();
        self.processes.clear();
        self.unsent.clear();
        self.deferred.clear();
    }
}
