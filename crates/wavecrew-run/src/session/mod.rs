//! The session of a run: created or resumed, with its lock, journal and table.

pub(crate) mod interactive_results;
mod killed_sessions;
pub mod report;

use crate::checks::Verify;
use crate::recording::Recorder;
use crate::table::render;
use killed_sessions::{Sweeping, sweep_killed_sessions};
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use wavecrew_core::engine::{Ledger, RecoveredReport};
use wavecrew_core::event::Event;
use wavecrew_core::plan::Plan;
use wavecrew_core::sheet::Origin;
use wavecrew_core::team::Team;
use wavecrew_core::view::SessionMeta;
use wavecrew_process::{ProcessId, end_leftovers};
use wavecrew_session::{
    Holder, IoContext, Journal, JournalReplica, PublishOutcome, SessionDir, SessionError, SessionInfo,
    SessionLock, TableFile, atomic,
};

/// How long an edited table must stay unchanged before the edit counts as finished.
const EDIT_PAUSE: Duration = Duration::from_millis(300);
/// Processes of the last run that are searched one by one; the guardian ends the rest.
const RECENT_PROCESSES: usize = 2000;

/// Returns the working folder for a task's worker, and creates it if necessary.
pub type Folders = Box<dyn FnMut(&str) -> Result<PathBuf, String>>;

/// The session of a run, with the lock that makes this process its only writer.
pub struct OpenSession {
    pub dir: SessionDir,
    pub info: SessionInfo,
    /// The folder in which workers work.
    pub project: PathBuf,
    /// Replaces the team's limit on logs.
    pub log_bytes: Option<u64>,
    /// The working folders of tasks, if not the project.
    pub folders: Option<Folders>,
    /// A command that has to succeed before a task counts as done.
    pub verify: Option<Verify>,
    /// Records what workers do, for a replay.
    pub recorder: Option<Recorder>,
    pub(crate) journal: Journal<Event>,
    table: Option<TableFile>,
    recovered: Vec<RecoveredReport>,
    sweeping: Option<Sweeping>,
    _lock: SessionLock,
}

/// What a new session is created from.
pub struct NewSession<'a> {
    pub project: &'a Path,
    /// The name of the folder, before `-2`, `-3`.
    pub id_base: &'a str,
    pub team: &'a Team,
    /// The text of the team file. The session keeps it, so that later changes to the file do not affect it.
    pub team_text: &'a str,
    pub plan: &'a Plan,
    pub holder: Holder,
}

impl NewSession<'_> {
    /// Creates the folder and its files; `session.json` comes last and makes it a session.
    pub fn create(
        self,
        info: impl FnOnce(&SessionDir) -> SessionInfo,
    ) -> Result<(OpenSession, Ledger), SessionError> {
        let folders: Vec<&str> = self.team.folders.iter().map(String::as_str).collect();
        let dir = SessionDir::create(self.project, self.id_base, &folders)?;
        let lock = dir.lock(&self.holder)?;
        let plan = self.plan.for_session();
        let mut bytes = Vec::new();
        (plan.sheet().write(&mut bytes, Origin::Session)).expect("writing to memory");
        atomic::write(&dir.plan_file(), &bytes)?;
        atomic::write(&dir.team_file(), self.team_text.as_bytes())?;
        let journal = Journal::create(&dir.journal_file())?;
        let mut table = TableFile::open(&dir, EDIT_PAUSE)?;
        let ledger = Ledger::new(Arc::new(self.team.clone()), plan);
        // Nobody else knows the new folder, so there is no edit to find.
        let _: PublishOutcome = table.publish(&render(&ledger))?;
        let info = info(&dir);
        dir.write_info(&info)?;
        let mut session = OpenSession::new(dir, info, self.project, journal, table, lock);
        session.sweeping = Some(sweep_killed_sessions(self.project, &self.holder));
        Ok((session, ledger))
    }
}

impl OpenSession {
    /// Resumes a session: ends what its last run left running, recovers submitted reports, replays the journal.
    /// `current_team` is the team file as it is now, if the team is not built in.
    pub fn resume(
        project: &Path,
        dir: SessionDir,
        holder: &Holder,
        current_team: Option<Team>,
    ) -> Result<(Self, Ledger), SessionError> {
        let info = dir.read_info()?;
        let lock = dir.lock(holder)?;
        // A person may have removed folders that can be created again.
        dir.make_folders(&[])?;
        let journal = dir.journal_file();
        // A journal has at least its first line, so an empty one was emptied by another program.
        if fs::metadata(&journal).is_ok_and(|found| found.len() == 0) {
            fs::remove_file(&journal).context("remove", &journal)?;
        }
        let (journal, events) = if journal.exists() {
            let (journal, events, _) = Journal::<Event>::open(&dir.journal_file())?;
            (journal, events)
        } else {
            // Without a journal, the table is the state of the session.
            let table = dir.tasks_csv();
            atomic::write(&dir.plan_file(), &fs::read(&table).context("read", &table)?)?;
            // Attempts are counted from 1 again, and must not find reports of the old ones.
            dir.attempts().sweep()?;
            (Journal::create(&dir.journal_file())?, Vec::new())
        };
        let guardian = read_guardian(&dir);
        let _ = end_leftovers(guardian.as_ref(), &processes_of_last_run(&events), dir.path());
        // Only now: until they had ended, workers of the last run could leave unfinished files.
        dir.sweep()?;
        // Private files of workers that have ended.
        let _ = fs::remove_dir_all(dir.scratch_folder());
        let recovered = dir.attempts().recover()?;
        let team = match current_team {
            Some(team) => team,
            None => dir.read_team()?,
        };
        let ledger = dir.read_ledger(team, &events)?;
        interactive_results::write_missing(&dir, &ledger)?;
        let table = TableFile::open(&dir, Duration::ZERO)?;
        let mut session = Self::new(dir, info, project, journal, table, lock);
        session.sweeping = Some(sweep_killed_sessions(project, holder));
        session.recovered = recovered;
        Ok((session, ledger))
    }

    fn new(
        dir: SessionDir,
        info: SessionInfo,
        project: &Path,
        journal: Journal<Event>,
        table: TableFile,
        lock: SessionLock,
    ) -> Self {
        Self {
            dir,
            info,
            project: project.to_owned(),
            log_bytes: None,
            folders: None,
            verify: None,
            recorder: None,
            journal,
            table: Some(table),
            recovered: Vec::new(),
            sweeping: None,
            _lock: lock,
        }
    }

    /// From now on `replica` gets every event before the journal file and before any effect.
    pub fn set_journal_replica(&mut self, replica: Box<dyn JournalReplica>) {
        self.journal.set_replica(replica);
    }

    /// Bytes of whole lines in the journal.
    pub fn journal_len(&self) -> u64 {
        self.journal.len_bytes()
    }

    /// The table, if a person edited it since the last run.
    pub fn table_edit(&mut self) -> Result<Option<Vec<u8>>, SessionError> {
        match &mut self.table {
            Some(table) => table.check(),
            None => Ok(None),
        }
    }

    /// Records events from outside the event loop: resets, table edits.
    pub fn record(&mut self, events: &[Event]) -> Result<(), SessionError> {
        self.journal.append(events)?;
        self.journal.sync()
    }

    /// The working folder of a task's worker.
    pub(crate) fn task_folder(&mut self, task: &str) -> Result<PathBuf, String> {
        match &mut self.folders {
            Some(folders) => folders(task),
            None => Ok(self.project.clone()),
        }
    }

    /// The facts for reports about the session.
    pub fn meta(&self) -> SessionMeta<'_> {
        let folder = self.dir.path().to_str().unwrap_or_default();
        self.dir.meta(folder, Some(&self.info))
    }

    pub(crate) fn take_table(&mut self) -> TableFile {
        self.table.take().expect("a session is run once")
    }

    /// Drops recovered reports of attempts that already have a result.
    pub(crate) fn drop_recovered(&mut self, counts_otherwise: impl Fn(&str, u32) -> bool) {
        self.recovered
            .retain(|report| !counts_otherwise(&report.task, report.attempt));
    }

    pub(crate) fn take_recovered(&mut self) -> Vec<RecoveredReport> {
        std::mem::take(&mut self.recovered)
    }

    /// Records the guardian, so that the next run can end it.
    pub(crate) fn record_guardian(&self, process: &ProcessId) -> Result<(), SessionError> {
        let text = serde_json::to_vec(process).expect("plain data");
        atomic::write_volatile(&self.dir.guardian_file(), &text)
    }
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

/// A relative path is relative to the project; a bare name is looked up on `PATH`.
pub fn resolve_program(project: &Path, program: &OsStr) -> OsString {
    let path = Path::new(program);
    if path.is_relative() && path.components().count() > 1 {
        project.join(path).into_os_string()
    } else {
        program.to_owned()
    }
}
