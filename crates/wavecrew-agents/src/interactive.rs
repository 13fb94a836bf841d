//! Conversations over the stdin and stdout of one process that lives as long as its worker: what is to be written to
//! it, and what it says. Pure: writes and reads nothing itself.

use std::fmt;

use wavecrew_core::engine::{Reply, WorkerRequest};

use super::stream::AgentEvent;

/// A conversation with one process. A turn begins with [`say`](InteractiveProtocol::say) and is over with the event
/// [`Final`](AgentEvent::Final) or [`Failed`](AgentEvent::Failed).
pub trait InteractiveProtocol: fmt::Debug {
    /// A message of ours that begins a turn. What is to be written.
    #[must_use]
    fn start_turn(&mut self, message: &str) -> String;

    /// Takes in one line.
    #[must_use]
    fn read(&mut self, line: &str) -> Received;

    /// Answers a question of the agent, by its id. What is to be written.
    #[must_use]
    fn answer(&mut self, question: &str, reply: &Reply) -> String;

    /// Asks the agent to end its turn now; that it is over is received like any other end. What is to be written.
    #[must_use]
    fn interrupt_turn(&mut self) -> String;
}

/// What a line meant, and what is to be written because of it.
#[derive(Debug, Default)]
pub struct Received {
    pub events: Vec<AgentEvent>,
    pub reply: String,
    /// What the agent waits to be told, each under an id.
    pub questions: Vec<(String, WorkerRequest)>,
}
