//! `wavecrew archive`: marks a session as archived; deletes nothing.

use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::session_state::{StateFailure, set_state};
use crate::session_view::SessionArg;
use crate::{hint, json};
use serde_json::json;
use wavecrew_session::SessionState;

/// Archive a session, so that `resume` no longer picks it by default
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  wavecrew archive                       the latest session\n  wavecrew archive run-tasks-20260308"
)]
pub struct Args {
    #[command(flatten)]
    session: SessionArg,
}

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let dir = self.session.find()?;
        set_state(&dir, SessionState::Archived, None).map_err(|failure| match failure {
            StateFailure::Running(holder) => Failure::with_help(
                format!("the session `{}` is running{holder}", dir.id()),
                format!(
                    "wait for it, or stop it with `{}`",
                    hint::command(&format!("cancel {}", dir.id()))
                ),
            ),
            StateFailure::Other(failure) => failure,
        })?;
        json::answer(
            global,
            json!({"session": dir.id(), "state": "archived"}),
            &format!("{} is archived", dir.id()),
        )
    }
}
