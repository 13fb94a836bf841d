//! The one reader of a session: its team, its ledger (the plan with the journal replayed), its state.
//!
//! [`SessionDir::read_team`] and [`SessionDir::read_ledger`] refuse what is broken. [`SessionView`] is for people who
//! look at a session, also while it runs: it takes no lock, reports what is broken, and reads the rest.

use crate::error::{IoContext, SessionError};
use crate::lock;
use crate::{Holder, Journal, SessionDir, SessionInfo, SessionState};
use serde_json::Value;
use std::collections::HashMap;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use wavecrew_core::engine::{Counts, Ledger};
use wavecrew_core::event::Event;
use wavecrew_core::plan::{Plan, seal};
use wavecrew_core::sheet::{Origin, Sheet};
use wavecrew_core::team::Team;
use wavecrew_core::view::SessionMeta;

impl SessionDir {
    /// The team as it was when the session began. A session without its team file has the built-in team of that name.
    pub fn read_team(&self) -> Result<Team, SessionError> {
        let path = self.team_file();
        match fs::read_to_string(&path) {
            Ok(text) => Team::parse(&path.to_string_lossy(), &text)
                .map_err(|problems| SessionError::InvalidTeam { path, problems }),
            Err(error) => match Team::builtin(&self.read_info()?.team) {
                Some(team) => Ok(team),
                None => Err(error).context("read", &path),
            },
        }
    }

    /// The plan that the session began with, and `events` applied to it. Without that plan, `tasks.csv` is the plan.
    pub fn read_ledger(&self, team: impl Into<Arc<Team>>, events: &[Event]) -> Result<Ledger, SessionError> {
        let team = team.into();
        let began = self.plan_file();
        let path = if began.exists() { began } else { self.tasks_csv() };
        let plan = read_plan(&path, &team)?;
        let mut ledger = Ledger::new(team, plan);
        for event in events {
            ledger.apply(event);
        }
        Ok(ledger)
    }

    /// The hosts of attempts whose workers run on other machines.
    pub fn read_hosts(&self) -> HashMap<(String, u32), String> {
        let events = self.read_events().unwrap_or_default();
        let spawned = events.into_iter().filter_map(|event| match event {
            Event::Spawned {
                task,
                attempt,
                process,
                ..
            } => Some(((task, attempt), process.host?)),
            _ => None,
        });
        spawned.collect()
    }

    /// Everything in the journal, without changing it.
    pub fn read_events(&self) -> Result<Vec<Event>, SessionError> {
        let (events, _) = Journal::read(&self.journal_file())?;
        Ok(events)
    }

    /// The process that runs the session now.
    pub fn holder(&self) -> Result<Option<Holder>, SessionError> {
        lock::holder(&self.lock_file())
    }

    /// The measured result of the session, `null` without one.
    pub fn measured_result(&self) -> Value {
        let text = fs::read(self.result_summary()).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// The facts for reports about the session; `folder` is its path as seen by the reader of the report.
    pub fn meta<'a>(&'a self, folder: &'a str, info: Option<&'a SessionInfo>) -> SessionMeta<'a> {
        let measured = self.measured_result();
        SessionMeta {
            result: measured.get("line").and_then(Value::as_str).map(str::to_owned),
            preparation: measured
                .get("baseline_seconds")
                .and_then(Value::as_f64)
                .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
                .unwrap_or_default(),
            program: "wavecrew",
            id: self.id(),
            folder,
            pipeline: info.and_then(|info| info.pipeline.as_deref()),
            request: info.map_or("", |info| &info.request),
            started_at: info.map_or("unknown", |info| &info.started_at),
            replay: info.and_then(SessionInfo::replay),
        }
    }
}

fn read_plan(path: &Path, team: &Team) -> Result<Plan, SessionError> {
    let file = File::open(path).context("open", path)?;
    let sealed = Sheet::read(file, Origin::Session).and_then(|sheet| seal(sheet, team));
    let (plan, _) = sealed.map_err(|problems| SessionError::InvalidPlan {
        path: path.to_owned(),
        problems,
    })?;
    Ok(plan)
}

/// A session as its files describe it.
pub struct SessionView {
    pub dir: SessionDir,
    /// `None` when `session.json` cannot be read.
    pub info: Option<SessionInfo>,
    pub ledger: Ledger,
    /// Events that the ledger holds.
    pub events: usize,
    /// The process that runs the session now.
    pub holder: Option<Holder>,
    /// Problems of reading the session.
    pub problems: Vec<String>,
}

impl SessionView {
    pub fn load(dir: SessionDir) -> Result<Self, SessionError> {
        let was_held = dir.holder()?.is_some();
        let mut view = Self::read(dir)?;
        view.holder = view.dir.holder()?;
        if was_held && view.holder.is_none() {
            // The run ended during the read: its last events may be missing.
            view = Self::read(view.dir)?;
        }
        if view.holder.is_none() {
            view.interrupt_open_attempts();
        }
        Ok(view)
    }

    fn read(dir: SessionDir) -> Result<Self, SessionError> {
        let mut problems = Vec::new();
        let info = keep(dir.read_info(), &mut problems);
        let team = team_or_fallback(&dir, info.as_ref(), &mut problems);
        let (ledger, events) = read_ledger_or_table(&dir, team, &mut problems)?;
        Ok(Self {
            dir,
            info,
            ledger,
            events,
            holder: None,
            problems,
        })
    }

    /// Without a running process, an attempt without an end was interrupted.
    fn interrupt_open_attempts(&mut self) {
        let open = self.ledger.open_attempts();
        let open: Vec<_> = open
            .map(|(task, attempt)| Event::Interrupted {
                at: self.ledger.task(task).started.unwrap_or_default(),
                task: self.ledger.plan().id(task).to_owned(),
                attempt,
            })
            .collect();
        for event in &open {
            self.ledger.apply(event);
        }
    }

    /// `running`, `paused`, `stopped`, `completed`, ...
    pub fn state(&self) -> &'static str {
        state_name(self.holder.as_ref(), self.info.as_ref(), self.ledger.paused)
    }

    pub fn counts(&self) -> Counts {
        self.ledger.counts()
    }

    pub fn team(&self) -> &str {
        self.info
            .as_ref()
            .map_or(&self.ledger.team.name, |info| &info.team)
    }
}

/// `running`, `paused`, `stopped`, `completed`, ... of a session with this holder and `session.json`.
pub fn state_name(holder: Option<&Holder>, info: Option<&SessionInfo>, paused: bool) -> &'static str {
    match (holder, info) {
        (Some(_), _) if paused => "paused",
        (Some(_), _) => "running",
        (None, Some(info)) => info.state.name_when_idle(),
        (None, None) => "broken",
    }
}

impl SessionState {
    /// The name of the state of a session that no process runs.
    pub fn name_when_idle(self) -> &'static str {
        match self {
            // No process runs it, so its run died.
            Self::Running | Self::Stopped => "stopped",
            Self::Stalled => "stalled",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Archived => "archived",
        }
    }
}

fn keep<T>(read: Result<T, SessionError>, problems: &mut Vec<String>) -> Option<T> {
    read.map_err(|error| problems.push(error.first_line())).ok()
}

/// The team of the session, or else the built-in one of that name, or else the one that accepts any table.
fn team_or_fallback(dir: &SessionDir, info: Option<&SessionInfo>, problems: &mut Vec<String>) -> Arc<Team> {
    if dir.team_file().exists()
        && let Some(team) = keep(dir.read_team(), problems)
    {
        return Arc::new(team);
    }
    let named = info.and_then(|info| Team::builtin(&info.team));
    let any = || Team::builtin("generic").expect("the tests parse every built-in team");
    Arc::new(named.unwrap_or_else(any))
}

fn read_ledger_or_table(
    dir: &SessionDir,
    team: Arc<Team>,
    problems: &mut Vec<String>,
) -> Result<(Ledger, usize), SessionError> {
    if dir.journal_file().exists() && dir.plan_file().exists() {
        let read = dir
            .read_events()
            .and_then(|events| Ok((dir.read_ledger(Arc::clone(&team), &events)?, events.len())));
        if let Some(found) = keep(read, problems) {
            return Ok(found);
        }
    }
    match read_plan(&dir.tasks_csv(), &team) {
        Ok(plan) => Ok((Ledger::new(team, plan), 0)),
        Err(error) => {
            problems.push(error.first_line());
            Err(SessionError::Unreadable {
                id: dir.id().to_owned(),
                folder: dir.path().to_owned(),
                problems: std::mem::take(problems),
            })
        }
    }
}
