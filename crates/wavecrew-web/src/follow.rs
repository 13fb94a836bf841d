//! Follows sessions while they grow: keeps the current ledger, and the events that it was computed from.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;
use wavecrew_core::engine::Ledger;
use wavecrew_core::event::Event;
use wavecrew_process::LockAnyway;
use wavecrew_session::{Holder, JournalTail, SessionDir, SessionError, SessionInfo, SessionView, state_name};

/// Sessions that are kept in memory.
const KEPT: usize = 8;

pub struct Followed {
    pub dir: SessionDir,
    pub info: Option<SessionInfo>,
    pub ledger: Ledger,
    pub events: Vec<Event>,
    pub holder: Option<Holder>,
    /// Problems of reading the session.
    pub problems: Vec<String>,
    tail: JournalTail,
    damaged: bool,
    /// When `info` was written.
    info_written: Option<SystemTime>,
}

impl Followed {
    pub fn open(dir: SessionDir) -> Result<Self, SessionError> {
        let info_written = written(&dir);
        let view = SessionView::load(dir)?;
        let SessionView {
            dir,
            info,
            mut ledger,
            events: folded,
            holder,
            mut problems,
        } = view;
        let mut tail = JournalTail::new(dir.journal_file());
        let mut events = Vec::new();
        let damaged = match tail.catch_up(&mut events) {
            Ok(()) => {
                for event in events.iter().skip(folded) {
                    ledger.apply(event);
                }
                false
            }
            Err(error) => {
                // The events before the damage show more than the table alone.
                if let Ok(read) = dir.read_ledger(Arc::clone(&ledger.team), &events) {
                    ledger = read;
                    problems.push(format!(
                        "the journal is read up to event {}; later events cannot be read",
                        events.len()
                    ));
                } else if problems.is_empty() {
                    problems.push(error.first_line());
                }
                true
            }
        };
        Ok(Self {
            dir,
            info,
            ledger,
            events,
            holder,
            problems,
            tail,
            damaged,
            info_written,
        })
    }

    /// Reads new events.
    pub fn refresh(&mut self) -> Result<(), SessionError> {
        let holder = self.dir.holder().unwrap_or_default();
        // The state of open attempts depends on whether the session runs. Files that a running session lacks
        // may be about to be created.
        if holder.is_some() != self.holder.is_some() || (self.damaged && holder.is_some()) {
            *self = Self::open(self.dir.clone())?;
            return Ok(());
        }
        self.holder = holder;
        // Another process may archive or cancel the session without showing up as its holder.
        let info_written = written(&self.dir);
        if info_written != self.info_written
            && let Ok(info) = self.dir.read_info()
        {
            self.info = Some(info);
            self.info_written = info_written;
        }
        if self.damaged {
            return Ok(());
        }
        let before = self.events.len();
        if let Err(error) = self.tail.catch_up(&mut self.events) {
            self.damaged = true;
            self.problems.push(error.first_line());
        }
        for event in &self.events[before..] {
            self.ledger.apply(event);
        }
        Ok(())
    }

    /// The state after the first `number` events.
    pub fn ledger_at(&self, number: usize) -> Result<Ledger, SessionError> {
        let number = number.min(self.events.len());
        self.dir
            .read_ledger(Arc::clone(&self.ledger.team), &self.events[..number])
    }

    pub fn state(&self) -> &'static str {
        state_name(self.holder.as_ref(), self.info.as_ref(), self.ledger.paused)
    }
}

fn written(dir: &SessionDir) -> Option<SystemTime> {
    fs::metadata(dir.session_json())
        .and_then(|meta| meta.modified())
        .ok()
}

/// The sessions of a project that browsers have open.
pub struct Followers {
    project: PathBuf,
    open: Mutex<HashMap<String, Arc<Mutex<Followed>>>>,
}

impl Followers {
    pub fn of(project: PathBuf) -> Self {
        Self {
            project,
            open: Mutex::default(),
        }
    }

    pub fn project(&self) -> &Path {
        &self.project
    }

    /// The session of this id, up to date.
    pub fn get(&self, id: &str) -> Result<Arc<Mutex<Followed>>, SessionError> {
        let known = self.open.lock_anyway().get(id).cloned();
        if let Some(known) = known {
            // A removed folder is no longer a session.
            SessionDir::open(&self.project, id)?;
            known.lock_anyway().refresh()?;
            return Ok(known);
        }
        let followed = Arc::new(Mutex::new(Followed::open(SessionDir::open(&self.project, id)?)?));
        let mut open = self.open.lock_anyway();
        if open.len() >= KEPT {
            open.retain(|_, session| Arc::strong_count(session) > 1);
        }
        open.insert(id.to_owned(), Arc::clone(&followed));
        Ok(followed)
    }
}
