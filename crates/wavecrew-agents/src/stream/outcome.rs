//! Why a worker ended: its events, how its process ended and what it owed, folded into one [`StopReason`].

use serde_json::Value;
use wavecrew_core::event::StopReason;

use super::AgentEvent;
use super::failure::{FailKind, Failure};
use crate::cli::AgentCli;

impl FailKind {
    /// The reason to write down when this ended the worker.
    pub fn stop_reason(self) -> StopReason {
        match self {
            Self::RateLimited | Self::Overloaded => StopReason::RateLimited,
            Self::Quota => StopReason::Quota,
            Self::OwnLimit => StopReason::Budget,
            Self::Auth => StopReason::Auth,
            Self::BadRequest | Self::Unreachable | Self::Declined => StopReason::Refused,
            Self::Schema => StopReason::SchemaInvalid,
            Self::OutOfTime => StopReason::Timeout,
            Self::Server | Self::Cut | Self::NoConversation | Self::OtherVersion | Self::Other => {
                StopReason::Crashed
            }
        }
    }
}

/// How the process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Exit(i32),
    Signal(i32),
    /// We ended it, and this is why; what it then exited with says nothing.
    Stopped(Stopped),
}

/// Why we ended a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// The wall clock.
    Timeout,
    /// No event for too long, the first one included.
    Idle,
    Cancelled,
    /// The whole run ends.
    Interrupted,
}

/// What a worker owes when it ends well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expects {
    /// A report over a side channel (MCP or the command line), or a last message that is a JSON object.
    Report { received: bool },
    /// An answer in the schema it was started with.
    Schema,
    /// Nothing but an end.
    Nothing,
}

/// The end of a worker, explained.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    pub reason: StopReason,
    /// The trouble behind it, for the decision whether and when to try again.
    pub failure: Option<Failure>,
}

/// What the events amount to so far.
#[derive(Debug, Clone, Default)]
pub struct TurnSummary {
    pub conversation: Option<String>,
    pub model: Option<String>,
    pub version: Option<String>,
    /// The answer that ended the latest turn, as text and as JSON.
    pub answer: Option<(String, Option<Value>)>,
    /// Tools that the agent was not let use.
    pub denied: Vec<String>,
    /// Tool calls under way: the idle clock stands still.
    pub open_tools: usize,
    /// Lines and parts that nobody understood.
    pub unknown: u64,
    failure: Option<Failure>,
    trouble: Option<Failure>,
    question: Option<String>,
}

impl TurnSummary {
    pub fn on(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::Started {
                conversation,
                model,
                version,
            } => {
                self.conversation = Some(conversation.clone());
                self.model = model.clone().or(self.model.take());
                self.version = version.clone().or(self.version.take());
            }
            AgentEvent::Text(_) | AgentEvent::FileChange { .. } => self.goes_on(),
            AgentEvent::ToolStart { .. } => {
                self.goes_on();
                self.open_tools += 1;
            }
            AgentEvent::ToolEnd { .. } => {
                self.goes_on();
                self.open_tools = self.open_tools.saturating_sub(1);
            }
            AgentEvent::Final { text, structured } => {
                self.goes_on();
                self.open_tools = 0;
                self.failure = None;
                self.answer = Some((text.clone(), structured.clone()));
            }
            AgentEvent::Retrying(failure) => self.trouble = Some(failure.clone()),
            AgentEvent::Failed(failure) => {
                self.open_tools = 0;
                self.answer = None;
                // The first failure of a turn names the cause; what follows describes its end.
                self.failure.get_or_insert_with(|| failure.clone());
            }
            AgentEvent::PermissionDenied { tool } => self.denied.push(tool.clone()),
            AgentEvent::Question { tool, .. } => self.question = Some(tool.clone()),
            AgentEvent::Unknown { .. } => self.unknown += 1,
            AgentEvent::Usage(_) | AgentEvent::UsedSoFar(_) => {}
        }
    }

    /// A new turn of the same conversation begins: what the last one ended with no longer counts.
    pub fn next_turn(&mut self) {
        (self.answer, self.failure, self.trouble, self.question) = (None, None, None, None);
        self.denied.clear();
    }

    fn goes_on(&mut self) {
        (self.trouble, self.question) = (None, None);
    }
}

/// Why the worker ended. `cli` says what its exit codes mean; `stderr` is the end of what it wrote there.
pub fn outcome(
    cli: Option<&dyn AgentCli>,
    summary: &TurnSummary,
    end: End,
    expects: Expects,
    stderr: &str,
) -> Outcome {
    match end {
        End::Stopped(stopped) => stopped_by_us(summary, stopped),
        End::Exit(code) => ended(cli, summary, Some(code), expects, stderr),
        End::Signal(_) => ended(cli, summary, None, expects, stderr),
    }
}

fn stopped_by_us(summary: &TurnSummary, stopped: Stopped) -> Outcome {
    let clock = match stopped {
        Stopped::Cancelled => {
            return Outcome {
                reason: StopReason::Cancelled,
                failure: None,
            };
        }
        Stopped::Interrupted => {
            return Outcome {
                reason: StopReason::Interrupted,
                failure: None,
            };
        }
        Stopped::Timeout => StopReason::Timeout,
        Stopped::Idle => StopReason::Idle,
    };
    if summary.question.is_some() {
        return Outcome {
            reason: StopReason::PermissionBlocked,
            failure: None,
        };
    }
    // An agent that was still trying to reach its service ran out of time because of that.
    let failure = summary.failure.clone().or_else(|| summary.trouble.clone());
    let known = failure.as_ref().map(|failure| failure.kind.stop_reason());
    Outcome {
        reason: known
            .filter(|reason| *reason != StopReason::Crashed)
            .unwrap_or(clock),
        failure,
    }
}

fn ended(
    cli: Option<&dyn AgentCli>,
    summary: &TurnSummary,
    code: Option<i32>,
    expects: Expects,
    stderr: &str,
) -> Outcome {
    let by_code = cli.zip(code).and_then(|(cli, code)| cli.exit_failure(code));
    if let Some(failure) = &summary.failure {
        let mut failure = failure.clone();
        if failure.kind == FailKind::Other {
            failure.kind = by_code.unwrap_or(FailKind::Other);
        }
        return Outcome {
            reason: failure.kind.stop_reason(),
            failure: Some(failure),
        };
    }
    // An answer counts, however the process ended after it.
    if let Some((_, structured)) = &summary.answer {
        return Outcome {
            reason: owed(summary, structured.is_some(), expects),
            failure: None,
        };
    }
    let failure = match (by_code, &summary.trouble) {
        (None, Some(trouble)) => trouble.clone(),
        (Some(kind), _) => Failure::of_kind(kind, last_line(stderr)),
        (None, None) => Failure::new(None, last_line(stderr)),
    };
    Outcome {
        reason: failure.kind.stop_reason(),
        failure: Some(failure),
    }
}

fn owed(summary: &TurnSummary, json: bool, expects: Expects) -> StopReason {
    match expects {
        Expects::Nothing | Expects::Report { received: true } => StopReason::Ok,
        Expects::Schema | Expects::Report { received: false } if json => StopReason::Ok,
        Expects::Schema | Expects::Report { received: false } if !summary.denied.is_empty() => {
            StopReason::PermissionBlocked
        }
        Expects::Schema => StopReason::SchemaInvalid,
        Expects::Report { received: false } => StopReason::NoReport,
    }
}

fn last_line(stderr: &str) -> &str {
    let line = stderr.lines().rev().map(str::trim).find(|line| !line.is_empty());
    line.unwrap_or("the agent ended without a result")
}
