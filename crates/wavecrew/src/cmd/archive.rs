//! `wavecrew archive`: marks a session as archived; deletes nothing.

use crate::cli::Global;
use crate::exit::{Exit, Failure};
use crate::json;
use crate::session_state::{StateFailure, set_state};
use crate::session_view::find_or_latest;
use serde_json::json;
use std::io::{Write, stdout};
use std::path::Path;
use wavecrew_session::SessionState;

/// Archive a session, so that it is no longer continued by default
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  wavecrew archive                       the latest session\n  wavecrew archive run-tasks-20260308"
)]
pub struct Args {
    /// Session id, or the beginning of it [default: the latest session]
    #[arg(value_name = "SESSION")]
    session: Option<String>,
}

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let dir = find_or_latest(Path::new("."), self.session.as_deref())?;
        set_state(&dir, SessionState::Archived).map_err(|failure| match failure {
            StateFailure::Running(holder) => Failure::with_help(
                format!("the session `{}` is running{holder}", dir.id()),
                format!("wait for it, or stop it with `wavecrew cancel {}`", dir.id()),
            ),
            StateFailure::Other(failure) => failure,
        })?;
        if global.json {
            json::print(json!({"session": dir.id(), "state": "archived"}))?;
        } else {
            writeln!(stdout(), "{} is archived", dir.id())?;
        }
        Ok(Exit::Done)
    }
}
