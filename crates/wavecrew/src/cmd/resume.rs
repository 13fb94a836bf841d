//! `resume`: the same as `run --continue`, for people who look for the verb.

use crate::cli::Global;
use crate::config::Config;
use crate::exit::{Exit, Failure};
use crate::launch::{self, ResumeOptions, RunFlags};
use crate::session_view;

/// Go on with a session: the named one, or the latest unfinished one
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Its id, or the beginning of it
    session: Option<String>,
    /// Keep completed results even if they were made from something else
    #[arg(long)]
    keep: bool,
    /// Only say what would run again, and why
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    flags: RunFlags,
}

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let project = std::env::current_dir().map_err(Failure::Output)?;
        let config = Config::load(&project)?;
        let dir = match &self.session {
            Some(name) => session_view::find(&project, name)?,
            None => match session_view::latest_unfinished(&project, |_| true)? {
                Some((dir, _)) => dir,
                None => return Err(session_view::none_to_continue(&project)),
            },
        };
        let changes = ResumeOptions {
            keep: self.keep,
            dry_run: self.dry_run,
            retry: None,
        };
        launch::resume(&project, dir, &self.flags, global, &config, &changes)
    }
}
