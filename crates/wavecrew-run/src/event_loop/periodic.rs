//! Work done ten times a second: the session folder, clocks, reports, requests, the control file, the display.

use crate::event_loop::{DriveError, Driver, Running};
use crate::table::render;
use crate::worker::Worker;
use std::fs;
use wavecrew_core::engine::{Input, StopKind};
use wavecrew_session::SessionError;

impl Driver<'_> {
    pub(super) fn run_periodic_work(&mut self) -> Result<(), DriveError> {
        self.check_session_exists()?;
        self.collect_reports()?;
        self.record_conversations();
        self.collect_worker_requests();
        self.collect_usage();
        self.end_overdue_turns();
        self.end_overdue_checks();
        self.read_control_file();
        self.sync_pools();
        self.packed_files.flush();
        self.inputs.push_back(Input::Tick);
        let ledger = self.engine.ledger();
        self.table.refresh(|| render(ledger));
        let running = if self.context.reporter.wants_running() {
            self.running()
        } else {
            Vec::new()
        };
        self.context.reporter.tick(&running, self.engine.ledger());
        Ok(())
    }

    /// Without its folder a run has nothing to write to, and its workers cannot report.
    pub(crate) fn check_session_exists(&self) -> Result<(), DriveError> {
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

    /// `wavecrew cancel`, `pause` and `resume` write a command into a file.
    fn read_control_file(&mut self) {
        let path = self.session.dir.control_file();
        let Ok(command) = fs::read_to_string(&path) else {
            return;
        };
        // Whoever wrote it waits until the file is gone.
        let _ = fs::remove_file(&path);
        match command.trim() {
            "cancel" => self.inputs.push_back(Input::Stop(StopKind::Cancel)),
            "pause" => self.inputs.push_back(Input::Pause),
            "resume" => self.inputs.push_back(Input::Resume),
            _ => {}
        }
    }
}
