//! How long a session has run, from the events of its journal. Breaks between runs do not count.

use crate::event::Event;
use crate::time::Timestamp;
use std::time::Duration;

#[derive(Default)]
pub(super) struct RunTime {
    /// The time of all ended runs.
    before: Duration,
    /// When the current run began.
    began: Option<Timestamp>,
    /// The time of the latest event.
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
            // A run without an end was killed some time after its last event.
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
