//! `__check`: checks a worker's claim for the run that started it. Prints its report as one line.

use crate::config::Verify;
use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::launch::testing;
use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::collections::BTreeMap;
use std::io::{Write, stdout};
use std::path::PathBuf;
use wavecrew_core::check_report::CheckReport;
use wavecrew_core::id::TaskIx;
use wavecrew_core::team::CheckKind;
use wavecrew_session::{SessionDir, SessionView};
use wavecrew_testing::check::{self, Attempt, Check, generated_tests, test_report, test_run};
use wavecrew_testing::code_check::{self, CodeAttempt};

/// How it is called.
pub use crate::launch::CHECK_COMMAND as NAME;

/// Check a worker's claim
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
    #[arg(long, value_parser = check_kind())]
    what: CheckKind,
    #[arg(long, value_enum)]
    stage: Stage,
    /// The columns that the worker reported
    #[arg(long)]
    report: PathBuf,
    /// The commit that the session began with
    #[arg(long)]
    base: Option<String>,
    /// Hashes of states of base commits that this run has measured
    #[arg(long)]
    known_state: Vec<String>,
    #[command(flatten)]
    verify: Verify,
}

/// The same is checked before a worker starts and after it, except for what only a worker can have done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Stage {
    Before,
    After,
}

fn check_kind() -> impl TypedValueParser<Value = CheckKind> {
    let names = CheckKind::ALL.map(CheckKind::as_str);
    PossibleValuesParser::new(names).map(|name| {
        let kind = CheckKind::ALL.into_iter().find(|kind| kind.as_str() == name);
        kind.expect("the parser lets only these names through")
    })
}

impl Args {
    pub fn run(&self, _: &Global) -> Result<Exit, Failure> {
        let report = self
            .check()
            .unwrap_or_else(|failure| CheckReport::contradicted(failure.to_string()));
        // One line that starts with the verdict: that is how it is found in the output.
        let line = serde_json::to_string(&report).expect("a report is plain data");
        writeln!(stdout(), "{line}")?;
        Ok(Exit::Done)
    }

    fn check(&self) -> Result<CheckReport, Failure> {
        let view = SessionView::load(SessionDir::at(&self.session)?)?;
        let Some(task) = view.ledger.plan().find(&self.task) else {
            return Err(Failure::input(format!("the session has no task `{}`", self.task)));
        };
        match self.what {
            CheckKind::GeneratedTests => self.check_suite(&view, task, generated_tests::check),
            CheckKind::TestRun => self.check_suite(&view, task, test_run::check),
            CheckKind::TestReport => self.check_suite(&view, task, test_report::check),
            CheckKind::CodeWork => self.check_code(&view, task, code_check::check_code),
            CheckKind::CodeTests => self.check_code(&view, task, code_check::check_tests),
        }
    }

    fn check_suite(&self, view: &SessionView, task: TaskIx, check: Check) -> Result<CheckReport, Failure> {
        let claims = self.claims();
        let attempt = Attempt {
            session: &self.session,
            ledger: &view.ledger,
            task,
            attempt: self.attempt,
            after_worker: self.stage == Stage::After,
            claims: &claims,
        };
        let mut environment = testing::open_environment(&self.session)?;
        Ok(check::run_check(&mut environment, &attempt, check))
    }

    /// The columns that the worker reported.
    fn claims(&self) -> Vec<(String, String)> {
        let text = std::fs::read(&self.report).unwrap_or_default();
        let claims: BTreeMap<String, String> = serde_json::from_slice(&text).unwrap_or_default();
        claims.into_iter().collect()
    }

    fn check_code(
        &self,
        view: &SessionView,
        task: TaskIx,
        check: fn(&CodeAttempt<'_>) -> Result<CheckReport, code_check::CodeCheckError>,
    ) -> Result<CheckReport, Failure> {
        let folder = std::env::current_dir().map_err(Failure::Output)?;
        check(&CodeAttempt {
            session: &view.dir,
            project: &self.project,
            folder: &folder,
            base: self.base.as_deref(),
            ledger: &view.ledger,
            task,
            attempt: self.attempt,
            settings: &self.verify.settings(),
            timeout: self.verify.limit(),
            behaviour: self.verify.behaviour(),
            claims: &self.claims(),
            known_states: &self.known_state,
        })
        .map_err(|error| Failure::input(error.to_string()))
    }
}
