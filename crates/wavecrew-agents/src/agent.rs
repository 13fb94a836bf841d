//! The interface to everything that does tasks: how to start a turn, read its output, and resume its conversation.

use std::rc::Rc;

use wavecrew_core::event::{StopReason, TokenUsage};

use super::launch::{Launch, Request};
use super::output_reader::OutputReader;
use super::stream::FailKind;

/// A kind of agent.
pub trait Agent: std::fmt::Debug {
    /// How to start one turn.
    fn launch(&self, request: &Request<'_>) -> Launch;

    /// Reads the output of a worker, turn after turn. `None` for programs whose output has no known format. `before` is what
    /// the conversation had used before this worker resumed it.
    fn output_reader(&self, _before: TokenUsage) -> Option<OutputReader> {
        None
    }

    fn resume_by(&self) -> ResumeBy {
        ResumeBy::Never
    }

    /// What a person can do about a failure of this kind.
    fn advice(&self, _failure: FailKind) -> Option<String> {
        None
    }

    /// The line of stderr with which it reports that it ignores its settings.
    fn settings_warning(&self, _stderr: &str) -> Option<String> {
        None
    }

    /// For a recording, which is another agent for each attempt: that agent, or why there is none.
    fn for_attempt(&self, _attempt: &AttemptKey<'_>) -> Option<Result<AttemptAgent, String>> {
        None
    }

    /// For a recording: how the turn ended.
    fn recorded_end(&self, _turn: u32) -> Option<RecordedEnd> {
        None
    }
}

/// How a recorded turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordedEnd {
    /// By itself; the replay ends in the same way.
    Ended,
    /// By a time limit, for which a replay does not wait.
    Stopped { stop: StopReason, error: String },
}

/// An attempt at a task.
pub struct AttemptKey<'a> {
    pub task: &'a str,
    pub attempt: u32,
    /// The fingerprint of the row and its instruction.
    pub fingerprint: &'a str,
}

/// The agent for an attempt.
pub struct AttemptAgent {
    pub agent: Rc<dyn Agent>,
    /// A note for the person.
    pub note: Option<String>,
}

/// How another process resumes a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResumeBy {
    /// It cannot: every turn is independent, and may start before the last one has ended.
    Never,
    /// By an id that we choose.
    OurId,
    /// By an id that the agent chooses and prints.
    ItsId,
}

/// `command:COMMAND`: any program, split into shell words, run without a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    pub program: String,
    pub args: Vec<String>,
}

impl Agent for Command {
    fn launch(&self, request: &Request<'_>) -> Launch {
        Launch {
            args: self.args.clone(),
            ..Launch::new(&self.program, request.prompt)
        }
    }
}
