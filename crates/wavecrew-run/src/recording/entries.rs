//! Collects the entries that workers add to the board, the bus and the wisdom files, and attributes each to the turn of
//! its task.

use super::SharedEntry;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use wavecrew_session::{Discovery, Message, SessionDir, WisdomFile};

/// Reads the lines that are added to a file.
#[derive(Debug)]
struct FollowedFile {
    path: PathBuf,
    offset: u64,
}

impl FollowedFile {
    /// From its current end.
    fn from_end(path: PathBuf) -> Self {
        let offset = path.metadata().map_or(0, |found| found.len());
        Self { path, offset }
    }

    /// Complete lines since the last call. What cannot be read now is read later.
    fn lines(&mut self) -> Vec<String> {
        let Ok(bytes) = read_from(&self.path, self.offset) else {
            return Vec::new();
        };
        let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1);
        self.offset += whole as u64;
        let text = String::from_utf8_lossy(&bytes[..whole]);
        text.lines().map(str::to_owned).collect()
    }
}

fn read_from(path: &Path, offset: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Entries that are not attributed to a turn yet.
#[derive(Debug)]
pub(super) struct SharedEntries {
    board: FollowedFile,
    bus: FollowedFile,
    wisdom: Vec<(WisdomFile, FollowedFile)>,
    /// The task, or for wisdom the name of its author, and the entry.
    unattributed: Vec<(String, SharedEntry)>,
}

impl SharedEntries {
    pub fn new(session: &SessionDir) -> Self {
        let wisdom = WisdomFile::ALL.map(|file| (file, FollowedFile::from_end(session.wisdom().path(file))));
        Self {
            board: FollowedFile::from_end(session.discoveries_file()),
            bus: FollowedFile::from_end(session.messages_file()),
            wisdom: wisdom.into(),
            unattributed: Vec::new(),
        }
    }

    /// The entries of a task since the last call. Wisdom is signed with the role: of two workers of a role, the one that
    /// ends first gets it.
    pub fn take(&mut self, task: &str, role: &str) -> Vec<SharedEntry> {
        self.read();
        let (own, rest) = std::mem::take(&mut self.unattributed)
            .into_iter()
            .partition(|(author, entry)| match entry {
                SharedEntry::Wisdom { .. } => author == if role.is_empty() { task } else { role },
                SharedEntry::Discovery { .. } | SharedEntry::Message { .. } => author == task,
            });
        self.unattributed = rest;
        let own: Vec<(String, SharedEntry)> = own;
        own.into_iter().map(|(_, entry)| entry).collect()
    }

    fn read(&mut self) {
        for entry in parsed::<Discovery>(&mut self.board) {
            let shared = SharedEntry::Discovery {
                r#type: entry.kind,
                data: entry.data,
            };
            self.unattributed.push((entry.worker, shared));
        }
        for entry in parsed::<Message>(&mut self.bus) {
            // A replay creates the messages of the coordinator again.
            let Some(task) = entry.extra.get("task").and_then(|task| task.as_str()) else {
                continue;
            };
            let shared = SharedEntry::Message {
                r#type: entry.kind,
                summary: entry.summary,
                data: entry.data,
            };
            self.unattributed.push((task.to_owned(), shared));
        }
        for (file, follow) in &mut self.wisdom {
            for line in follow.lines() {
                let Some((author, text)) = line.strip_prefix("- [").and_then(|rest| rest.split_once("] "))
                else {
                    continue;
                };
                let shared = SharedEntry::Wisdom {
                    file: file.name().to_owned(),
                    text: text.to_owned(),
                };
                self.unattributed.push((author.to_owned(), shared));
            }
        }
    }
}

fn parsed<T: DeserializeOwned>(follow: &mut FollowedFile) -> Vec<T> {
    let lines = follow.lines();
    lines
        .iter()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}
