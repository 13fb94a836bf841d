//! `wavecrew retry`: runs failed tasks of a session again, and the tasks that were skipped because of them.

use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::launch::{Launch, ResumeOptions, RunFlags};
use crate::session_view::SessionArg;

/// Run failed tasks of a session again, and the tasks that were skipped because of them
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  wavecrew retry                               all failed tasks of the latest session
  wavecrew retry run-tasks-20260308            all failed tasks of this session
  wavecrew retry run-tasks-20260308 BUILD-1    one task, and tasks skipped because of it")]
pub struct Args {
    #[command(flatten)]
    session: SessionArg,
    /// Tasks to run again [default: all that failed]
    #[arg(value_name = "TASK")]
    tasks: Vec<String>,
    #[command(flatten)]
    flags: RunFlags,
}

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let options = ResumeOptions {
            retry: Some(self.tasks.clone()),
            ..ResumeOptions::default()
        };
        Launch::new(&self.flags, global)?.resume(self.session.find()?, &options)
    }
}
