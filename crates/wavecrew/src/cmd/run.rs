//! `wavecrew run`: runs a team or a table to its end, or continues a session.

use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::launch::{self, RunArgs};
use crate::target::TargetArgs;

/// Run a team or a table of tasks, or continue a session
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    run: RunArgs,
}

const EXAMPLES: &str = "\
Examples:
  wavecrew run tasks.csv --agent 'command:./agent.sh'        run a table with your own program
  wavecrew run tasks.csv -c 8 --agent 'command:./agent.sh'   up to eight workers at a time
  wavecrew run tasks.csv --agent codex --record run.jsonl    record the workers
  wavecrew run tasks.csv --agent replay:run.jsonl            replay the recording without an agent
  wavecrew run tasks.csv --continue                          continue its latest unfinished session
  wavecrew run --continue run-tasks-20260308 --dry-run       show what would run again, and why
  wavecrew run tasks.csv --max-cost 5 --max-time 8h          start no task beyond these limits";

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        launch::run(&self.target, &self.run, global)
    }
}
