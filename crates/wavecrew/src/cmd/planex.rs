//! `wavecrew planex`: plans issues and implements them. The same as `run planex`, with its words in their usual order.

use super::run;
use crate::cli::Global;
use crate::exit::{Exit, Failure};
use crate::issue_input::IssueFlags;
use crate::target::Words;

/// Plan issues and implement them, as many at once as their files allow
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Ids of issues, or a file of issues (`issues.jsonl`)
    #[arg(value_name = "ISSUE|ISSUES.jsonl")]
    issues: Vec<String>,
    #[command(flatten)]
    input: IssueFlags,
    #[command(flatten)]
    how: run::TeamRun,
}

const EXAMPLES: &str = "\
Examples:
  wavecrew planex --text 'Answer 429 after 100 requests a minute' -y
  wavecrew planex --plan plan.md --exec codex    one issue per open box or phase of the plan
  wavecrew planex ISS-20260308-120000            an issue that was filed before
  wavecrew planex issues.jsonl --exec auto       all open issues of a file
  wavecrew planex --continue                     go on where the last run stopped

Code is believed when the project's build and tests say so. They are found by the project's files;
other commands stand in wavecrew.toml under [verify]: setup, build, test, limit_seconds.";

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let words = Words::of_planex(self.issues.clone(), self.input.clone());
        run::Args::of_team(words, self.how.clone()).run(global)
    }
}
