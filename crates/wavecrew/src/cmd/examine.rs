//! `__examine`: finds out whether a worker's claim is so, for the run that started it. Prints its verdict as one line.

mod baseline;
mod changes;
mod code_work;

use crate::exit::{Exit, Failure};
use crate::session_view::SessionView;
use clap::ValueEnum;
use code_work::{Case, Verdict};
use std::io::{Write, stdout};
use std::path::PathBuf;
use wavecrew_store::SessionDir;

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
    // Code is looked at when its worker is done, whatever it reports.
    #[arg(long = "stage")]
    _stage: Option<String>,
    #[arg(long = "report")]
    _report: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum What {
    CodeWork,
    CodeTests,
}

impl Args {
    pub fn run(&self) -> Result<Exit, Failure> {
        let verdict = self.examine().unwrap_or_else(|failure| Verdict::Contradicted {
            reason: failure.to_string(),
        });
        let mut out = stdout().lock();
        serde_json::to_writer(&mut out, &verdict).map_err(std::io::Error::from)?;
        writeln!(out)?;
        Ok(Exit::Done)
    }

    fn examine(&self) -> Result<Verdict, Failure> {
        let view = SessionView::load(SessionDir::at(&self.session)?)?;
        let Some(task) = view.ledger.plan().find(&self.task) else {
            return Err(Failure::input(format!("the session has no task `{}`", self.task)));
        };
        let folder = std::env::current_dir().map_err(Failure::Output)?;
        let case = Case {
            session: &view.dir,
            project: &self.project,
            folder: &folder,
            base: view.info.as_ref().and_then(|info| info.base_commit.as_deref()),
            ledger: &view.ledger,
            task,
            attempt: self.attempt,
        };
        match self.what {
            What::CodeWork => code_work::code(&case),
            What::CodeTests => code_work::tests(&case),
        }
    }
}
