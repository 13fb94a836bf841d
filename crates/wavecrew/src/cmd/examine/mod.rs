//! `__examine`: finds out whether a worker's claim is so, for the run that started it. Prints its verdict as one line.

mod baseline;
mod changes;
mod code_work;
mod suite;

use crate::config::Verify;
use crate::exit::{Exit, Failure};
use clap::ValueEnum;
use serde::Serialize;
use std::io::{Write, stdout};
use std::path::PathBuf;
use wavecrew_session::SessionDir;
use wavecrew_session::SessionView;

/// Examine a worker's claim
#[derive(clap::Args, Debug)]
pub struct Args {
    #[arg(long)]
    session: PathBuf,
    #[arg(long)]
    project: PathBuf,
    #[arg(long)]
    task: String,
    #[arg(long)]
    attempt: u32,
    #[arg(long, value_enum)]
    what: What,
    #[arg(long, value_enum)]
    stage: Stage,
    /// The columns that the worker reported
    #[arg(long)]
    report: PathBuf,
    #[command(flatten)]
    verify: Verify,
}

/// The same is looked at before a worker and after it, but for what only a worker can have done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Stage {
    Before,
    After,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum What {
    GeneratedTests,
    TestRun,
    TestReport,
    CodeWork,
    CodeTests,
}

impl Args {
    pub fn run(&self) -> Result<Exit, Failure> {
        let verdict = self.examine().unwrap_or_else(|failure| {
            let reason = failure.to_string();
            line(&code_work::Verdict::Contradicted { reason })
        });
        writeln!(stdout(), "{verdict}")?;
        Ok(Exit::Done)
    }

    /// The line to print.
    fn examine(&self) -> Result<String, Failure> {
        let view = SessionView::load(SessionDir::at(&self.session)?)?;
        let Some(task) = view.ledger.plan().find(&self.task) else {
            return Err(Failure::input(format!("the session has no task `{}`", self.task)));
        };
        let folder = std::env::current_dir().map_err(Failure::Output)?;
        let code = code_work::Case {
            session: &view.dir,
            project: &self.project,
            folder: &folder,
            base: view.info.as_ref().and_then(|info| info.base_commit.as_deref()),
            ledger: &view.ledger,
            task,
            attempt: self.attempt,
            verify: &self.verify,
        };
        Ok(match self.what {
            What::GeneratedTests => line(&suite::examine(self, &view, task, suite::generated)?),
            What::TestRun => line(&suite::examine(self, &view, task, suite::run)?),
            What::TestReport => line(&suite::examine(self, &view, task, suite::report)?),
            What::CodeWork => line(&code_work::code(&code)?),
            What::CodeTests => line(&code_work::tests(&code)?),
        })
    }
}

/// A verdict in one line, with the word first: that is how it is found among what else was printed.
fn line(verdict: &impl Serialize) -> String {
    serde_json::to_string(verdict).expect("a verdict is plain data")
}
