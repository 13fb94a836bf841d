//! A session as somebody sees it who only looks: its folder read into a ledger, without taking its lock. Tolerates
//! what is broken and says so; refuses only a folder from which no table can be read.

mod dry_run;
mod find;

pub use dry_run::print_dry_run;
pub use find::{find, find_or_latest, latest_unfinished, none_to_continue};

use crate::exit::Failure;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use wavecrew_core::engine::{Counts, Ledger};
use wavecrew_core::event::Event;
use wavecrew_core::plan::{self, Plan};
use wavecrew_core::sheet::{Origin, Sheet};
use wavecrew_core::team::Team;
use wavecrew_core::view::SessionMeta;
use wavecrew_session::{Holder, Journal, SessionDir, SessionInfo, SessionState, StoreError, lock};

pub struct SessionView {
    pub dir: SessionDir,
    /// `None` when `session.json` cannot be read.
    pub info: Option<SessionInfo>,
    pub ledger: Ledger,
    /// Events that the ledger holds.
    pub events: usize,
    /// Who runs it right now.
    pub holder: Option<Holder>,
    /// What could not be read, in words.
    pub troubles: Vec<String>,
}

impl SessionView {
    pub fn load(dir: SessionDir) -> Result<Self, Failure> {
        let was_held = lock::holder(&dir.lock_file())?.is_some();
        let mut view = Self::read(dir)?;
        view.holder = lock::holder(&view.dir.lock_file())?;
        if was_held && view.holder.is_none() {
            // The run ended while it was being read: what was read may be from before its last words.
            view = Self::read(view.dir)?;
        }
        if view.holder.is_none() {
            view.interrupt();
        }
        Ok(view)
    }

    fn read(dir: SessionDir) -> Result<Self, Failure> {
        let mut troubles = Vec::new();
        let info = keep(dir.read_info(), &mut troubles);
        let team = team_of(&dir, info.as_ref(), &mut troubles);
        let (ledger, events) = ledger_of(&dir, team, &mut troubles)?;
        Ok(Self {
            dir,
            info,
            ledger,
            events,
            holder: None,
            troubles,
        })
    }

    /// Nobody runs the session, so what was begun and has no end was cut off.
    fn interrupt(&mut self) {
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

    /// `running`, `stopped`, `completed`, ...
    pub fn state(&self) -> &'static str {
        match (&self.holder, &self.info) {
            (Some(_), _) => "running",
            (None, Some(info)) => state_word(info.state),
            (None, None) => "broken",
        }
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

/// The state of a session that nobody runs.
pub fn state_word(state: SessionState) -> &'static str {
    match state {
        // Nobody runs it, so its run died.
        SessionState::Running | SessionState::Stopped => "stopped",
        SessionState::Stalled => "stalled",
        SessionState::Completed => "completed",
        SessionState::Failed => "failed",
        SessionState::Cancelled => "cancelled",
        SessionState::Archived => "archived",
    }
}

/// What reports say about a session; `folder` is [`shown_folder`].
pub fn meta<'a>(folder: &'a str, dir: &'a SessionDir, info: Option<&'a SessionInfo>) -> SessionMeta<'a> {
    SessionMeta {
        id: dir.id(),
        folder,
        pipeline: info.and_then(|info| info.pipeline.as_deref()),
        request: info.map_or("", |info| &info.request),
        started_at: info.map_or("unknown", |info| &info.started_at),
        replay: info.and_then(SessionInfo::replay),
    }
}

/// The folder as a person would type it from here.
pub fn shown_folder(dir: &SessionDir) -> String {
    let here = std::env::current_dir().and_then(|here| here.canonicalize());
    let path = match &here {
        Ok(here) => dir.path().strip_prefix(here).unwrap_or(dir.path()),
        Err(_) => dir.path(),
    };
    path.display().to_string()
}

fn keep<T>(found: Result<T, StoreError>, troubles: &mut Vec<String>) -> Option<T> {
    found.map_err(|error| troubles.push(error.to_string())).ok()
}

/// The team as it was when the session began; else the one of that name; else the one that takes any table.
fn team_of(dir: &SessionDir, info: Option<&SessionInfo>, troubles: &mut Vec<String>) -> Arc<Team> {
    let path = dir.team_file();
    if let Ok(text) = fs::read_to_string(&path) {
        match Team::parse(&path.display().to_string(), &text) {
            Ok(team) => return Arc::new(team),
            Err(problems) => troubles.extend(problems.first().map(ToString::to_string)),
        }
    }
    let named = info.and_then(|info| Team::builtin(&info.team));
    let any = || Team::builtin("generic").expect("the tests parse every built-in team");
    Arc::new(named.unwrap_or_else(any))
}

fn ledger_of(
    dir: &SessionDir,
    team: Arc<Team>,
    troubles: &mut Vec<String>,
) -> Result<(Ledger, usize), Failure> {
    let journal = dir.journal_file();
    let began = dir.plan_file();
    if journal.exists() && began.exists() {
        let events = keep(Journal::<Event>::read(&journal), troubles);
        let plan = plan_in(&began, &team);
        match (events, plan) {
            (Some((events, _)), Ok(plan)) => {
                let mut ledger = Ledger::new(team, plan);
                for event in &events {
                    ledger.apply(event);
                }
                return Ok((ledger, events.len()));
            }
            (_, Err(trouble)) => troubles.push(trouble),
            (None, Ok(_)) => {}
        }
    }
    match plan_in(&dir.tasks_csv(), &team) {
        Ok(plan) => Ok((Ledger::new(team, plan), 0)),
        Err(trouble) => {
            troubles.push(trouble);
            Err(Failure::with_help(
                format!(
                    "the session `{}` cannot be read: {}",
                    dir.id(),
                    troubles.join("; ")
                ),
                format!("look into {}", dir.path().display()),
            ))
        }
    }
}

fn plan_in(path: &Path, team: &Team) -> Result<Plan, String> {
    let file = fs::File::open(path).map_err(|error| format!("cannot open `{}`: {error}", path.display()))?;
    let sealed = Sheet::read(file, Origin::Session).and_then(|sheet| plan::seal(sheet, team));
    sealed.map(|(plan, _)| plan).map_err(|problems| {
        let first = problems
            .first()
            .map_or("it is not a plan", |problem| &problem.message);
        let line = problems.first().map_or(0, |problem| problem.line);
        format!("{}:{line}: {first}", path.display())
    })
}
