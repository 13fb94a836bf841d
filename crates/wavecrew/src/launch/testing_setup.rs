//! Sets up a session of team Testing before its first worker starts, and shows the result of the project's own tests.

use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::hint;
use crate::launch::testing::disk;
use crate::show;
use crate::terminal;
use wavecrew_core::engine::Ledger;
use wavecrew_core::view::count;
use wavecrew_measure::run::stop_on_signals;
use wavecrew_run::session::OpenSession;
use wavecrew_testing::baseline::{Baseline, SuiteResult};
use wavecrew_testing::coverage_figures::{lines, percent};
use wavecrew_testing::setup::{self, SetupError};

/// Gives a session of team Testing its copy of the project and its baseline; does nothing for other sessions.
pub fn set_up(session: &mut OpenSession, ledger: &Ledger, global: &Global) -> Result<(), Failure> {
    let folder = session.dir.path().to_owned();
    if !setup::is_testing_session(&folder) {
        return Ok(());
    }
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    if setup::begin(&session.project, &session.dir, &now)? {
        global.note("Before  running the project's own tests once");
        measure_baseline(session)?;
        if global.prints_notes() {
            print_baseline(&Baseline::read(&folder).map_err(|error| disk(&error))?);
        }
    }
    let folder_of = setup::task_folders(ledger, &session.project, &folder);
    session.folders = Some(Box::new(move |task| Ok(folder_of(task))));
    Ok(())
}

impl From<SetupError> for Failure {
    fn from(error: SetupError) -> Self {
        match error {
            SetupError::Disk(error) => disk(&error),
            SetupError::Board(error) => error.into(),
        }
    }
}

fn measure_baseline(session: &OpenSession) -> Result<(), Failure> {
    terminal::hand_over_interrupts();
    let stop = stop_on_signals().map_err(Failure::Output)?;
    let program = std::env::current_exe().map_err(Failure::Output)?;
    let status = setup::measure_baseline(&program, session.dir.path(), &stop).map_err(Failure::Output)?;
    if status.success() {
        return Ok(());
    }
    if status.code() == Some(Exit::Interrupted as i32) {
        return Err(Failure::Interrupted {
            message: "interrupted before the first worker started".to_owned(),
            help: format!(
                "continue with `{}`",
                hint::command(&format!("testing --continue {}", session.dir.id()))
            ),
        });
    }
    // The child has printed what is wrong.
    Err(Failure::Refused)
}

fn print_baseline(baseline: &Baseline) {
    for suite in &baseline.suites {
        match &suite.result {
            SuiteResult::Error { message, help } => show::warning(message, Some(help)),
            SuiteResult::Measurement(found) => {
                for note in &found.notes {
                    show::warning(&show::safe(&note.what), note.fix.as_deref());
                }
            }
        }
    }
    let covered = lines(&baseline.coverage());
    let red = match baseline.failing() {
        0 => String::new(),
        red => format!(", {red} of them already failing"),
    };
    anstream::eprintln!(
        "Before  {}{red}; {} % of the lines in scope covered",
        count(baseline.tests(), "test"),
        if covered.total == 0 {
            "0.00".to_owned()
        } else {
            percent(covered)
        }
    );
}
