//! A person's edit of `tasks.csv`: compared with what stands, checked, and handed to the engine or set aside.

use super::{DriveError, Driver, session};
use wavecrew_core::engine::{Engine, Input, Ledger, Notice, TaskProgress, is_engine_column};
use wavecrew_core::event::Status;
use wavecrew_core::plan::{Plan, seal};
use wavecrew_core::sheet::{Origin, Patch, Sheet};

/// What came of an edited table.
pub enum Edit {
    /// It says what stands already.
    Nothing,
    Change {
        patch: Patch,
        plan: Box<Plan>,
    },
    /// It cannot be followed; each problem with its line.
    Refused(Vec<String>),
}

/// Whether statuses set back to `pending` are meant, or only older than what happened since.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// Nothing ran when the edit was made.
    Between,
    /// Tasks finished while the editor had the file open.
    During,
}

/// Compares an edited table with what stands.
pub fn read_edit(ledger: &Ledger, bytes: &[u8], moment: Moment) -> Edit {
    let described = |problems: Vec<wavecrew_core::plan::Problem>| {
        let line = |p: &wavecrew_core::plan::Problem| format!("tasks.csv:{}: {}", p.line, p.message);
        Edit::Refused(problems.iter().map(line).collect())
    };
    let edited = match Sheet::read(bytes, Origin::Session) {
        Ok(sheet) => sheet,
        Err(problems) => return described(problems),
    };
    // The edit as a whole has to be a plan, or ids could not be compared.
    if let Err(problems) = seal(edited.clone(), &ledger.team) {
        return described(problems);
    }
    let standing = session::render(ledger);
    let standing = Sheet::read(&standing[..], Origin::Session).expect("our own table is well-formed");
    let mut ignored: Vec<&str> = ledger.plan().header().iter().map(String::as_str).collect();
    ignored.retain(|column| *column != "status" && is_engine_column(&ledger.team, column));
    let mut patch = standing.diff(&edited, &ignored);
    if moment == Moment::During {
        patch
            .changed
            .retain(|cell| cell.column != "status" || is_meant(ledger, &cell.id, &cell.value));
    }
    if patch.is_empty() {
        return Edit::Nothing;
    }
    let is_open = |id: &&String| {
        let task = ledger.plan().find(id);
        task.is_some_and(|task| matches!(ledger.task(task).progress, TaskProgress::Open { .. }))
    };
    let running: Vec<String> = patch.removed.iter().filter(is_open).cloned().collect();
    if !running.is_empty() {
        let text = format!("rows of running tasks cannot be removed: {}", running.join(", "));
        return Edit::Refused(vec![text]);
    }
    match seal(ledger.plan().sheet().apply(&patch), &ledger.team) {
        Ok((plan, _)) => Edit::Change {
            patch,
            plan: Box::new(plan),
        },
        Err(problems) => described(problems),
    }
}

/// While a run goes on, an editor's copy may be older than the result: `pending` then means nothing.
fn is_meant(ledger: &Ledger, id: &str, value: &str) -> bool {
    let Some(task) = ledger.plan().find(id) else {
        return true;
    };
    let ran = ledger.task(task).made_from.is_some();
    Status::parse(value) != Some(Status::Pending) || !ran
}

impl Driver<'_> {
    pub(super) fn hand_edit(&mut self, bytes: &[u8]) -> Result<(), DriveError> {
        match read_edit(self.engine.ledger(), bytes, Moment::During) {
            Edit::Nothing => {}
            Edit::Change { patch, plan } => self.step(Input::TableEdited { patch, plan })?,
            Edit::Refused(problems) => {
                let path = wavecrew_session::save_rejected_edit(&self.session.dir, bytes)?;
                let note = format!(
                    "An edit of tasks.csv cannot be followed and was set aside as {}: {}",
                    path.display(),
                    problems.join("; ")
                );
                self.surface.reporter.notice(&Notice::Note(note));
                self.step(Input::TableEditRefused { problems })?;
            }
        }
        Ok(())
    }
}

/// For a session that is taken up: follows an edit made while nothing ran. Returns what to tell the person.
pub fn follow_edit(
    session: &mut super::OpenSession,
    engine: &mut Engine,
    now: wavecrew_core::time::Timestamp,
    bytes: &[u8],
) -> Result<Vec<String>, DriveError> {
    let input = match read_edit(engine.ledger(), bytes, Moment::Between) {
        Edit::Nothing => return Ok(Vec::new()),
        Edit::Change { patch, plan } => Input::TableEdited { patch, plan },
        Edit::Refused(problems) => {
            wavecrew_session::save_rejected_edit(&session.dir, bytes)?;
            Input::TableEditRefused { problems }
        }
    };
    let told = match &input {
        Input::TableEditRefused { problems } => problems.clone(),
        _ => Vec::new(),
    };
    let events: Vec<_> = engine
        .step(now, input)
        .into_iter()
        .filter_map(|action| match action {
            wavecrew_core::engine::Action::Record(event) => Some(event),
            _ => None,
        })
        .collect();
    session.record(&events)?;
    Ok(told)
}
