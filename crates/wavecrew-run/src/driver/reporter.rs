//! What a run shows while it goes on. A reporter looks and never fails a run.

use std::time::Duration;
use wavecrew_core::engine::{Ledger, Notice};
use wavecrew_core::event::Event;

/// A worker that runs right now.
#[derive(Clone, Debug)]
pub struct Running {
    pub task: String,
    pub role: String,
    pub attempt: u32,
    pub elapsed: Duration,
    pub silent: Duration,
    /// The last line it printed, made safe to show.
    pub last_line: String,
}

pub trait Reporter {
    /// Something is on record; the ledger has it already.
    fn event(&mut self, event: &Event, ledger: &Ledger);
    fn notice(&mut self, notice: &Notice);
    /// Called a few times a second.
    fn tick(&mut self, running: &[Running], ledger: &Ledger);
    /// Whether `tick` wants the list of running workers; costs a little for each of them.
    fn wants_running(&self) -> bool;
}
