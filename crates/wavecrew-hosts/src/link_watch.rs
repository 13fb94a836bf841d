//! Watches the connection to NATS, for people: a short silence is not announced.

use std::time::{Duration, Instant};
use wavecrew_remote::connect::Link;

/// NATS has to be silent for this long before it is announced.
const QUIET: Duration = Duration::from_secs(2);

#[derive(Default)]
pub struct LinkWatch {
    /// Since when NATS has been silent, and whether that was announced.
    down: Option<(Instant, bool)>,
}

impl LinkWatch {
    /// The change to announce, if any.
    pub fn observe(&mut self, link: Link) -> Option<Link> {
        match (link, &mut self.down) {
            (Link::Up, _) => {
                let announced = self.down.take().is_some_and(|(_, announced)| announced);
                announced.then_some(Link::Up)
            }
            (Link::Down, None) => {
                self.down = Some((Instant::now(), false));
                None
            }
            (Link::Down, Some((since, announced))) => {
                let is_due = !*announced && since.elapsed() > QUIET;
                *announced |= is_due;
                is_due.then_some(Link::Down)
            }
        }
    }
}
