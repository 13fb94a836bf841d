//! Recording and replay. A cassette is the recording of a run: one file of JSON lines, a header and then one line per
//! turn of a worker's conversation, in the order in which they ended. Secrets are redacted.
//!
//! Owns the format. Never writes outside the project and the session.

mod cassette;
mod changes;
mod entries;
mod hooks;
mod output_lines;
mod placeholders;
mod recorder;
mod replay;
mod replay_agent;
mod snapshot;

pub use cassette::{Cassette, CassetteError};
pub(crate) use output_lines::OutputLines;
pub use recorder::Recorder;
pub use replay::replay_main;
pub use replay_agent::REPLAY;
pub(crate) use replay_agent::ReplayAgent;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use wavecrew_core::event::{Fingerprint, StopReason, TokenUsage};

/// The newest format that this code reads, and the one that it writes.
pub const FORMAT: u32 = 1;

/// The prefix of `--agent` for a replay.
pub const PREFIX: &str = "replay:";

/// The first line.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Header {
    /// The format's version; its name identifies the kind of file.
    pub cassette: u32,
    /// The wavecrew that recorded it.
    pub wavecrew: String,
    pub session: String,
    pub team: String,
    /// RFC 3339 in UTC.
    pub recorded_at: String,
}

/// One turn of one attempt at a task.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Turn {
    pub task: String,
    pub attempt: u32,
    pub turn: u32,
    /// The agent, as `--agent` names it.
    pub agent: String,
    /// The fingerprint of the row and its instruction.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub print: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub output: Vec<OutputLine>,
    /// The number of lines that were dropped because they were too many or too long.
    #[serde(default, skip_serializing_if = "is_default")]
    pub left_out: u64,
    /// Submitted over MCP or by `wavecrew report`. A report at the end of the output is in `output`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_file: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(rename = "said")]
    pub shared: Vec<SharedEntry>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileChange>,
    /// A replay counts the usage in the output again; this is for programs whose output has none.
    #[serde(default, skip_serializing_if = "TokenUsage::is_nothing")]
    pub usage: TokenUsage,
    pub end: End,
    /// Why the attempt ended; in its last turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<StopReason>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A line of the worker's output, with its line break.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputLine {
    Out(String),
    Err(String),
}

/// An entry on the board, on the bus or in a wisdom file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SharedEntry {
    Discovery {
        r#type: String,
        #[serde(default)]
        data: Value,
    },
    Message {
        r#type: String,
        summary: String,
        #[serde(default, skip_serializing_if = "Value::is_null")]
        data: Value,
    },
    Wisdom {
        file: String,
        text: String,
    },
}

/// A file that changed during the turn.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FileChange {
    #[serde(default, rename = "in", skip_serializing_if = "is_default")]
    pub root: Root,
    /// Relative to that folder, with `/` between names.
    pub path: String,
    #[serde(flatten)]
    pub content: Content,
    /// The agent did not name the file, and other workers were running: each of them gets the change.
    #[serde(default, skip_serializing_if = "is_default")]
    pub guessed: bool,
}

/// The folder that a path is relative to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Root {
    #[default]
    Project,
    Session,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    Text(String),
    /// An executable text file.
    Script(String),
    /// It was removed.
    Gone(bool),
    /// Not in the cassette, for this reason.
    LeftOut(String),
}

/// How the turn's process ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    Exit(i32),
    Signal(i32),
    /// A time limit ended it, with this error.
    Stopped {
        stop: StopReason,
        error: String,
    },
    /// It got a message during the turn and continued in the next one.
    #[serde(rename = "went_on")]
    Continued,
    /// It could not be started, for this reason.
    NotStarted(String),
}

/// Identifies the row and its instruction in a cassette.
fn fingerprint_text(print: Fingerprint) -> String {
    format!("{:016x}{:016x}", print.row, print.instruction)
}
