//! Table edits: a person changes `tasks.csv`. The edit is compared with the current table, validated, and passed to the
//! engine or set aside.

use super::render;
use crate::event_loop::DriveError;
use crate::event_loop::Driver;
use crate::session::OpenSession;
use std::collections::HashMap;
use wavecrew_core::engine::{Action, Engine, Input, Ledger, Notice, TaskProgress, is_engine_column};
use wavecrew_core::event::Status;
use wavecrew_core::plan::{Plan, seal};
use wavecrew_core::sheet::{Origin, Patch, Sheet};

/// An edited table compared with the current one.
pub enum TableEdit {
    Unchanged,
    Changed {
        patch: Patch,
        plan: Box<Plan>,
    },
    /// It is not a valid plan; each problem with its line.
    Invalid(Vec<String>),
}

/// When an edit was made. It decides whether a status of `pending` resets a task or is only out of date.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EditTime {
    /// While no run was active.
    BetweenRuns,
    /// During a run: tasks may have finished while the editor had the file open.
    DuringRun,
}

/// Compares an edited table with the current one.
pub fn read_edit(ledger: &Ledger, bytes: &[u8], time: EditTime) -> TableEdit {
    let described = |problems: Vec<wavecrew_core::plan::Problem>| {
        let line = |p: &wavecrew_core::plan::Problem| format!("tasks.csv:{}: {}", p.line, p.message);
        TableEdit::Invalid(problems.iter().map(line).collect())
    };
    let edited = match Sheet::read(bytes, Origin::Session) {
        Ok(sheet) => sheet,
        Err(problems) => return described(problems),
    };
    // The edit as a whole has to be a valid plan, or ids could not be compared.
    if let Err(problems) = seal(edited.clone(), &ledger.team) {
        return described(problems);
    }
    let current = render(ledger);
    let current = Sheet::read(&current[..], Origin::Session).expect("our own table is well-formed");
    let mut ignored: Vec<&str> = ledger.plan().header().iter().map(String::as_str).collect();
    ignored.retain(|column| *column != "status" && is_engine_column(&ledger.team, column));
    let mut patch = current.diff(&edited, &ignored);
    let (current_rows, edited_rows) = (Rows::of(&current), Rows::of(&edited));
    let resets = |id: &str, value: &str| match time {
        EditTime::DuringRun => resets_on_purpose(ledger, id, value),
        EditTime::BetweenRuns => {
            Status::parse(value) != Some(Status::Pending)
                || !lacks_results(&current_rows, &edited_rows, &ignored, id)
        }
    };
    patch
        .changed
        .retain(|cell| cell.column != "status" || resets(&cell.id, &cell.value));
    if patch.is_empty() {
        return TableEdit::Unchanged;
    }
    let is_open = |id: &&String| {
        let task = ledger.plan().find(id);
        task.is_some_and(|task| matches!(ledger.task(task).progress, TaskProgress::Open { .. }))
    };
    let running: Vec<String> = patch.removed.iter().filter(is_open).cloned().collect();
    if !running.is_empty() {
        let text = format!("rows of running tasks cannot be removed: {}", running.join(", "));
        return TableEdit::Invalid(vec![text]);
    }
    match seal(ledger.plan().sheet().apply(&patch), &ledger.team) {
        Ok((plan, _)) => TableEdit::Changed {
            patch,
            plan: Box::new(plan),
        },
        Err(problems) => described(problems),
    }
}

/// During a run an editor's copy may be older than the result: its `pending` then means nothing.
fn resets_on_purpose(ledger: &Ledger, id: &str, value: &str) -> bool {
    let Some(task) = ledger.plan().find(id) else {
        return true;
    };
    let ran = ledger.task(task).made_from.is_some();
    Status::parse(value) != Some(Status::Pending) || !ran
}

/// The rows of a table by id.
struct Rows<'a> {
    sheet: &'a Sheet,
    by_id: HashMap<&'a str, usize>,
}

impl<'a> Rows<'a> {
    fn of(sheet: &'a Sheet) -> Self {
        let column = sheet.column("id").unwrap_or(0);
        let by_id = (0..sheet.rows())
            .map(|row| (sheet.cell(row, column), row))
            .collect();
        Self { sheet, by_id }
    }
}

/// Whether the row has none of the results that the table has: then its copy was made before the task
/// finished, and its `pending` is out of date. To run a row again, a person changes only its status.
fn lacks_results(current: &Rows<'_>, edited: &Rows<'_>, results: &[&str], id: &str) -> bool {
    let (Some(&current_row), Some(&edited_row)) = (current.by_id.get(id), edited.by_id.get(id)) else {
        return false;
    };
    let (current, edited) = (current.sheet, edited.sheet);
    // Known before the task runs.
    let results = results.iter().filter(|column| **column != "wave");
    let mut found = results.filter_map(|column| {
        let result = current.cell(current_row, current.column(column)?);
        let copy = edited.column(column).map_or("", |at| edited.cell(edited_row, at));
        (!result.is_empty()).then_some(result == copy)
    });
    // Without results, old and new copies of a row cannot be distinguished.
    found
        .next()
        .is_some_and(|first| !first && !found.any(|same| same))
}

impl Driver<'_> {
    pub(crate) fn apply_table_edit(&mut self, bytes: &[u8]) -> Result<(), DriveError> {
        match read_edit(self.engine.ledger(), bytes, EditTime::DuringRun) {
            TableEdit::Unchanged => {}
            TableEdit::Changed { .. } | TableEdit::Invalid(_) if self.refuse_workers_edit(bytes)? => {}
            TableEdit::Changed { patch, plan } => self.step(Input::TableEdited { patch, plan })?,
            TableEdit::Invalid(problems) => {
                let path = wavecrew_session::save_rejected_edit(&self.session.dir, bytes)?;
                let note = format!(
                    "The edit of tasks.csv is not valid and was saved as {}: {}",
                    path.display(),
                    problems.join("; ")
                );
                self.context.reporter.notice(&Notice::Note(note));
                self.step(Input::TableEditRefused { problems })?;
            }
        }
        Ok(())
    }
}

/// Applies an edit that was made between runs to a session that is resumed. Returns what the person should know.
pub fn apply_edit_between_runs(
    session: &mut OpenSession,
    engine: &mut Engine,
    now: wavecrew_core::time::Timestamp,
    bytes: &[u8],
) -> Result<Vec<String>, DriveError> {
    let mut messages = Vec::new();
    let input = match read_edit(engine.ledger(), bytes, EditTime::BetweenRuns) {
        TableEdit::Unchanged => return Ok(messages),
        TableEdit::Changed { patch, plan } => Input::TableEdited { patch, plan },
        TableEdit::Invalid(problems) => {
            wavecrew_session::save_rejected_edit(&session.dir, bytes)?;
            let refused = |problem: &String| format!("The edit of tasks.csv was refused: {problem}");
            messages.extend(problems.iter().map(refused));
            Input::TableEditRefused { problems }
        }
    };
    let actions = engine.step(now, input);
    messages.extend(notes(&actions));
    let events: Vec<_> = actions
        .into_iter()
        .filter_map(|action| match action {
            Action::Record(event) => Some(event),
            _ => None,
        })
        .collect();
    session.record(&events)?;
    Ok(messages)
}

/// What the engine has to say about an edit.
pub fn notes(actions: &[Action]) -> impl Iterator<Item = String> {
    actions.iter().filter_map(|action| match action {
        Action::Notify(Notice::Note(note)) => Some(note.clone()),
        _ => None,
    })
}
