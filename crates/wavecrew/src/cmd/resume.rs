//! `wavecrew resume`: continues a session, like `run --continue`; ends the pause of one that is still running.

use crate::control::{self, ControlSignal};
use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::launch::{Launch, ResumeOptions, RunFlags};
use crate::{hint, json, session_view};
use serde_json::json;
use std::time::Duration;

/// How long a running process may take to obey.
const WAIT: Duration = Duration::from_secs(30);

/// Continue a session that stopped, or unpause a running one
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  wavecrew resume                                continue the latest unfinished session
  wavecrew resume run-tasks-20260308             continue this session
  wavecrew resume run-tasks-20260308 --dry-run   show what would run again, and why")]
pub struct Args {
    /// Name of a session, or the beginning of it [default: the latest unfinished session]
    #[arg(value_name = "SESSION")]
    session: Option<String>,
    /// Keep completed results even if their input has changed
    #[arg(long, help_heading = "Continuing a session")]
    keep: bool,
    /// Only show what would run again, and why
    #[arg(long, help_heading = "Continuing a session")]
    dry_run: bool,
    #[command(flatten)]
    flags: RunFlags,
}

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let launch = Launch::new(&self.flags, global)?;
        let dir = match &self.session {
            Some(name) => launch.find_session(name)?,
            None => session_view::to_continue(|_| true)?,
        };
        if !self.dry_run && control::send(&dir, ControlSignal::Resume, WAIT)? {
            let (id, state) = (dir.id(), ControlSignal::Resume.resulting_state());
            let watch = hint::command(&format!("watch {id}"));
            return json::answer(
                global,
                json!({"session": id, "state": state}),
                &format!("{id} is {state}; follow it with `{watch}`"),
            );
        }
        let options = ResumeOptions {
            keep: self.keep,
            dry_run: self.dry_run,
            ..ResumeOptions::default()
        };
        launch.resume(dir, &options)
    }
}
