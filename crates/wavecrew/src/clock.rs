//! The clock, for commands that write or show times, and random seeds from it.

use std::time::{Duration, SystemTime};
use wavecrew_core::time::{Timestamp, human};
use wavecrew_session::issues::CurrentTime;

/// Longer is as good as for ever, and every clock can still count it.
pub const LONGEST_SECONDS: u64 = 365 * 24 * 3600;

pub fn now() -> Timestamp {
    Timestamp::from(SystemTime::now())
}

/// Now, as issues are filed with it.
pub fn moment() -> CurrentTime {
    let now = jiff::Timestamp::now();
    let text = |format: &str| now.strftime(format).to_string();
    CurrentTime {
        at: text("%Y-%m-%dT%H:%M:%SZ"),
        date: text("%Y%m%d"),
        time: text("%H%M%S").parse().unwrap_or(0),
    }
}

/// A time as `session.json` holds it.
pub fn parse(rfc3339: &str) -> Option<Timestamp> {
    let at: jiff::Timestamp = rfc3339.parse().ok()?;
    Some(Timestamp(u64::try_from(at.as_millisecond()).ok()?))
}

/// `12s ago`, `3h 05m ago`, `4d ago`
pub fn ago(age: Duration) -> String {
    const DAY: u64 = 24 * 60 * 60;
    match age.as_secs() {
        seconds if seconds >= 2 * DAY => format!("{}d ago", seconds / DAY),
        _ => format!("{} ago", human(age)),
    }
}

/// A random seed, different for every run.
pub fn seed() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let nanos = now.map_or(0, |now| u64::try_from(now.as_nanos()).unwrap_or(u64::MAX));
    nanos ^ (u64::from(std::process::id()) << 32)
}
