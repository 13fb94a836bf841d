//! `wavecrew testing`: the team `testing`, with its own flags. Finds the code that changed, has tests written for it, runs
//! and measures them, and repeats until they are good enough.

use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::launch::{self, RunArgs};
use crate::target::TargetArgs;
use crate::target::TestingFlags;

/// Write tests for changed code, and improve them until they reach their targets
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// What to test, in plain text; paths narrow the scope
    #[arg(value_name = "REQUEST|PATHS")]
    request: Vec<String>,
    /// Pipeline: targeted, standard or comprehensive [default: by the size of the change; targeted
    /// for the offline agent]
    #[arg(long, value_name = "NAME", help_heading = "Team testing")]
    pipeline: Option<String>,
    #[command(flatten, next_help_heading = "Team testing")]
    testing: TestingFlags,
    #[command(flatten)]
    run: RunArgs,
}

const EXAMPLES: &str = "\
Examples:
  wavecrew testing                               test the last commit and uncommitted changes
  wavecrew testing -y src/auth --target L1=90    test a folder, with a higher target
  wavecrew testing --since main --agent claude   test everything that changed since main
  wavecrew testing -y --apply                    copy the kept tests into the project
  wavecrew testing --continue tst-auth-20260308 --target L1=95
                                                 continue a session with a higher target";

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let target =
            TargetArgs::of_testing(self.request.clone(), self.pipeline.clone(), self.testing.clone());
        launch::run(&target, &self.run, global)
    }
}
