//! `wavecrew planex`: the team `planex`, with its own flags. Plans issues and implements them.

use super::VERIFY_NOTE;
use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::issues::IssueFlags;
use crate::launch::{self, RunArgs};
use crate::target::TargetArgs;

/// Plan, implement and merge issues
#[derive(clap::Args, Debug)]
#[command(after_help = format!("{EXAMPLES}\n\n{VERIFY_NOTE}"))]
pub struct Args {
    /// Issue ids, or a file of issues (`issues.jsonl`)
    #[arg(value_name = "ISSUE|ISSUES.jsonl")]
    issues: Vec<String>,
    #[command(flatten, next_help_heading = "Team planex")]
    input: IssueFlags,
    #[command(flatten)]
    run: RunArgs,
}

const EXAMPLES: &str = "\
Examples:
  wavecrew planex --text 'Answer 429 after 100 requests a minute' -y
  wavecrew planex --plan plan.md --exec codex    one issue per open box or phase of the plan
  wavecrew planex ISS-20260308-120000            an issue that you filed before
  wavecrew planex issues.jsonl --exec auto       all open issues of a file
  wavecrew planex --continue                     continue the latest unfinished session";

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let target = TargetArgs::of_planex(self.issues.clone(), self.input.clone());
        launch::run(&target, &self.run, global)
    }
}
