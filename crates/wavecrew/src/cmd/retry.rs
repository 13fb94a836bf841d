//! `wavecrew retry`: runs failed tasks of a session again, and the tasks that were skipped because of them.

use crate::cli::Global;
use crate::config::Config;
use crate::exit::{Exit, Failure};
use crate::launch::{ResumeOptions, RunFlags, resume};
use crate::session_view::find_or_latest;

/// Run failed tasks of a session again, and the tasks that were skipped because of them
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  wavecrew retry                               all failed tasks of the latest session
  wavecrew retry run-tasks-20260308            all failed tasks of this session
  wavecrew retry run-tasks-20260308 BUILD-1    one task, with the tasks that wait for it")]
pub struct Args {
    /// Session id, or the beginning of it [default: the latest session]
    #[arg(value_name = "SESSION")]
    session: Option<String>,
    /// Tasks to run again [default: all that failed]
    #[arg(value_name = "TASK")]
    tasks: Vec<String>,
    #[command(flatten)]
    flags: RunFlags,
}

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let project = std::env::current_dir().map_err(Failure::Output)?;
        let config = Config::load(&project)?;
        let dir = find_or_latest(&project, self.session.as_deref())?;
        let options = ResumeOptions {
            retry: Some(self.tasks.clone()),
            ..ResumeOptions::default()
        };
        resume(&project, dir, &self.flags, global, &config, &options)
    }
}
