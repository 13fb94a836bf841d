//! `wavecrew testing`: finds the code that changed, has tests written for it, runs and measures them, and goes on until they
//! are good enough. The team `testing` by its own name, with its own flags.

use crate::cli::Global;
use crate::cmd::run::{self, TeamRun};
use crate::exit::{Exit, Failure};
use crate::launch::testing::TestingFlags;
use crate::target::Words;

/// Write tests for the code that changed, run them, and improve them until the measured figures are good enough
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// What is wanted, in words; paths in it narrow the scope
    #[arg(value_name = "REQUEST|PATHS")]
    request: Vec<String>,
    /// targeted, standard or comprehensive, in place of the one that fits the size of the change
    #[arg(long, value_name = "NAME")]
    pipeline: Option<String>,
    #[command(flatten)]
    testing: TestingFlags,
    #[command(flatten)]
    how: TeamRun,
}

const EXAMPLES: &str = "\
Examples:
  wavecrew testing                                    what changed since the last commit, with the agent that is found
  wavecrew testing -y src/auth --target L1=90         a folder, with a higher target, without questions
  wavecrew testing --since main --agent claude        everything since a branch was left
  wavecrew testing -y --apply                         and copy the tests that were kept into the project
  wavecrew testing --continue tst-auth-20260308 --target L1=95     deepen the coverage of a session";

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let words = Words::of_testing(self.request.clone(), self.pipeline.clone(), self.testing.clone());
        run::Args::of_team(words, self.how.clone()).run(global)
    }
}
