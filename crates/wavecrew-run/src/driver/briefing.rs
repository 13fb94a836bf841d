//! What a worker is told besides its row: the board, the wisdom. Reads each file again only when it changed.

use rustix::fs::{AtFlags, statat};
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use wavecrew_agents::Redactor;
use wavecrew_core::engine::Ledger;
use wavecrew_core::event::Verdict;
use wavecrew_core::team::Team;
use wavecrew_session::{SessionDir, WisdomFile};

/// Newest entries of the board that fit into a first message.
const BOARD_BYTES: usize = 16 << 10;
const WISDOM_BYTES: usize = 8 << 10;

pub(super) struct Surroundings {
    /// The session's: its files are asked for often, and from here the way is short.
    folder: Option<File>,
    board_file: PathBuf,
    wisdom_files: Vec<PathBuf>,
    board_seen: Option<Stamp>,
    wisdom_seen: Vec<Option<Stamp>>,
    pub discoveries: Vec<String>,
    pub wisdom: String,
}

type Stamp = (u64, i64, i64, u64);

impl Surroundings {
    pub fn of(session: &SessionDir) -> Self {
        let inside = |path: PathBuf| path.strip_prefix(session.path()).map(Path::to_owned);
        let wisdom = WisdomFile::ALL.iter().map(|file| session.wisdom().path(*file));
        Self {
            // Without it there is nothing to read either.
            folder: File::open(session.path()).ok(),
            board_file: inside(session.discoveries_file()).unwrap_or_default(),
            wisdom_files: wisdom.flat_map(inside).collect(),
            board_seen: None,
            wisdom_seen: Vec::new(),
            discoveries: Vec::new(),
            wisdom: String::new(),
        }
    }

    fn stamp(&self, file: &Path) -> Option<Stamp> {
        let found = statat(self.folder.as_ref()?, file, AtFlags::empty()).ok()?;
        Some((found.st_ino, found.st_size, found.st_mtime, found.st_mtime_nsec))
    }

    pub fn refresh(&mut self, session: &SessionDir, team: &Team, ledger: &Ledger, redactor: &Redactor) {
        let board = self.stamp(&self.board_file);
        if board != self.board_seen {
            self.board_seen = board;
            let entries = discoveries(session, team, ledger);
            // Workers may write there by hand.
            self.discoveries = entries.iter().map(|entry| redactor.text(entry)).collect();
        }
        let wisdom: Vec<_> = self.wisdom_files.iter().map(|file| self.stamp(file)).collect();
        if wisdom != self.wisdom_seen {
            self.wisdom_seen = wisdom;
            self.wisdom = redactor.text(&wisdom_text(session));
        }
    }
}

/// The newest entries, one per key, without those of tasks whose claims turned out to be false.
fn discoveries(session: &SessionDir, team: &Team, ledger: &Ledger) -> Vec<String> {
    let Ok(found) = session.board().read() else {
        return Vec::new();
    };
    let in_data = |key: &Vec<String>| key.iter().map(|field| format!("data.{field}")).collect();
    let keys: HashMap<&str, Vec<String>> = team
        .discoveries
        .iter()
        .map(|kind| (kind.name.as_str(), in_data(&kind.key)))
        .collect();
    let keys = |kind: &str| keys.get(kind).map(Vec::as_slice);
    let mut lines = Vec::new();
    let mut bytes = 0;
    for mut entry in found.dedup(keys).entries.into_iter().rev() {
        let checked = ledger.verdict_of(&entry.worker);
        if checked == Some(Verdict::Contradicted) {
            continue;
        }
        if let Some(checked) = checked {
            entry.extra.insert("task".to_owned(), checked.as_str().into());
        }
        let Ok(line) = serde_json::to_string(&entry) else {
            continue;
        };
        bytes += line.len();
        if bytes > BOARD_BYTES {
            break;
        }
        lines.push(line);
    }
    lines.reverse();
    lines
}

fn wisdom_text(session: &SessionDir) -> String {
    let mut text = String::new();
    for file in WisdomFile::ALL {
        let content = session.wisdom().read(file).unwrap_or_default();
        let entries = content.strip_prefix(file.heading()).unwrap_or(&content).trim();
        if !entries.is_empty() {
            text.push_str(&format!("{}:\n{entries}\n", file.name()));
        }
    }
    if text.len() > WISDOM_BYTES {
        let from = text.ceil_char_boundary(text.len() - WISDOM_BYTES);
        text = format!("(older entries left out)\n{}", &text[from..]);
    }
    text
}
