//! Sets the state of a session that no process runs, and journals what a person does to it.

use crate::clock;
use crate::exit::Failure;
use wavecrew_core::event::Event;
use wavecrew_session::{Holder, Journal, SessionDir, SessionError, SessionLock, SessionState};

/// Why the state could not be set.
pub enum StateFailure {
    /// A process runs the session; the text names it.
    Running(String),
    Other(Failure),
}

/// Sets the state, under the session's lock. What is done outside of a terminal is journalled with where it was done.
pub fn set_state(dir: &SessionDir, state: SessionState, via: Option<&str>) -> Result<(), StateFailure> {
    let other = |error: SessionError| StateFailure::Other(error.into());
    let _lock = lock(dir)?;
    let mut info = dir.read_info().map_err(other)?;
    info.state = state;
    if let Some(via) = via {
        let action = match state {
            SessionState::Archived => "archive",
            _ => "cancel",
        };
        append(dir, action, None, via).map_err(other)?;
    }
    dir.write_info(&info).map_err(other)
}

/// Cancels a session that no process runs, unless it has ended. Returns the state it has then.
pub fn cancel_idle(dir: &SessionDir, via: Option<&str>) -> Result<&'static str, Failure> {
    let state = dir.read_info()?.state;
    if !state.is_unfinished() {
        return Ok(state.name_when_idle());
    }
    set_state(dir, SessionState::Cancelled, via).map_err(|failure| match failure {
        StateFailure::Running(holder) => Failure::NotDone {
            message: format!("the session `{}` was started just now{holder}", dir.id()),
            help: "repeat the command to stop it".into(),
        },
        StateFailure::Other(failure) => failure,
    })?;
    Ok(SessionState::Cancelled.name_when_idle())
}

/// Journals what a person did to a session that no process runs.
pub fn record_act(dir: &SessionDir, action: &str, task: Option<&str>, via: &str) -> Result<(), Failure> {
    let _lock = lock(dir).map_err(|failure| match failure {
        StateFailure::Running(holder) => Failure::NotDone {
            message: format!("the session `{}` is running{holder}", dir.id()),
            help: "wait for its end, or cancel it".into(),
        },
        StateFailure::Other(failure) => failure,
    })?;
    Ok(append(dir, action, task, via)?)
}

fn lock(dir: &SessionDir) -> Result<SessionLock, StateFailure> {
    let me = Holder::this_process(&clock::now().to_string(), "wavecrew");
    dir.lock(&me).map_err(|error| match error {
        SessionError::Locked { holder, .. } => {
            StateFailure::Running(holder.map(|holder| format!(" by {holder}")).unwrap_or_default())
        }
        error => StateFailure::Other(error.into()),
    })
}

fn append(dir: &SessionDir, action: &str, task: Option<&str>, via: &str) -> Result<(), SessionError> {
    let (mut journal, _, _) = Journal::<Event>::open(&dir.journal_file())?;
    journal.append(&[Event::Acted {
        at: clock::now(),
        action: action.to_owned(),
        task: task.map(str::to_owned),
        via: via.to_owned(),
    }])?;
    journal.sync()
}
