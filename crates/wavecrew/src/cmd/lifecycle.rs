//! `lifecycle`: from a request to a specification, to reviewed code, or both.

use super::run;
use crate::cli::Global;
use crate::exit::{Exit, Failure};
use crate::target::Words;

/// Specify, plan, implement, test and review, with a supervisor between the steps
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// What is wanted, in words
    #[arg(value_name = "REQUEST")]
    request: Vec<String>,
    /// Which steps, in place of those that fit the request
    #[arg(long, value_name = "NAME", value_parser = ["spec-only", "impl-only", "full-lifecycle"])]
    pipeline: Option<String>,
    /// Leave out the checkpoints
    #[arg(long)]
    no_supervision: bool,
    #[command(flatten)]
    how: run::TeamRun,
}

const EXAMPLES: &str = "\
Examples:
  wavecrew lifecycle 'Write a specification of a todo list'   documents, checked twice and scored
  wavecrew lifecycle 'Implement undo' --agent codex           a plan, its implementation, tests and a review
  wavecrew lifecycle -y --pipeline full-lifecycle 'Undo'      both, without questions
  wavecrew lifecycle --continue                               go on where the last run stopped
  wavecrew plan lifecycle 'Implement undo'                    only show the tasks

Code is believed when the project's build and tests say so. They are found by the project's files;
other commands stand in wavecrew.toml under [verify]: setup, build, test, limit_seconds.";

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        if self.request.iter().all(|word| word.trim().is_empty()) && !self.how.is_wanted() {
            return Err(Failure::with_help(
                "nothing is requested",
                "say in words what is wanted: wavecrew lifecycle 'Implement undo'",
            ));
        }
        let words = Words::of_lifecycle(self.request.clone(), self.pipeline.clone(), self.no_supervision);
        run::Args::of_team(words, self.how.clone()).run(global)
    }
}
