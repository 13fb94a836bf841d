//! Why a turn ended: its events, the end of its process and what it owed, folded into one [`StopReason`].

use serde_json::Value;
use wavecrew_core::event::StopReason;

use super::AgentEvent;
use super::failure::{FailKind, Failure};
use crate::cli::AgentCli;

impl FailKind {
    /// The stop reason of a worker that failed with this.
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
    /// We ended it, so its exit code means nothing. The engine knows why; here the reason is a known failure, else
    /// [`StopReason::Timeout`].
    Stopped,
}

/// What a worker owes at the end of its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expects {
    /// A report: submitted over MCP or by command, or else a final message that is a JSON object.
    Report {
        received: bool,
    },
    Nothing,
}

/// Why a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    pub reason: StopReason,
    /// The failure behind it, which decides whether and when to try again.
    pub failure: Option<Failure>,
}

/// The outcome of a conversation, from its events so far.
#[derive(Debug, Clone, Default)]
pub struct TurnSummary {
    pub conversation: Option<String>,
    pub model: Option<String>,
    pub version: Option<String>,
    /// The answer that ended the latest turn, as text and as JSON.
    pub answer: Option<(String, Option<Value>)>,
    /// Tools that the agent was not allowed to use.
    pub denied: Vec<String>,
    /// Running tool calls: meanwhile no output is expected.
    pub open_tools: usize,
    /// The number of unknown lines and parts.
    pub unknown: u64,
    failure: Option<Failure>,
    /// The failure after which the agent tries again.
    retrying: Option<Failure>,
    /// The agent waits for an answer.
    waits: bool,
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
            AgentEvent::Text(_) | AgentEvent::FileChange { .. } => self.progressed(),
            AgentEvent::ToolStart { .. } => {
                self.progressed();
                self.open_tools += 1;
            }
            AgentEvent::ToolEnd { .. } => {
                self.progressed();
                self.open_tools = self.open_tools.saturating_sub(1);
            }
            AgentEvent::Final { text, structured } => {
                self.progressed();
                self.open_tools = 0;
                self.failure = None;
                self.answer = Some((text.clone(), structured.clone()));
            }
            AgentEvent::Retrying(failure) => self.retrying = Some(failure.clone()),
            AgentEvent::Failed(failure) => {
                self.open_tools = 0;
                self.answer = None;
                // The first failure of a turn is the cause of the later ones.
                self.failure.get_or_insert_with(|| failure.clone());
            }
            AgentEvent::PermissionDenied { tool } => self.denied.push(tool.clone()),
            AgentEvent::Question { .. } => self.waits = true,
            AgentEvent::Unknown { .. } => self.unknown += 1,
            AgentEvent::Usage(..) | AgentEvent::UsedSoFar(_) => {}
        }
    }

    /// A new turn of the same conversation starts: the end of the last one no longer counts.
    pub fn next_turn(&mut self) {
        (self.answer, self.failure) = (None, None);
        self.denied.clear();
        self.progressed();
    }

    fn progressed(&mut self) {
        (self.retrying, self.waits) = (None, false);
    }
}

/// Why the turn ended. `cli` knows the meaning of its exit codes; `stderr` is the end of its standard error.
pub fn outcome(
    cli: Option<&dyn AgentCli>,
    summary: &TurnSummary,
    end: End,
    expects: Expects,
    stderr: &str,
) -> Outcome {
    match end {
        End::Stopped => stopped_by_us(summary),
        End::Exit(code) => ended(cli, summary, Some(code), expects, stderr),
        End::Signal(_) => ended(cli, summary, None, expects, stderr),
    }
}

fn stopped_by_us(summary: &TurnSummary) -> Outcome {
    if summary.waits {
        return Outcome {
            reason: StopReason::PermissionBlocked,
            failure: None,
        };
    }
    // An agent that was still trying to reach its service ran out of time because of that.
    let failure = summary.failure.clone().or_else(|| summary.retrying.clone());
    let known = failure.as_ref().map(|failure| failure.kind.stop_reason());
    Outcome {
        reason: known
            .filter(|reason| *reason != StopReason::Crashed)
            .unwrap_or(StopReason::Timeout),
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
    // An answer counts, whatever the exit code is.
    if let Some((_, structured)) = &summary.answer {
        return Outcome {
            reason: owed(summary, structured.is_some(), expects),
            failure: None,
        };
    }
    let failure = match (by_code, &summary.retrying) {
        (None, Some(failure)) => failure.clone(),
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
        Expects::Report { received: false } if json => StopReason::Ok,
        Expects::Report { received: false } if !summary.denied.is_empty() => StopReason::PermissionBlocked,
        Expects::Report { received: false } => StopReason::NoReport,
    }
}

fn last_line(stderr: &str) -> &str {
    let line = stderr.lines().rev().map(str::trim).find(|line| !line.is_empty());
    line.unwrap_or("the agent ended without a result")
}
