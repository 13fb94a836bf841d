//! The agent that made the log of an attempt, which decides how the log is read.

use crate::recording::{Cassette, PREFIX};
use std::collections::BTreeMap;
use std::path::Path;
use wavecrew_agents::cli::{self, AgentCli};
use wavecrew_core::event::Event;

#[derive(Debug, Default)]
pub struct LogMaker {
    pub agent: String,
    /// Why reports were sent back, by the turn that this began.
    pub reasons: BTreeMap<u32, String>,
}

impl LogMaker {
    /// From the journal.
    pub fn find(events: &[Event], task: &str, attempt: u32) -> Self {
        let mut maker = Self::default();
        for event in events {
            match event {
                Event::AttemptStarted {
                    task: of,
                    attempt: number,
                    agent,
                    ..
                } if of == task && *number == attempt => maker.agent.clone_from(agent),
                Event::SentBack {
                    task: of,
                    attempt: number,
                    turn,
                    reason,
                } if of == task && *number == attempt => {
                    maker.reasons.insert(*turn, reason.clone());
                }
                _ => {}
            }
        }
        maker
    }

    /// The agent whose stream the log is; of a replay, the one that was recorded.
    pub fn cli(&self, task: &str) -> Option<&'static dyn AgentCli> {
        match self.agent.strip_prefix(PREFIX) {
            None => cli::by_name(&self.agent),
            Some(file) => cli::by_name(Cassette::open(Path::new(file)).ok()?.agent_of(task)?),
        }
    }
}
