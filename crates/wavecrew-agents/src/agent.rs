//! The one interface to everything that does tasks: how a turn is started, how what it prints is understood, and
//! how the next turn finds the conversation again. What differs between agents is behind it and nowhere else.

use std::rc::Rc;

use wavecrew_core::event::StopReason;

use super::launch::{Launch, Request, Stdin};
use super::listen::Listener;
use super::stream::{FailKind, Usage};

/// A kind of agent.
pub trait Adapter: std::fmt::Debug {
    /// How one turn is started.
    fn launch(&self, request: &Request<'_>) -> Launch;

    /// Understands what the worker prints, turn after turn. `None` for programs that print what they like and speak
    /// by their exit code. `before` is what the conversation had used when this worker took it up.
    fn listener(&self, before: Usage) -> Option<Listener>;

    fn memory(&self) -> Memory;

    /// What a person can do about a failure of this kind.
    fn advice(&self, _failure: FailKind) -> Option<String> {
        None
    }

    /// Who does this attempt, for an agent that is another one each time: a recording. Or why nobody can.
    fn part(&self, _of: &Attempted<'_>) -> Option<Result<Part, String>> {
        None
    }

    /// What is known of the end of a turn, for a recording.
    fn replayed(&self, _turn: u32) -> Option<Replayed> {
        None
    }
}

/// How a recorded turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replayed {
    /// By itself: the replay ends in the same way.
    Ended,
    /// By a clock, which a replay does not wait for.
    Stopped { stop: StopReason, error: String },
}

/// An attempt at a task.
pub struct Attempted<'a> {
    pub task: &'a str,
    pub attempt: u32,
    /// Of the row and its instruction.
    pub print: &'a str,
}

/// Who does an attempt.
pub struct Part {
    pub agent: Rc<dyn Adapter>,
    /// What a person should know of it.
    pub remark: Option<String>,
}

/// What an agent remembers from turn to turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// Every turn is a new start, and may begin before the last one ended.
    None,
    /// A conversation, under the id that we give it.
    Named,
    /// A conversation, under an id that it tells.
    Own,
}

/// `command:COMMAND`: any program, split into shell words, run without a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    pub program: String,
    pub args: Vec<String>,
}

impl Adapter for Command {
    fn launch(&self, request: &Request<'_>) -> Launch {
        Launch {
            program: self.program.clone(),
            args: self.args.clone(),
            env: Vec::new(),
            files: Vec::new(),
            stdin: Stdin::Text(request.prompt.to_owned()),
        }
    }

    fn listener(&self, _before: Usage) -> Option<Listener> {
        None
    }

    fn memory(&self) -> Memory {
        Memory::None
    }
}
