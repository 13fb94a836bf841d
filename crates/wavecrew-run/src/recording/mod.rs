//! Cassettes: the recording of a run, and its playing. One file of JSON lines: a header, then one line per turn of a
//! worker's conversation, in the order in which they were over. Everything in it went through the redactor.
//!
//! Owns the format. Refuses to write anywhere but below the folders that it was given.

mod changes;
mod index;
mod place;
mod play;
mod player;
mod record;
mod tape;
mod tree;
mod words;

pub(crate) use changes::Named;
pub use index::{Cassette, CassetteError};
pub use play::play_main;
pub use player::PLAY;
pub(crate) use player::Player;
pub use record::Recorder;
pub(crate) use record::{Begun, Over};
pub(crate) use tape::Tape;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use wavecrew_core::event::{Fingerprint, StopReason, TokenUsage};

/// The newest format that this code reads, and the one that it writes.
pub const FORMAT: u32 = 1;

/// What `--agent` starts with when a cassette does the tasks.
pub const PREFIX: &str = "replay:";

/// The first line.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Header {
    /// The format's version; its name says what the file is.
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
    /// Who did it, as `--agent` names it.
    pub agent: String,
    /// Of the row and its instruction.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub print: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub output: Vec<Printed>,
    /// Lines that were too many or too long to be kept.
    #[serde(default, skip_serializing_if = "is_default")]
    pub left_out: u64,
    /// Over MCP or `wavecrew report`; a report that ends the output is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_file: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<Said>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileChange>,
    /// A replay counts again what the output tells; programs whose output tells nothing leave this.
    #[serde(default, skip_serializing_if = "TokenUsage::is_nothing")]
    pub usage: TokenUsage,
    pub end: End,
    /// Of the attempt, with its last turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<StopReason>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A line that the worker printed, with its line break.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Printed {
    Out(String),
    Err(String),
}

/// Something for the other workers or the coordinator.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
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

/// What became of a file during the turn.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FileChange {
    #[serde(default, rename = "in", skip_serializing_if = "is_default")]
    pub root: Root,
    /// Below that folder, with `/` between names.
    pub path: String,
    #[serde(flatten)]
    pub content: Content,
    /// The agent did not say that it wrote it, and others were running: each of them has it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub guessed: bool,
}

/// The folder that a path is seen from.
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
    /// A text that may be run.
    Script(String),
    /// It was removed.
    Gone(bool),
    /// Why it is not in the cassette.
    LeftOut(String),
}

/// How the turn's process ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    Exit(i32),
    Signal(i32),
    /// One of our clocks ended it, and these were the words for it.
    Stopped {
        stop: StopReason,
        error: String,
    },
    /// It was told something while it worked, and went on in the next turn.
    WentOn,
    /// It never began, and this is why.
    NotStarted(String),
}

/// What tells whether a row is the one that was recorded.
pub(crate) fn print_of(print: Fingerprint) -> String {
    format!("{:016x}{:016x}", print.row, print.instruction)
}
