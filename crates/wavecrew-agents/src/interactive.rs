//! Conversations over the stdin and stdout of one process that lives as long as its worker: what to write for each message
//! and each line that was read. Does no I/O.

use std::fmt;

use wavecrew_core::engine::{Reply, WorkerRequest};

use super::stream::AgentEvent;

/// The protocol of one process. A turn starts with [`start_turn`](Self::start_turn) and ends with the event
/// [`Final`](AgentEvent::Final) or [`Failed`](AgentEvent::Failed). The methods return what to write to the process.
pub trait InteractiveProtocol: fmt::Debug {
    /// Starts a turn with a message.
    #[must_use]
    fn start_turn(&mut self, message: &str) -> String;

    /// Reads one line.
    #[must_use]
    fn read(&mut self, line: &str) -> Received;

    /// Answers a request of the agent, by its key.
    #[must_use]
    fn answer(&mut self, key: &str, reply: &Reply) -> String;

    /// Asks the agent to end its turn now. The end of the turn arrives like any other.
    #[must_use]
    fn interrupt_turn(&mut self) -> String;
}

/// The meaning of a line.
#[derive(Debug, Default)]
pub struct Received {
    pub events: Vec<AgentEvent>,
    /// What to write to the process.
    pub reply: String,
    /// Requests that wait for an answer, each with a key.
    pub requests: Vec<(String, WorkerRequest)>,
}
