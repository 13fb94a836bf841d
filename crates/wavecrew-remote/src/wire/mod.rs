//! The messages between coordinator and host. A message is one line of JSON, followed by the raw bytes that
//! it carries, if any. The format may grow: unknown fields are ignored, unknown kinds are [`ToHost::Unknown`]
//! and [`FromHost::Unknown`]. A host sends messages that wait at the same time as one [`bundle`].

use std::collections::BTreeMap;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Increased when an older version could misunderstand a message. A host and a coordinator of different
/// versions refuse each other.
pub const WIRE_VERSION: u32 = 2;
/// Maximum output in one message, in bytes: well below the 1 MB that a server accepts by default.
pub const OUTPUT_CHUNK: usize = 256 * 1024;

/// The entry of a host in the bucket of hosts, which `wavecrew workers` lists. Written at every change and
/// every few seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostAnnouncement {
    pub wire: u32,
    /// Unique among the hosts of a project.
    pub host: String,
    /// Different for every start of `wavecrew worker`: leases of an earlier start are lost.
    pub boot: String,
    /// The version of the program.
    pub program: String,
    pub slots: u32,
    pub busy: u32,
    /// The busy slots of each run: a run knows its own better, without delay.
    #[serde(default)]
    pub runs: BTreeMap<String, u32>,
    #[serde(default)]
    pub labels: Vec<String>,
    #[serde(default)]
    pub agents: Vec<HostAgent>,
    /// The one-minute load average.
    #[serde(default)]
    pub load: Option<f32>,
    /// The host is shutting down and takes no new attempt.
    #[serde(default)]
    pub draining: bool,
}

/// An agent found on a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostAgent {
    pub name: String,
    #[serde(default)]
    pub version: Option<String>,
}

/// One attempt on one host, to which a lease belongs. A token is never used twice.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AttemptToken {
    /// The session.
    pub run: String,
    pub task: String,
    pub attempt: u32,
    /// Random. Two offers of the same attempt differ in it.
    pub token: String,
}

impl AttemptToken {
    /// The last part of the lease's key.
    pub fn key(&self) -> String {
        format!("{}-{}-{}", self.task, self.attempt, self.token)
    }
}

/// From a coordinator to a host. Signed by the key of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ToHost {
    /// Start a turn of an attempt. The first one offers the lease; the next ones need it.
    Turn(Box<Turn>),
    /// Bytes for the standard input of a turn's process, which follow the JSON. `last` closes it.
    Input {
        attempt: AttemptToken,
        turn: u32,
        offset: u64,
        #[serde(default)]
        last: bool,
    },
    /// End the processes of a turn: SIGTERM first, then SIGKILL after the grace time.
    Close {
        attempt: AttemptToken,
        turn: u32,
        grace: Duration,
    },
    /// The answer to [`FromHost::Request`] with this number.
    Reply {
        attempt: AttemptToken,
        turn: u32,
        number: u64,
        reply: serde_json::Value,
    },
    /// From a newer program.
    #[serde(other)]
    Unknown,
}

/// What the host starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    pub attempt: AttemptToken,
    /// Numbered from 1 within the attempt.
    pub turn: u32,
    /// The host that the turn is for. Any other host refuses it.
    pub host: String,
    /// How long the lease holds after a renewal.
    pub lease: Duration,
    pub program: String,
    #[serde(default)]
    pub args: Vec<String>,
    /// Relative to the copy of the project on the host.
    #[serde(default)]
    pub folder: String,
    #[serde(default)]
    pub env_set: Vec<(String, String)>,
    #[serde(default)]
    pub env_remove: Vec<String>,
    /// The manifest of the files, by its hash in the object store.
    #[serde(default)]
    pub files: Option<String>,
    /// Folders and files that are sent back, relative to the copy of the project.
    #[serde(default)]
    pub bring_back: Vec<String>,
    /// Data that the driver adds for the host: sandbox, role, isolation.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub details: serde_json::Value,
}

/// From a host to the coordinator of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FromHost {
    /// The host holds the lease and prepares the files. Has everything that a coordinator needs to continue
    /// the run of another one.
    Accepted {
        attempt: AttemptToken,
        turn: u32,
        #[serde(default)]
        host: String,
        /// As in [`HostAnnouncement`].
        #[serde(default)]
        boot: String,
        /// The part of [`Turn::details`] that is needed to copy its files back.
        #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
        details: serde_json::Value,
    },
    /// The host refuses the turn. The attempt has not begun.
    Refused {
        attempt: AttemptToken,
        turn: u32,
        reason: Refusal,
    },
    Spawned {
        attempt: AttemptToken,
        turn: u32,
        pid: i32,
        start_time: u64,
    },
    SpawnFailed {
        attempt: AttemptToken,
        turn: u32,
        errno: i32,
        #[serde(default)]
        reason: String,
    },
    /// Bytes that follow the JSON. `offset` counts from the first byte of the stream in this turn.
    Output {
        attempt: AttemptToken,
        turn: u32,
        stream: OutputStream,
        offset: u64,
    },
    /// A command of the worker, such as its report. The coordinator answers with [`ToHost::Reply`].
    Request {
        attempt: AttemptToken,
        turn: u32,
        number: u64,
        request: serde_json::Value,
    },
    /// The process and everything it started have ended, its output is complete, its files are in the object store or in
    /// this message: small ones follow the JSON.
    Exited {
        attempt: AttemptToken,
        turn: u32,
        exit: Exit,
        #[serde(default)]
        killed_leftovers: u32,
        /// Lengths of the output, so that the coordinator detects a gap.
        #[serde(default)]
        stdout: u64,
        #[serde(default)]
        stderr: u64,
        /// The manifest of the files to copy back, by its hash. `None`: nothing changed.
        #[serde(default)]
        files: Option<String>,
        /// The hashes and lengths of the objects that follow.
        #[serde(default)]
        inline: Vec<(String, usize)>,
    },
    /// The host released or lost the lease, and has ended its processes.
    Lost { attempt: AttemptToken },
    /// From a newer program.
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputStream {
    Stdout,
    Stderr,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    Code(i32),
    Signal(i32),
}

/// Why a host refuses a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Refusal {
    /// No free slot, or the host is shutting down.
    Busy,
    /// Not signed, or signed by somebody whom the host does not trust.
    NotTrusted {
        key: String,
    },
    /// A host or a coordinator with another [`WIRE_VERSION`].
    Version {
        wire: u32,
        program: String,
    },
    NoAgent {
        agent: String,
    },
    /// The files could not be fetched or written.
    Files {
        reason: String,
    },
    /// The lease was revoked before it was accepted.
    Withdrawn,
    #[serde(other)]
    Other,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a wavecrew message: {0}")]
pub struct Malformed(String);

/// The message and the bytes that it carries.
pub fn encode(message: &impl Serialize, body: &[u8]) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(message).expect("messages are plain data");
    if !body.is_empty() {
        bytes.push(b'\n');
        bytes.extend_from_slice(body);
    }
    bytes
}

/// The message and the bytes after it.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<(T, &[u8]), Malformed> {
    // JSON without line breaks: the first one ends it.
    let end = bytes
        .iter()
        .position(|byte| *byte == b'\n')
        .unwrap_or(bytes.len());
    let message = serde_json::from_slice(&bytes[..end]).map_err(|error| Malformed(error.to_string()))?;
    Ok((message, bytes.get(end + 1..).unwrap_or_default()))
}

/// Several messages as one, in order: a line with their lengths, and the messages.
pub fn bundle(messages: &[Vec<u8>]) -> Vec<u8> {
    if let [one] = messages {
        return one.clone();
    }
    let lengths: Vec<usize> = messages.iter().map(Vec::len).collect();
    encode(&lengths, &messages.concat())
}

/// The messages in what [`bundle`] made.
pub fn unbundle(bytes: &[u8]) -> Result<Vec<&[u8]>, Malformed> {
    if bytes.first() != Some(&b'[') {
        return Ok(vec![bytes]);
    }
    let (lengths, mut rest) = decode::<Vec<usize>>(bytes)?;
    let mut messages = Vec::new();
    for length in lengths {
        let cut = rest.split_at_checked(length);
        let (message, after) = cut.ok_or_else(|| Malformed("it is cut off".to_owned()))?;
        messages.push(message);
        rest = after;
    }
    Ok(messages)
}

#[cfg(test)]
mod tests;
