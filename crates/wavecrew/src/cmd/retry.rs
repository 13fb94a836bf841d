//! `retry`: run failed tasks of a session again, with what was skipped because of them.

use crate::cli::Global;
use crate::config::Config;
use crate::exit::{Exit, Failure};
use crate::launch::{ResumeOptions, RunFlags, resume};
use crate::session_view;

/// Run failed tasks of a session again, with what was skipped because of them
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The session
    session: String,
    /// The tasks [default: all that failed]
    tasks: Vec<String>,
    #[command(flatten)]
    flags: RunFlags,
}

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let project = std::env::current_dir().map_err(Failure::Output)?;
        let config = Config::load(&project)?;
        let dir = session_view::find(&project, &self.session)?;
        let changes = ResumeOptions {
            retry: Some(self.tasks.clone()),
            ..ResumeOptions::default()
        };
        resume(&project, dir, &self.flags, global, &config, &changes)
    }
}
