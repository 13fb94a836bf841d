//! Rate limits of one account: waits that double, and a number of concurrent workers that halves on refusals and grows by
//! one. Pure: time and randomness come in as arguments.

use crate::event::StopReason;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use xxhash_rust::xxh3::Xxh3;

/// The first wait after a refusal; doubles with each further one.
const FIRST_WAIT: Duration = Duration::from_secs(2);
const LONGEST_WAIT: Duration = Duration::from_mins(5);
/// A used-up quota does not come back in seconds.
const FIRST_QUOTA_WAIT: Duration = Duration::from_mins(1);
const LONGEST_QUOTA_WAIT: Duration = Duration::from_mins(30);
/// Longer than any quota window; a longer wait is treated as a mistake.
const MAX_RETRY_AFTER: Duration = Duration::from_hours(7 * 24);
/// Added to a wait that the service asked for, so that workers do not return at the same instant.
const LONGEST_JITTER: Duration = Duration::from_secs(10);
/// Workers at a time.
const ONE: u32 = 1000;
/// A limit this high is dropped.
const WIDE: u32 = 64 * ONE;

/// The state of one account of a service.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Pool {
    /// Nothing starts before this time.
    pub until: Timestamp,
    /// Refusals in a row.
    pub strikes: u32,
    /// When the latest refusal came.
    pub refused_at: Timestamp,
    pub reason: LimitKind,
    /// Workers at a time, in thousandths; none without a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
}

/// Which limit a service enforces.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// Requests in a short time, or overload.
    #[default]
    RateLimited,
    /// The account's quota.
    Quota,
}

impl LimitKind {
    /// The limit that a worker with this stop reason met.
    pub fn of(stop: StopReason) -> Option<Self> {
        match stop {
            StopReason::RateLimited => Some(Self::RateLimited),
            StopReason::Quota => Some(Self::Quota),
            StopReason::Ok
            | StopReason::NoReport
            | StopReason::SchemaInvalid
            | StopReason::Auth
            | StopReason::PermissionBlocked
            | StopReason::Timeout
            | StopReason::Idle
            | StopReason::Crashed
            | StopReason::Refused
            | StopReason::Budget
            | StopReason::Cancelled
            | StopReason::Interrupted => None,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::RateLimited => "rate_limited",
            Self::Quota => "quota",
        }
    }
}

/// What happened to a worker of the pool.
#[derive(Clone, PartialEq, Debug)]
pub enum PoolEvent {
    Refused(Refusal),
    /// The service served a worker that started at this time.
    Served {
        began: Timestamp,
    },
}

/// The service refused a worker.
#[derive(Clone, PartialEq, Debug)]
pub struct Refusal {
    pub at: Timestamp,
    /// When the worker started.
    pub began: Timestamp,
    pub reason: LimitKind,
    /// The wait that the service asked for.
    pub retry_after: Option<Duration>,
    /// Running workers of the pool, including this one.
    pub running: usize,
    /// A random number, for jitter.
    pub random: u64,
}

impl Pool {
    /// Whether one more worker may start.
    pub fn may_start(&self, now: Timestamp, running: usize) -> bool {
        now >= self.until && self.window.is_none_or(|window| running < slots(window))
    }

    pub fn apply(&mut self, event: &PoolEvent) {
        match event {
            PoolEvent::Refused(refusal) => self.refused(refusal),
            // A worker from before the latest refusal does not count.
            PoolEvent::Served { began } if *began <= self.refused_at => {}
            PoolEvent::Served { .. } => {
                self.strikes = 0;
                let grown = self.window.map(|window| window + ONE * ONE / window.max(ONE));
                self.window = grown.filter(|window| *window < WIDE);
            }
        }
    }

    fn refused(&mut self, refusal: &Refusal) {
        // Workers that ran side by side meet the same limit: it counts once.
        if self.strikes == 0 || refusal.began > self.refused_at {
            self.strikes = self.strikes.saturating_add(1);
            let running = u32::try_from(refusal.running).unwrap_or(u32::MAX).min(WIDE / ONE) * ONE;
            let window = self.window.map_or(running, |window| window.min(running));
            self.window = Some((window / 2).max(ONE));
            self.refused_at = refusal.at;
            self.reason = refusal.reason;
        } else if refusal.retry_after.is_none() {
            return;
        }
        let wait = match (refusal.retry_after, refusal.reason) {
            (Some(named), _) => {
                let named = named.min(MAX_RETRY_AFTER);
                named + part(LONGEST_JITTER.min(named / 10), refusal.random)
            }
            (None, LimitKind::RateLimited) => self.backoff(FIRST_WAIT, LONGEST_WAIT, refusal.random),
            (None, LimitKind::Quota) => self.backoff(FIRST_QUOTA_WAIT, LONGEST_QUOTA_WAIT, refusal.random),
        };
        self.until = self.until.max(refusal.at.plus(wait));
    }

    fn backoff(&self, first: Duration, longest: Duration, random: u64) -> Duration {
        let doubled = 2u32.saturating_pow(self.strikes.saturating_sub(1).min(16));
        let whole = first.saturating_mul(doubled).min(longest);
        whole / 2 + part(whole / 2, random)
    }
}

/// The name of the pool of these credentials: a hash that can be a file name.
pub fn name_of<'a>(agent: &str, credentials: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hash = Xxh3::new();
    for credential in credentials {
        hash.update(&(credential.len() as u64).to_le_bytes());
        hash.update(credential);
    }
    format!("{agent}-{:08x}", hash.digest() & 0xffff_ffff)
}

/// Whole workers, at least one.
fn slots(window: u32) -> usize {
    (window / ONE).max(1) as usize
}

/// A random part of the duration.
fn part(whole: Duration, random: u64) -> Duration {
    let thousandths = u32::try_from(random % 1001).expect("at most a thousand");
    whole * thousandths / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(at: u64, began: u64, retry_after: Option<u64>, running: usize, random: u64) -> PoolEvent {
        PoolEvent::Refused(Refusal {
            at: Timestamp(at * 1000),
            began: Timestamp(began * 1000),
            reason: LimitKind::RateLimited,
            retry_after: retry_after.map(Duration::from_secs),
            running,
            random,
        })
    }

    fn served(began: u64) -> PoolEvent {
        PoolEvent::Served {
            began: Timestamp(began * 1000),
        }
    }

    #[test]
    fn waits_double_up_to_a_limit_and_are_spread() {
        let mut pool = Pool::default();
        let mut waits = Vec::new();
        let mut now = 100;
        for _ in 0..10 {
            pool.apply(&refusal(now, now, None, 1, 1000));
            waits.push(pool.until.0 / 1000 - now);
            now = pool.until.0 / 1000 + 1;
        }
        assert_eq!(waits, [2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        let spread = |random| {
            let mut pool = Pool::default();
            pool.apply(&refusal(100, 100, None, 1, random));
            pool.until.0 - 100_000
        };
        assert_eq!([spread(0), spread(500), spread(1000)], [1000, 1500, 2000]);
    }

    #[test]
    fn an_account_that_is_used_up_is_asked_less_often() {
        let mut pool = Pool::default();
        let PoolEvent::Refused(mut refusal) = refusal(0, 0, None, 1, 1000) else {
            unreachable!("made so");
        };
        refusal.reason = LimitKind::Quota;
        pool.apply(&PoolEvent::Refused(refusal));
        assert_eq!(pool.until, Timestamp(60_000));
    }

    #[test]
    fn what_the_service_tells_is_believed_within_reason() {
        let mut pool = Pool::default();
        pool.apply(&refusal(100, 100, Some(30), 1, 0));
        assert_eq!(pool.until, Timestamp(130_000));
        pool.apply(&refusal(200, 200, Some(1000), 1, 1000));
        assert_eq!(pool.until, Timestamp(1_210_000), "and ten seconds at most");
        pool.apply(&refusal(2000, 2000, Some(u64::MAX / 4), 1, 0));
        assert_eq!(pool.until, Timestamp((2000 + 7 * 24 * 3600) * 1000));
    }

    #[test]
    fn those_that_ran_side_by_side_are_one_refusal() {
        let mut pool = Pool::default();
        pool.apply(&refusal(100, 90, None, 8, 0));
        let once = pool;
        pool.apply(&refusal(101, 91, None, 7, 1000));
        assert_eq!(pool, once);
        // One of them may know a longer wait.
        pool.apply(&refusal(102, 92, Some(50), 6, 0));
        assert_eq!((pool.strikes, pool.window), (1, Some(4000)));
        assert_eq!(pool.until, Timestamp(152_000));
    }

    #[test]
    fn the_window_halves_and_grows_by_one_for_as_many_as_it_holds() {
        let mut pool = Pool::default();
        assert!(pool.may_start(Timestamp(0), 1000), "no limit without a reason");
        pool.apply(&refusal(100, 100, None, 8, 0));
        assert!(!pool.may_start(Timestamp(100_500), 0), "it waits");
        let later = Timestamp(1_000_000);
        assert!(pool.may_start(later, 3) && !pool.may_start(later, 4));
        pool.apply(&served(50));
        assert_eq!((pool.window, pool.strikes), (Some(4000), 1), "too old to count");
        for _ in 0..5 {
            pool.apply(&served(200));
        }
        assert_eq!(pool.strikes, 0);
        assert!(pool.may_start(later, 4) && !pool.may_start(later, 5));
        for at in [300, 400, 500, 600] {
            pool.apply(&refusal(at, at, None, 5, 0));
        }
        assert_eq!(pool.window, Some(1000), "one always may");
        for _ in 0..4000 {
            pool.apply(&served(700));
        }
        assert_eq!(pool.window, None, "forgotten in the end");
    }
}
