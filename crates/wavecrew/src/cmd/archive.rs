//! `wavecrew archive`: puts a session away; nothing of it is removed.

use crate::cli::Global;
use crate::exit::{Exit, Failure};
use crate::session_state::{StateFailure, set_state};
use crate::session_view::find;
use serde_json::json;
use std::io::{Write, stdout};
use std::path::Path;
use wavecrew_session::SessionState;

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
            StateFailure::Running(holder) => Failure::with_help(
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
