//! The clock of a run.

use std::time::{Instant, SystemTime, UNIX_EPOCH};
use wavecrew_core::time::Timestamp;

/// Wall-clock time that never goes back, even if the machine's clock does.
pub(crate) struct Clock {
    wall: u64,
    from: Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            wall: u64::try_from(wall.as_millis()).unwrap_or(u64::MAX),
            from: Instant::now(),
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp(self.wall).plus(self.from.elapsed())
    }
}
