//! A simulated coordinator: a book of leases that is rebuilt from the journal, and the journal itself.

use std::collections::BTreeMap;
use std::time::Duration;

use super::host::Token;
use wavecrew_remote::lease::{CoordinatorLease, Moment};

/// What the journal knows. It is appended to at an expected length: a coordinator that is not the last one cannot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    Started {
        task: usize,
        token: Token,
        host: usize,
    },
    TurnDone {
        token: Token,
        turn: u32,
    },
    Interrupted {
        token: Token,
    },
    Completed {
        task: usize,
        token: Token,
    },
    /// This coordinator took over: it writes from here on.
    TakenOver {
        number: usize,
    },
}

pub struct Coordinator {
    pub paused: bool,
    pub cut: bool,
    offset: u64,
    speed: u64,
    /// The length of the journal as it knows it.
    pub journal: usize,
    pub leases: BTreeMap<Token, CoordinatorLease>,
}

impl Coordinator {
    pub fn new(offset: u64, speed: u64, journal: usize) -> Self {
        Self {
            paused: false,
            cut: false,
            offset,
            speed,
            journal,
            leases: BTreeMap::new(),
        }
    }

    pub fn clock(&self, now: u64) -> Moment {
        Duration::from_millis(self.offset + now * self.speed / 1000)
    }

    pub fn until(&self, now: u64, moment: Moment) -> u64 {
        let left = moment.saturating_sub(self.clock(now));
        let left = u64::try_from(left.as_millis()).expect("a short time");
        left * 1000 / self.speed + 1
    }
}
