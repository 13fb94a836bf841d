//! The first message of a worker: its row, the discovery board, the wisdom files, and the brief of a revision.

use crate::checks::claims::artifacts_complete;
use crate::event_loop::Driver;
use crate::worktree::tasks::merged_beside_checkout;
use rustix::fs::{AtFlags, statat};
use std::fs::File;
use std::path::{Path, PathBuf};
use wavecrew_agents::Redactor;
use wavecrew_core::engine::{Assignment, Ledger};
use wavecrew_core::event::{Rework, Verdict};
use wavecrew_core::prompt::{Briefing, Revision, first_message};
use wavecrew_core::team::{Team, Workspace};
use wavecrew_session::worker_file::{WorkerFile, read_limited};
use wavecrew_session::{SessionDir, WisdomFile};

/// Newest entries of the board that fit into a first message.
const BOARD_BYTES: usize = 16 << 10;
const WISDOM_BYTES: usize = 8 << 10;
/// Bytes of a revision's brief that fit into a first message.
const BRIEF_BYTES: usize = 60_000;

/// The board and the wisdom files as text. Reads each file again only after it has changed.
pub(crate) struct SharedNotes {
    /// The session folder: opened once, because its files are checked often.
    folder: Option<File>,
    board_file: PathBuf,
    wisdom_files: Vec<PathBuf>,
    board_seen: Option<Stamp>,
    wisdom_seen: Vec<Option<Stamp>>,
    discoveries: Vec<String>,
    wisdom: String,
}

type Stamp = (u64, i64, i64, u64);

impl SharedNotes {
    pub fn of(session: &SessionDir) -> Self {
        let inside = |path: PathBuf| path.strip_prefix(session.path()).map(Path::to_owned);
        let wisdom = WisdomFile::ALL.iter().map(|file| session.wisdom().path(*file));
        Self {
            // Without it there is nothing to read.
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

    fn refresh(&mut self, session: &SessionDir, team: &Team, ledger: &Ledger, redactor: &Redactor) {
        let board = self.stamp(&self.board_file);
        if board != self.board_seen {
            self.board_seen = board;
            let entries = discoveries(session, team, ledger);
            // Workers may write to the board by hand.
            self.discoveries = entries.iter().map(|entry| redactor.text(entry)).collect();
        }
        let wisdom: Vec<_> = self.wisdom_files.iter().map(|file| self.stamp(file)).collect();
        if wisdom != self.wisdom_seen {
            self.wisdom_seen = wisdom;
            self.wisdom = redactor.text(&wisdom_text(session));
        }
    }
}

impl Driver<'_> {
    pub(super) fn first_message(&mut self, assignment: &Assignment) -> String {
        let ledger = self.engine.ledger();
        self.shared_notes
            .refresh(&self.session.dir, &ledger.team, ledger, &self.redactor);
        let brief = assignment
            .rework
            .as_ref()
            .map(|rework| self.revision_brief(rework));
        let revision = assignment.rework.as_ref().map(|rework| Revision {
            round: rework.round,
            by: &rework.by,
            why: &rework.why,
            brief: brief.as_deref().unwrap_or_default(),
        });
        let merged_beside = (self.any_merged && assignment.workspace == Workspace::Project)
            .then(|| merged_beside_checkout(&self.session))
            .flatten();
        first_message(&Briefing {
            team: &ledger.team,
            plan: ledger.plan(),
            task: assignment.task,
            request: &self.session.info.request,
            session_dir: &self.session.dir.path().to_string_lossy(),
            extra_instruction: self.context.instruction.as_deref(),
            prev_context: &assignment.prev_context,
            discoveries: &self.shared_notes.discoveries,
            wisdom: &self.shared_notes.wisdom,
            revision,
            found: assignment.found.as_deref(),
            // In a revision the artifacts of the last round are not the result.
            artifacts_complete: ledger.task(assignment.task).stop.is_some()
                && assignment.rework.is_none()
                && artifacts_complete(
                    self.session.dir.path(),
                    &ledger.team,
                    ledger.plan(),
                    assignment.task,
                ),
            merged_beside: merged_beside.as_deref(),
        })
    }

    /// The text that the worker of a revision reads.
    fn revision_brief(&self, rework: &Rework) -> String {
        let Some(brief) = &rework.brief else {
            return String::new();
        };
        let path = self.session.dir.path().join(brief);
        let found = read_limited(&path, 2 * BRIEF_BYTES as u64).ok();
        let text = found.and_then(WorkerFile::regular).unwrap_or_default().0;
        let text = self.redactor.text(&String::from_utf8_lossy(&text));
        text[..text.floor_char_boundary(BRIEF_BYTES)].to_owned()
    }
}

/// The newest entries, one per key, without those of tasks whose reports are contradicted.
fn discoveries(session: &SessionDir, team: &Team, ledger: &Ledger) -> Vec<String> {
    let Ok(found) = session.board().read() else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    let mut bytes = 0;
    for mut entry in found.dedup(&team.discoveries).entries.into_iter().rev() {
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
