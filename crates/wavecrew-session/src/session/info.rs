//! `session.json`: what a session is about, and the list of a project's sessions.

use super::SessionDir;
use crate::atomic;
use crate::error::{IoContext, SessionError};
use crate::paths::ProjectPaths;
use crate::worker_file::{WorkerFile, not_a_file, read_limited};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The version of the folder that this code writes, and the newest that it reads.
pub const SESSION_FORMAT: u32 = 1;
/// Bytes of a `session.json` that are read.
const MAX_INFO: u64 = 16 << 20;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SessionInfo {
    pub format: u32,
    pub id: String,
    pub team: String,
    pub pipeline: Option<String>,
    pub request: String,
    /// Agents of roles that were given one by name.
    #[serde(default)]
    pub agents: BTreeMap<String, String>,
    /// The agent of every other role.
    pub default_agent: String,
    /// The wavecrew that started the session.
    pub version: String,
    /// RFC 3339 in UTC.
    pub started_at: String,
    pub state: SessionState,
    /// The table that the session was started from, if any.
    #[serde(default)]
    pub source_file: Option<PathBuf>,
    #[serde(default)]
    pub base_commit: Option<String>,
    pub concurrency: usize,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl SessionInfo {
    /// A session that begins: in the folder `id`, with this team and these agents.
    pub fn begin(id: &str, team: &str, started_at: String, default_agent: &str, concurrency: usize) -> Self {
        Self {
            format: SESSION_FORMAT,
            id: id.to_owned(),
            team: team.to_owned(),
            pipeline: None,
            request: String::new(),
            agents: BTreeMap::new(),
            default_agent: default_agent.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at,
            state: SessionState::Running,
            source_file: None,
            base_commit: None,
            concurrency,
            extra: Map::new(),
        }
    }

    /// The cassette, if an agent of the session is a replay.
    pub fn replay(&self) -> Option<&str> {
        let mut names = self.agents.values().chain([&self.default_agent]);
        names.find_map(|name| name.strip_prefix("replay:"))
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    Running,
    /// Stopped by a person, a gate, a budget or a crash; `--continue` continues it.
    Stopped,
    Stalled,
    Completed,
    /// Everything ran, and something failed or was skipped.
    Failed,
    Cancelled,
    Archived,
}

impl SessionState {
    /// Whether `--continue` without a name may choose it.
    pub fn can_continue(self) -> bool {
        self.is_unfinished() || self == Self::Cancelled
    }

    /// Whether it is unfinished and not cancelled.
    pub fn is_unfinished(self) -> bool {
        match self {
            Self::Running | Self::Stopped | Self::Stalled => true,
            Self::Completed | Self::Failed | Self::Cancelled | Self::Archived => false,
        }
    }
}

impl SessionDir {
    pub fn read_info(&self) -> Result<SessionInfo, SessionError> {
        #[derive(Deserialize)]
        struct Format {
            format: u32,
        }
        let path = self.session_json();
        let bytes = match read_limited(&path, MAX_INFO).context("read", &path)? {
            WorkerFile::Regular((bytes, _)) => bytes,
            WorkerFile::Nothing => return Err(io::Error::from(ErrorKind::NotFound)).context("read", &path),
            WorkerFile::Foreign => return Err(not_a_file(&path)),
        };
        // The format first: in a newer one, the other fields may have another meaning.
        let Format { format } = parse(&path, &bytes)?;
        if format > SESSION_FORMAT {
            return Err(SessionError::NewerFormat {
                path,
                found: format,
                known: SESSION_FORMAT,
            });
        }
        parse(&path, &bytes)
    }

    pub fn write_info(&self, info: &SessionInfo) -> Result<(), SessionError> {
        let mut text = serde_json::to_vec_pretty(info).map_err(|error| SessionError::NotJson {
            what: "session.json",
            reason: error.to_string(),
        })?;
        text.push(b'\n');
        atomic::write(&self.session_json(), &text)
    }
}

fn parse<T: serde::de::DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T, SessionError> {
    serde_json::from_slice(bytes).map_err(|error| SessionError::malformed(path, &error))
}

/// One entry of a project's sessions.
#[derive(Debug)]
pub enum SessionEntry {
    Session(SessionDir, Box<SessionInfo>),
    /// Half-written, from a newer version, or not ours: it is listed and does no harm.
    Broken {
        path: PathBuf,
        error: SessionError,
    },
}

/// All sessions of a project, newest first, broken ones at the end.
pub fn list_sessions(root: &Path) -> Result<Vec<SessionEntry>, SessionError> {
    let folder = ProjectPaths::at(root).sessions_folder();
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).context("list", &folder),
    };
    let mut listed = Vec::new();
    for entry in entries {
        let path = entry.context("list", &folder)?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if name.starts_with('.') || path.is_file() {
            continue;
        }
        let found = SessionDir::open(root, &name).and_then(|dir| Ok((dir.read_info()?, dir)));
        listed.push(match found {
            Ok((info, dir)) => SessionEntry::Session(dir, Box::new(info)),
            Err(error) => SessionEntry::Broken { path, error },
        });
    }
    listed.sort_by(|a, b| newest_first(b).cmp(&newest_first(a)));
    Ok(listed)
}

/// Sessions before broken ones, by start. Without the `Z`, a time sorts before the same second with a
/// fraction.
fn newest_first(listed: &SessionEntry) -> (bool, &str, &Path) {
    match listed {
        SessionEntry::Session(dir, info) => (true, info.started_at.trim_end_matches('Z'), dir.path()),
        SessionEntry::Broken { path, .. } => (false, "", path),
    }
}
