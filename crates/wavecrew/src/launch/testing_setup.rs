//! Sets up a session of team Testing before its first worker starts, and shows the result of the project's own tests.

use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::hint;
use crate::json;
use crate::launch::testing::disk;
use crate::show;
use crate::terminal;
use serde_json::json;
use std::fs;
use wavecrew_core::engine::Ledger;
use wavecrew_core::view::count;
use wavecrew_measure::run::stop_on_signals;
use wavecrew_process::sandbox::ProgramRules;
use wavecrew_run::session::OpenSession;
use wavecrew_testing::baseline::{Baseline, SuiteResult};
use wavecrew_testing::coverage_figures::{lines, percent};
use wavecrew_testing::scope::Scope;
use wavecrew_testing::setup::{self, SetupError};
use wavecrew_testing::snapshot::Snapshot;

/// What the set-up of a session found.
#[derive(Clone, Debug, PartialEq)]
pub enum Setup {
    /// There is work for the workers.
    Ready,
    /// The project's own tests cover this many percent of the lines in scope, which is enough.
    TargetMet { covered: String, target: f64 },
}

/// Gives a session of team Testing its copy of the project and its baseline; does nothing for other sessions.
pub fn set_up(session: &mut OpenSession, ledger: &Ledger, global: &Global) -> Result<Setup, Failure> {
    let folder = session.dir.path().to_owned();
    if !setup::is_testing_session(&folder) {
        return Ok(Setup::Ready);
    }
    let mut setup = Setup::Ready;
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    if setup::begin(&session.project, &session.dir, &now)? {
        global.note("Before  running the project's own tests once");
        measure_baseline(session, !global.prints_notes())?;
        let baseline = Baseline::read(&folder).map_err(|error| disk(&error))?;
        if global.prints_notes() {
            print_baseline(&baseline);
        }
        let scope = Scope::read(&folder).map_err(|error| disk(&error))?;
        let plan = ledger.plan();
        let layers = plan.tasks().map(|task| plan.cell(task, "layer"));
        let targets = layers.filter_map(|layer| scope.target(layer));
        if let Some(target) = targets.reduce(f64::max)
            && let Some(covered) = baseline.covers(target)
        {
            setup = Setup::TargetMet { covered, target };
        }
    }
    let folder_of = setup::task_folders(ledger, &session.project, &folder);
    session.folders = Some(Box::new(move |task| Ok(folder_of(task))));
    Ok(setup)
}

/// Ends a new session whose target is met before any worker started: removes it and says so.
pub fn end_without_work(
    session: OpenSession,
    covered: &str,
    target: f64,
    global: &Global,
) -> Result<Exit, Failure> {
    let folder = session.dir.path().to_owned();
    drop(session);
    let removed = Snapshot::remove(&folder).and_then(|()| fs::remove_dir_all(&folder));
    removed.map_err(|error| disk(&error))?;
    if global.json {
        json::print(
            json!({ "event": "end", "exit": Exit::Done as u8, "target_met": true, "coverage": covered }),
        )?;
    } else if !global.quiet {
        tell!(
            "Done    the project's own tests cover {covered} % of the lines in scope, and the target is {target} %: no tests are \
             generated"
        );
        tell!("        to generate tests anyway, add --always or a higher --target");
    }
    Ok(Exit::Done)
}

impl From<SetupError> for Failure {
    fn from(error: SetupError) -> Self {
        match error {
            SetupError::Disk(error) => disk(&error),
            SetupError::Board(error) => error.into(),
        }
    }
}

fn measure_baseline(session: &OpenSession, quiet: bool) -> Result<(), Failure> {
    terminal::hand_over_interrupts();
    let stop = stop_on_signals().map_err(Failure::Output)?;
    let program = std::env::current_exe().map_err(Failure::Output)?;
    let rules = ProgramRules::current().variable();
    let status = setup::measure_baseline(&program, session.dir.path(), quiet, &stop, rules)
        .map_err(Failure::Output)?;
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
            SuiteResult::Error { message, help, .. } => show::warning(message, Some(help)),
            SuiteResult::Measurement(found) => {
                for note in &found.notes {
                    show::warning(&show::safe(&note.what), note.fix.as_deref());
                }
            }
        }
    }
    let covered = if baseline.is_known() {
        let covered = lines(&baseline.coverage());
        let none = covered.total == 0;
        let covered = if none { "0.00".to_owned() } else { percent(covered) };
        format!("{covered} % of the lines in scope covered")
    } else {
        "their coverage is unknown".to_owned()
    };
    let red = match baseline.failing() {
        0 => String::new(),
        red => format!(", {red} of them already failing"),
    };
    tell!("Before  {}{red}; {covered}", count(baseline.tests(), "test"));
}
