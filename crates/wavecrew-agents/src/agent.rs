//! The one interface to everything that does tasks: how a turn is started, how what it prints is understood, and
//! how the next turn finds the conversation again. What differs between agents is behind it and nowhere else.

use std::rc::Rc;

use wavecrew_core::event::StopReason;

use super::launch::{Launch, Request, Stdin};
use super::output_reader::OutputReader;
use super::stream::{FailKind, Usage};

/// A kind of agent.
pub trait Agent: std::fmt::Debug {
    /// How one turn is started.
    fn launch(&self, request: &Request<'_>) -> Launch;

    /// Understands what the worker prints, turn after turn. `None` for programs that print what they like and speak
    /// by their exit code. `before` is what the conversation had used when this worker took it up.
    fn listener(&self, before: Usage) -> Option<OutputReader>;

    fn resume_by(&self) -> ResumeBy;

    /// What a person can do about a failure of this kind.
    fn advice(&self, _failure: FailKind) -> Option<String> {
        None
    }

    /// The line of its stderr which says that it ignores the settings it was started with.
    fn settings_warning(&self, _stderr: &str) -> Option<String> {
        None
    }

    /// Who does this attempt, for an agent that is another one each time: a recording. Or why nobody can.
    fn part(&self, _of: &AttemptKey<'_>) -> Option<Result<AttemptAgent, String>> {
        None
    }

    /// What is known of the end of a turn, for a recording.
    fn recorded_end(&self, _turn: u32) -> Option<RecordedEnd> {
        None
    }
}

/// How a recorded turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordedEnd {
    /// By itself: the replay ends in the same way.
    Ended,
    /// By a clock, which a replay does not wait for.
    Stopped { stop: StopReason, error: String },
}

/// An attempt at a task.
pub struct AttemptKey<'a> {
    pub task: &'a str,
    pub attempt: u32,
    /// Of the row and its instruction.
    pub print: &'a str,
}

/// Who does an attempt.
pub struct AttemptAgent {
    pub agent: Rc<dyn Agent>,
    /// What a person should know of it.
    pub remark: Option<String>,
}

/// How a conversation with an agent is resumed in another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResumeBy {
    /// It is not: every turn is a new start, and may begin before the last one ended.
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
            program: self.program.clone(),
            args: self.args.clone(),
            env: Vec::new(),
            files: Vec::new(),
            stdin: Stdin::Text(request.prompt.to_owned()),
        }
    }

    fn listener(&self, _before: Usage) -> Option<OutputReader> {
        None
    }

    fn resume_by(&self) -> ResumeBy {
        ResumeBy::Never
    }
}
