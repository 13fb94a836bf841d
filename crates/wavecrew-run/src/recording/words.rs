//! What workers say on the board, the bus and in the wisdom files while a run is recorded: each entry goes to the turn
//! of the task that said it.

use super::Said;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use wavecrew_session::{Discovery, Message, SessionDir, WisdomFile};

/// Reads what is added to a file of lines.
#[derive(Debug)]
struct Follow {
    path: PathBuf,
    offset: u64,
}

impl Follow {
    /// From its end as it is now.
    fn from_here(path: PathBuf) -> Self {
        let offset = path.metadata().map_or(0, |found| found.len());
        Self { path, offset }
    }

    /// Whole lines since the last look. What cannot be read now is read later.
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

/// Entries that no turn has taken yet.
#[derive(Debug)]
pub(super) struct Words {
    board: Follow,
    bus: Follow,
    wisdom: Vec<(WisdomFile, Follow)>,
    /// The task, or for wisdom the name under which it was written, and what was said.
    pool: Vec<(String, Said)>,
}

impl Words {
    pub fn new(session: &SessionDir) -> Self {
        let wisdom = WisdomFile::ALL.map(|file| (file, Follow::from_here(session.wisdom().path(file))));
        Self {
            board: Follow::from_here(session.discoveries_file()),
            bus: Follow::from_here(session.messages_file()),
            wisdom: wisdom.into(),
            pool: Vec::new(),
        }
    }

    /// What the task has said since this was asked last. Wisdom is signed with the role: of two workers of a role,
    /// the one that ends first takes it.
    pub fn take(&mut self, task: &str, role: &str) -> Vec<Said> {
        self.look();
        let (own, rest) = std::mem::take(&mut self.pool)
            .into_iter()
            .partition(|(who, said)| match said {
                Said::Wisdom { .. } => who == if role.is_empty() { task } else { role },
                Said::Discovery { .. } | Said::Message { .. } => who == task,
            });
        self.pool = rest;
        let own: Vec<(String, Said)> = own;
        own.into_iter().map(|(_, said)| said).collect()
    }

    fn look(&mut self) {
        for entry in parsed::<Discovery>(&mut self.board) {
            let said = Said::Discovery {
                r#type: entry.kind,
                data: entry.data,
            };
            self.pool.push((entry.worker, said));
        }
        for entry in parsed::<Message>(&mut self.bus) {
            // Messages of the coordinator come again by themselves.
            let Some(task) = entry.extra.get("task").and_then(|task| task.as_str()) else {
                continue;
            };
            let said = Said::Message {
                r#type: entry.kind,
                summary: entry.summary,
                data: entry.data,
            };
            self.pool.push((task.to_owned(), said));
        }
        for (file, follow) in &mut self.wisdom {
            for line in follow.lines() {
                let Some((who, text)) = line.strip_prefix("- [").and_then(|rest| rest.split_once("] "))
                else {
                    continue;
                };
                let said = Said::Wisdom {
                    file: file.name().to_owned(),
                    text: text.to_owned(),
                };
                self.pool.push((who.to_owned(), said));
            }
        }
    }
}

fn parsed<T: DeserializeOwned>(follow: &mut Follow) -> Vec<T> {
    let lines = follow.lines();
    lines
        .iter()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}
