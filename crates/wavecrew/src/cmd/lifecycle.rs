//! `wavecrew lifecycle`: the team `lifecycle`, with its own flags. From a request to a specification, to reviewed code, or
//! both.

use super::VERIFY_NOTE;
use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::launch::{self, RunArgs};
use crate::target::TargetArgs;

/// Turn a request into a specification, into reviewed code, or both
#[derive(clap::Args, Debug)]
#[command(after_help = format!("{EXAMPLES}\n\n{VERIFY_NOTE}"))]
pub struct Args {
    /// What you want, in plain text
    #[arg(value_name = "REQUEST")]
    request: Vec<String>,
    /// Pipeline to run [default: chosen by words in the request]
    #[arg(long, value_name = "NAME", value_parser = ["spec-only", "impl-only", "full-lifecycle"], help_heading = "Team lifecycle")]
    pipeline: Option<String>,
    /// Run without checkpoints, in which a supervisor scores the work
    #[arg(long, help_heading = "Team lifecycle")]
    no_supervision: bool,
    #[command(flatten)]
    run: RunArgs,
}

const EXAMPLES: &str = "\
Examples:
  wavecrew lifecycle 'Write a specification of a todo list'   specification only
  wavecrew lifecycle 'Implement undo' --agent codex           plan, implementation, tests and review
  wavecrew lifecycle -y --pipeline full-lifecycle 'Undo'      both, without questions
  wavecrew lifecycle --continue                               continue the latest unfinished session
  wavecrew plan lifecycle 'Implement undo'                    only show the tasks";

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        if self.request.iter().all(|word| word.trim().is_empty()) && self.run.continued.is_none() {
            return Err(Failure::with_help(
                "the request is missing",
                "describe what you want: wavecrew lifecycle 'Implement undo'",
            ));
        }
        let target =
            TargetArgs::of_lifecycle(self.request.clone(), self.pipeline.clone(), self.no_supervision);
        launch::run(&target, &self.run, global)
    }
}
