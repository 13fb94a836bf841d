//! Shows a run while it is active. A reporter cannot fail a run.

use std::time::Duration;
use wavecrew_core::engine::{Ledger, Notice};
use wavecrew_core::event::Event;

/// A worker that is running.
#[derive(Clone, Debug)]
pub struct Running {
    pub task: String,
    pub role: String,
    pub attempt: u32,
    /// The machine that it runs on, if it is another one.
    pub host: Option<String>,
    pub elapsed: Duration,
    pub silent: Duration,
    /// The last line of its output, safe to show.
    pub last_line: String,
}

pub trait Reporter {
    /// An event was recorded; the ledger includes it.
    fn event(&mut self, event: &Event, ledger: &Ledger);
    fn notice(&mut self, notice: &Notice);
    /// Called a few times a second.
    fn tick(&mut self, running: &[Running], ledger: &Ledger);
    /// Whether `tick` needs the list of running workers, which costs a little per worker.
    fn wants_running(&self) -> bool;
}
