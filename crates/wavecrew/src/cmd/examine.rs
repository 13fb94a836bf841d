//! `__examine`: finds out whether a worker's claim is so, for the run that started it. Prints its verdict as one line.

use crate::exit::{Exit, Failure};
use crate::launch::testing;
use crate::session_view::SessionView;
use clap::ValueEnum;
use std::collections::BTreeMap;
use std::io::{Write, stdout};
use std::path::PathBuf;
use wavecrew_store::SessionDir;
use wavecrew_testing::bench::Bench;
use wavecrew_testing::examine::{Case, broken, generated, report, run};
use wavecrew_testing::verdict::Verdict;

/// The line is read from the end of what is printed, and has to fit there.
const FEEDBACK: usize = 40_000;

/// Examine a worker's claim
#[derive(clap::Args, Debug)]
pub struct Args {
    #[arg(long)]
    session: PathBuf,
    // Given by the run; the session knows both.
    #[arg(long = "project")]
    _project: Option<PathBuf>,
    #[arg(long)]
    task: String,
    #[arg(long)]
    attempt: u32,
    #[arg(long, value_enum)]
    what: What,
    #[arg(long = "stage")]
    _stage: Option<String>,
    #[arg(long)]
    report: PathBuf,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum What {
    GeneratedTests,
    TestRun,
    TestReport,
}

impl Args {
    pub fn run(&self) -> Result<Exit, Failure> {
        let verdict = self
            .examine()
            .unwrap_or_else(|failure| Verdict::contradicted(failure.to_string()));
        let mut out = stdout().lock();
        serde_json::to_writer(&mut out, &shortened(verdict)).map_err(std::io::Error::from)?;
        writeln!(out)?;
        Ok(Exit::Done)
    }

    fn examine(&self) -> Result<Verdict, Failure> {
        let view = SessionView::load(SessionDir::at(&self.session)?)?;
        let plan = view.ledger.plan();
        let Some(task) = plan.find(&self.task) else {
            return Err(Failure::input(format!("the session has no task `{}`", self.task)));
        };
        let text = std::fs::read(&self.report).unwrap_or_default();
        let claims: BTreeMap<String, String> = serde_json::from_slice(&text).unwrap_or_default();
        let claims: Vec<(String, String)> = claims.into_iter().collect();
        let mut bench: Bench = testing::bench(&self.session)?;
        let layer = plan.cell(task, "layer");
        let target = plan.cell(task, "coverage_target").trim().parse().ok();
        let case = Case {
            session: &self.session,
            task: &self.task,
            layer,
            target: target.or_else(|| bench.scope.target(layer)).unwrap_or(0.0),
            attempt: self.attempt,
            claims: &claims,
        };
        let found = match self.what {
            What::GeneratedTests => generated::examine(&mut bench, &case),
            What::TestRun => run::examine(&mut bench, &case),
            What::TestReport => report::examine(&mut bench, &case),
        };
        Ok(found.unwrap_or_else(|trouble| broken(&trouble)))
    }
}

fn shortened(mut verdict: Verdict) -> Verdict {
    let text = match &mut verdict {
        Verdict::Short { feedback, .. } => feedback,
        Verdict::Mend { reason } | Verdict::Contradicted { reason } => reason,
        Verdict::Holds { findings, .. } => findings,
    };
    if text.len() > FEEDBACK {
        text.truncate(text.floor_char_boundary(FEEDBACK));
        text.push_str("\n[...] the rest is in the session's results folder");
    }
    verdict
}
