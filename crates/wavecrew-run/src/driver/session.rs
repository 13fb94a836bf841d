//! A session on disk, made or taken up: the folder, the lock, the journal, the table.

use super::verify::Verify;
use crate::recording::Recorder;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use wavecrew_core::engine::{Ledger, RecoveredReport, TaskProgress};
use wavecrew_core::event::{Event, Status};
use wavecrew_core::id::{ExecMode, TaskIx};
use wavecrew_core::plan::Plan;
use wavecrew_core::team::Team;
use wavecrew_core::time::Timestamp;
use wavecrew_core::view::SessionMeta;
use wavecrew_process::{ProcessId, end_leftovers};
use wavecrew_session::{
    Holder, Journal, PublishOutcome, SessionDir, SessionError, SessionInfo, SessionLock, TableFile, atomic,
};

/// How long a changed table must rest before it counts as a finished edit.
const SETTLE: Duration = Duration::from_millis(300);
/// Processes of the last run that are looked for one by one; guardians see to the rest.
const RECENT_PROCESSES: usize = 2000;

/// Says where the worker of a task works, and makes that place if need be.
pub type Folders = Box<dyn FnMut(&str) -> Result<PathBuf, String>>;

/// The session of a run, with the lock that makes this process its only writer.
pub struct OpenSession {
    pub dir: SessionDir,
    pub info: SessionInfo,
    /// Where workers stand.
    pub project: PathBuf,
    /// Replaces the team's limit on logs.
    pub log_bytes: Option<u64>,
    /// Where the worker of a task works, if not in the project.
    pub folders: Option<Folders>,
    /// What has to succeed before a task counts as done.
    pub verify: Option<Verify>,
    /// Writes down what workers do, to be played again.
    pub recorder: Option<Recorder>,
    pub(super) journal: Journal<Event>,
    table: Option<TableFile>,
    recovered: Vec<RecoveredReport>,
    _lock: SessionLock,
}

/// What a new session is made from.
pub struct NewSession<'a> {
    pub project: &'a Path,
    /// The folder's name, before `-2`, `-3`.
    pub id_base: &'a str,
    pub team: &'a Team,
    /// The text of the team's file, kept so that the session means the same for ever.
    pub team_text: &'a str,
    pub plan: &'a Plan,
    pub holder: Holder,
}

impl NewSession<'_> {
    /// Makes the folder and everything in it; `session.json` comes last and makes it a session.
    pub fn create(
        self,
        info: impl FnOnce(&SessionDir) -> SessionInfo,
    ) -> Result<(OpenSession, Ledger), SessionError> {
        let folders: Vec<&str> = self.team.folders.iter().map(String::as_str).collect();
        let dir = SessionDir::create(self.project, self.id_base, &folders)?;
        let lock = dir.lock(&self.holder)?;
        let mut bytes = Vec::new();
        self.plan
            .render(&mut bytes, |_, _| None)
            .expect("writing to memory");
        atomic::write(&dir.plan_file(), &bytes)?;
        atomic::write(&dir.team_file(), self.team_text.as_bytes())?;
        let journal = Journal::create(&dir.journal_file())?;
        let mut table = TableFile::open(&dir, SETTLE)?;
        let ledger = dir.read_ledger(self.team.clone(), &[])?;
        // Nobody knows the new folder: there is nothing to be found but our own version.
        let _: PublishOutcome = table.publish(&render(&ledger))?;
        let info = info(&dir);
        dir.write_info(&info)?;
        let session = OpenSession {
            dir,
            info,
            project: self.project.to_owned(),
            log_bytes: None,
            folders: None,
            verify: None,
            recorder: None,
            journal,
            table: Some(table),
            recovered: Vec::new(),
            _lock: lock,
        };
        Ok((session, ledger))
    }
}

impl OpenSession {
    /// Takes up a session: ends what its last run left behind, finds reports that got in, replays the journal.
    /// `current_team` is the team's file as it is now, if it is not a built-in one.
    pub fn take_up(
        project: &Path,
        dir: SessionDir,
        holder: &Holder,
        current_team: Option<Team>,
    ) -> Result<(Self, Ledger), SessionError> {
        let info = dir.read_info()?;
        let lock = dir.lock(holder)?;
        dir.sweep()?;
        let (journal, events) = if dir.journal_file().exists() {
            let (journal, events, _) = Journal::<Event>::open(&dir.journal_file())?;
            (journal, events)
        } else {
            // Without its memory the session is what its table says.
            let table = dir.tasks_csv();
            let unreadable = |source| SessionError::Io {
                operation: "read",
                path: table.clone(),
                source,
            };
            atomic::write(&dir.plan_file(), &fs::read(&table).map_err(unreadable)?)?;
            // Attempts are counted anew, and must not meet reports of the old ones.
            dir.attempts().sweep()?;
            (Journal::create(&dir.journal_file())?, Vec::new())
        };
        let guardian = read_guardian(&dir);
        let _ = end_leftovers(guardian.as_ref(), &processes_of_last_run(&events), dir.path());
        // Private files of workers that are gone.
        let _ = fs::remove_dir_all(dir.scratch_folder());
        let recovered = dir.attempts().recover()?;
        let team = match current_team {
            Some(team) => team,
            None => dir.read_team()?,
        };
        let ledger = dir.read_ledger(team, &events)?;
        mend_interactive(&dir, &ledger)?;
        let table = TableFile::open(&dir, Duration::ZERO)?;
        let session = Self {
            dir,
            info,
            project: project.to_owned(),
            log_bytes: None,
            folders: None,
            verify: None,
            recorder: None,
            journal,
            table: Some(table),
            recovered,
            _lock: lock,
        };
        Ok((session, ledger))
    }

    /// Edits that were made while nothing ran.
    pub fn edits_since(&mut self) -> Result<Option<Vec<u8>>, SessionError> {
        match &mut self.table {
            Some(table) => table.check(),
            None => Ok(None),
        }
    }

    /// Adds events that come from outside the driver: resets, edits.
    pub fn record(&mut self, events: &[Event]) -> Result<(), SessionError> {
        self.journal.append(events)?;
        self.journal.sync()
    }

    /// Where the worker of this task works.
    pub(super) fn folder_of(&mut self, task: &str) -> Result<PathBuf, String> {
        match &mut self.folders {
            Some(folders) => folders(task),
            None => Ok(self.project.clone()),
        }
    }

    pub(super) fn resolve(&self, program: &OsStr) -> OsString {
        resolve(&self.project, program)
    }

    /// What reports say about the session.
    pub fn meta(&self) -> SessionMeta<'_> {
        let folder = self.dir.path().to_str().unwrap_or_default();
        self.dir.meta(folder, Some(&self.info))
    }

    pub(super) fn take_table(&mut self) -> TableFile {
        self.table.take().expect("a session is driven once")
    }

    pub(super) fn take_recovered(&mut self) -> Vec<RecoveredReport> {
        std::mem::take(&mut self.recovered)
    }

    pub(super) fn note_guardian(&self, process: &ProcessId) -> Result<(), SessionError> {
        let text = serde_json::to_vec(process).expect("a process is plain data");
        atomic::write_volatile(&self.dir.guardian_file(), &text)
    }
}

/// The session's table as it is to be published.
pub(super) fn render(ledger: &Ledger) -> Vec<u8> {
    let mut bytes = Vec::new();
    ledger
        .plan()
        .render(&mut bytes, |task, column| ledger.cell(task, column))
        .expect("writing to memory");
    bytes
}

/// Writes `interactive/{id}-result.json`.
pub(super) fn write_interactive(dir: &SessionDir, ledger: &Ledger, task: TaskIx) -> Result<(), SessionError> {
    let path = dir.interactive_result(ledger.plan().id(task));
    atomic::write(&path, &interactive_result(ledger, task))
}

/// Writes the results of interactive tasks that a crash cut off between the journal and the file.
fn mend_interactive(dir: &SessionDir, ledger: &Ledger) -> Result<(), SessionError> {
    let plan = ledger.plan();
    for task in plan.tasks() {
        let state = ledger.task(task);
        // Without a stop reason no worker of ours made the result.
        let ours = state.progress == TaskProgress::Done && state.stop.is_some();
        if plan.mode(task) != ExecMode::Interactive || !ours || state.result.status == Status::Skipped {
            continue;
        }
        let there = fs::read(dir.interactive_result(plan.id(task))).unwrap_or_default();
        if there != interactive_result(ledger, task) {
            write_interactive(dir, ledger, task)?;
        }
    }
    Ok(())
}

fn interactive_result(ledger: &Ledger, task: TaskIx) -> Vec<u8> {
    let (id, state) = (ledger.plan().id(task), ledger.task(task));
    let mut result = serde_json::json!({
        "task_id": id,
        "status": state.result.status,
        "findings": state.result.findings,
        "error": state.result.error,
        "verified": state.result.verdict,
        "timestamp": state.ended.unwrap_or(Timestamp(0)).to_string(),
    });
    // Facts first: a column of the team has the last word on a name.
    for (name, value) in state.result.facts.iter().chain(&state.result.outputs) {
        result[name] = value.as_str().into();
    }
    let mut text = serde_json::to_vec_pretty(&result).expect("plain data");
    text.push(b'\n');
    text
}

fn read_guardian(dir: &SessionDir) -> Option<ProcessId> {
    serde_json::from_slice(&fs::read(dir.guardian_file()).ok()?).ok()
}

/// The newest processes of a run that has no end in the journal.
fn processes_of_last_run(events: &[Event]) -> Vec<ProcessId> {
    let mut recent: VecDeque<&ProcessId> = VecDeque::new();
    for event in events {
        match event {
            Event::RunStarted { .. } | Event::RunEnded { .. } => recent.clear(),
            Event::Spawned { process, .. } => {
                recent.push_back(process);
                if recent.len() > RECENT_PROCESSES {
                    recent.pop_front();
                }
            }
            _ => {}
        }
    }
    recent.into_iter().cloned().collect()
}

/// A relative path is seen from the project; a bare name is looked up on PATH.
pub fn resolve(project: &Path, program: &OsStr) -> OsString {
    let path = Path::new(program);
    if path.is_relative() && path.components().count() > 1 {
        project.join(path).into_os_string()
    } else {
        program.to_owned()
    }
}
