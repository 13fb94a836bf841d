//! How long a session was run, by the events of its journal: breaks between runs do not count.

use crate::event::Event;
use crate::time::Timestamp;
use std::time::Duration;

/// How long the session was run.
#[derive(Default)]
pub(super) struct RunTime {
    /// All runs that are over.
    before: Duration,
    /// When the run that goes on began.
    began: Option<Timestamp>,
    /// The latest sign of it.
    last: Timestamp,
}

impl RunTime {
    pub(super) fn apply(&mut self, event: &Event) {
        let Some(at) = event.at() else { return };
        let over = matches!(event, Event::RunEnded { .. });
        if over {
            self.last = at;
        }
        if over || matches!(event, Event::RunStarted { .. }) {
            // A run without an end was cut off some time after its last sign.
            let began = self.began.take();
            self.before += began.map_or(Duration::ZERO, |began| self.last.since(began));
            self.began = (!over).then_some(at);
        }
        self.last = at;
    }

    pub(super) fn at(&self, now: Timestamp) -> Duration {
        self.before + self.began.map_or(Duration::ZERO, |began| now.since(began))
    }
}
