//! Workers that can change the session's own files: all of them with the sandbox off, and some where there
//! are no mounts. Their changes have no effect: a table edit is set aside, and the journal is restored.

use crate::event_loop::{DriveError, Driver};
use std::time::{Duration, Instant};
use wavecrew_core::engine::{Input, Notice};
use wavecrew_session::{SessionDir, SessionError, save_rejected_edit, table_mark};

/// How long after a worker's end an edit may still be its own: until a changed table counts as finished and is found.
const FOUND_WITHIN: Duration = Duration::from_secs(2);

impl Driver<'_> {
    /// The tasks whose workers can have changed the session's files in the last moments.
    pub(super) fn suspects(&mut self) -> Vec<String> {
        if self.sandbox.protects_session() {
            return Vec::new();
        }
        self.ended_unprotected
            .retain(|(ended, _)| ended.elapsed() < FOUND_WITHIN);
        let table = self.session.dir.tasks_csv();
        let running = self.workers.values();
        let running = running.filter(|worker| self.sandbox.can_change(worker.number, &table));
        let mut tasks: Vec<String> = running.map(|worker| worker.assignment.id.clone()).collect();
        tasks.extend(self.ended_unprotected.iter().map(|(_, task)| task.clone()));
        tasks.sort();
        tasks.dedup();
        tasks
    }

    /// Notes the end of a worker that can have changed the session's files.
    pub(crate) fn note_unprotected_end(&mut self, task: &str, number: u32) {
        if !self.sandbox.protects_session() && self.sandbox.can_change(number, &self.session.dir.tasks_csv())
        {
            self.ended_unprotected.push((Instant::now(), task.to_owned()));
        }
    }

    /// Sets a table edit aside that a worker can have made. Returns whether it did.
    pub(crate) fn refuse_workers_edit(&mut self, bytes: &[u8]) -> Result<bool, DriveError> {
        if self.is_edit_in_browser(bytes) {
            return Ok(false);
        }
        let suspects = self.suspects();
        if suspects.is_empty() {
            return Ok(false);
        }
        let problem = set_aside(&self.session.dir, bytes, &suspects)?;
        self.step(Input::TableEditRefused {
            problems: vec![problem],
        })?;
        Ok(true)
    }

    pub(super) fn is_edit_in_browser(&self, bytes: &[u8]) -> bool {
        self.edits_in_browser.contains(&table_mark(bytes))
    }

    /// Reports that the journal had to be restored.
    pub(crate) fn warn_of_restored_journal(&mut self) {
        if self.session.journal.take_restored() {
            let note = restored_journal(&self.suspects());
            self.context.reporter.notice(&note);
        }
    }
}

pub(super) fn restored_journal(suspects: &[String]) -> Notice {
    let by = if suspects.is_empty() {
        "by another program".to_owned()
    } else {
        format!("while workers ran that can write it: {}", suspects.join(", "))
    };
    Notice::Note(format!(
        "The journal was changed {by}. It is restored, and the session can be continued."
    ))
}

/// Keeps an edit that was set aside. Returns the reason, and what to do.
pub(super) fn set_aside(dir: &SessionDir, bytes: &[u8], suspects: &[String]) -> Result<String, SessionError> {
    let path = save_rejected_edit(dir, bytes)?;
    Ok(format!(
        "workers that can write the table were running ({}), so the edit was not applied; it is saved in {}. Pause the run and edit the table when no \
         worker runs, or edit the row in the browser",
        suspects.join(", "),
        path.display()
    ))
}
