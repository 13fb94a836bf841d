//! The clock of a run.

use std::time::{Instant, SystemTime};
use wavecrew_core::time::Timestamp;

/// Wall-clock time that never goes back, even if the machine's clock does.
pub(crate) struct Clock {
    wall: Timestamp,
    from: Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self {
            wall: SystemTime::now().into(),
            from: Instant::now(),
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.wall.plus(self.from.elapsed())
    }
}
