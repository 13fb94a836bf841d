//! `wavecrew archive`: puts a session away; nothing of it is removed.

use crate::cli::Global;
use crate::clock;
use crate::exit::{Exit, Failure};
use crate::session_view::find;
use serde_json::json;
use std::io::{Write, stdout};
use std::path::Path;
use wavecrew_session::{Holder, SessionDir, SessionError, SessionState};

/// Mark a session as archived; it is no longer offered for --continue
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  wavecrew archive run-tasks-20260308")]
pub struct Args {
    /// Its id, or the beginning of it
    #[arg(value_name = "SESSION")]
    session: String,
}

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let dir = find(Path::new("."), &self.session)?;
        set_state(&dir, SessionState::Archived).map_err(|failure| match failure {
            StateFailure::Runs(holder) => Failure::with_help(
                format!("the session `{}` is running{holder}", dir.id()),
                format!("wait for it, or stop it with `wavecrew cancel {}`", dir.id()),
            ),
            StateFailure::Other(failure) => failure,
        })?;
        if global.json {
            writeln!(stdout(), "{}", json!({"session": dir.id(), "state": "archived"}))?;
        } else {
            writeln!(stdout(), "{} is archived", dir.id())?;
        }
        Ok(Exit::Done)
    }
}

/// Why a session keeps its state.
pub enum StateFailure {
    /// Somebody runs it; says who.
    Runs(String),
    Other(Failure),
}

/// Sets the state of a session that nobody runs.
pub fn set_state(dir: &SessionDir, state: SessionState) -> Result<(), StateFailure> {
    let me = Holder::this_process(&clock::now().to_string(), "wavecrew");
    let other = |error: SessionError| StateFailure::Other(error.into());
    let _lock = dir.lock(&me).map_err(|error| match error {
        SessionError::Locked { holder, .. } => {
            StateFailure::Runs(holder.map(|holder| format!(" by {holder}")).unwrap_or_default())
        }
        error => other(error),
    })?;
    let mut info = dir.read_info().map_err(other)?;
    info.state = state;
    dir.write_info(&info).map_err(other)
}
