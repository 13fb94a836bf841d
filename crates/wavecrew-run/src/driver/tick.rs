//! What is looked at ten times a second: the session, clocks, words from outside, and what the screen shows.

use super::worker::Worker;
use super::{DriveError, Driver, Running, session};
use std::fs;
use wavecrew_core::engine::{Input, StopKind};
use wavecrew_session::SessionError;

impl Driver<'_> {
    pub(super) fn tick(&mut self) -> Result<(), DriveError> {
        self.look_for_the_session()?;
        self.look_for_reports()?;
        self.note_conversations();
        self.look_for_questions();
        self.look_at_usage();
        self.look_at_last_calls();
        self.look_at_checks();
        self.look_for_words();
        self.look_at_pools();
        self.shorts.flush();
        self.inputs.push_back(Input::Tick);
        let ledger = self.engine.ledger();
        self.table.tick(|| session::render(ledger));
        let running = if self.surface.reporter.wants_running() {
            self.running()
        } else {
            Vec::new()
        };
        self.surface.reporter.tick(&running, self.engine.ledger());
        Ok(())
    }

    /// Without its folder a run has nothing to write to, and its workers nowhere to report.
    pub(super) fn look_for_the_session(&self) -> Result<(), DriveError> {
        if self.session.journal.is_in_place() {
            return Ok(());
        }
        let path = self.session.dir.path().to_owned();
        Err(SessionError::Gone { path }.into())
    }

    fn running(&self) -> Vec<Running> {
        let show = |worker: &Worker| Running {
            task: worker.assignment.id.clone(),
            role: worker.assignment.role.clone(),
            attempt: worker.assignment.attempt,
            elapsed: worker.started.elapsed(),
            silent: worker.last_output.elapsed(),
            last_line: worker.output.last_line(),
        };
        self.workers.values().map(show).collect()
    }

    /// `wavecrew cancel` and its kin leave a word in a file.
    fn look_for_words(&mut self) {
        let path = self.session.dir.control_file();
        let Ok(word) = fs::read_to_string(&path) else {
            return;
        };
        // Whoever wrote it waits for it to go.
        let _ = fs::remove_file(&path);
        match word.trim() {
            "cancel" => self.inputs.push_back(Input::Stop(StopKind::Cancel)),
            "pause" => self.inputs.push_back(Input::Pause),
            "resume" => self.inputs.push_back(Input::Resume),
            _ => {}
        }
    }
}
