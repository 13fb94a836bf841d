//! Work done ten times a second: the session folder, clocks, reports, requests, the control file, the display.

use crate::event_loop::{DriveError, Driver, Running};
use crate::table::render;
use crate::worker::Worker;
use std::fs;
use std::time::Duration;
use wavecrew_core::engine::{Input, StopKind};
use wavecrew_session::{PersonRequest, SessionError};

impl Driver<'_> {
    pub(super) fn run_periodic_work(&mut self) -> Result<(), DriveError> {
        self.check_session_exists()?;
        self.session.journal.check_replica()?;
        self.collect_reports()?;
        self.record_conversations();
        self.collect_worker_requests();
        self.collect_usage();
        self.end_overdue_turns();
        self.end_overdue_checks();
        self.read_control_file();
        self.read_person_requests();
        self.sync_pools();
        self.packed_files.flush();
        self.warn_of_restored_journal();
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
        if path.is_dir() {
            let path = self.session.dir.journal_file();
            return Err(SessionError::JournalGone { path }.into());
        }
        Err(SessionError::Gone { path }.into())
    }

    fn running(&self) -> Vec<Running> {
        let show = |worker: &Worker| Running {
            task: worker.assignment.id.clone(),
            role: worker.assignment.role.clone(),
            attempt: worker.assignment.attempt,
            host: worker.host.clone(),
            elapsed: worker.started.elapsed(),
            silent: worker.last_output.elapsed(),
            last_line: worker.output.last_line(),
        };
        let mut running: Vec<Running> = self.workers.values().map(show).collect();
        let ledger = self.engine.ledger();
        for check in self.checks.values() {
            let id = ledger.plan().id(check.task);
            let line = check.last_line();
            let line = if line.is_empty() {
                "checking".to_owned()
            } else {
                line
            };
            // A worker whose result is checked does nothing itself; some checks come before there is a worker.
            if let Some(worker) = running.iter_mut().find(|worker| worker.task == id) {
                worker.silent = Duration::ZERO;
                worker.last_line = line;
            } else {
                running.push(Running {
                    task: id.to_owned(),
                    role: ledger.plan().role(check.task).to_owned(),
                    attempt: ledger.task(check.task).attempts,
                    host: None,
                    elapsed: check.started.elapsed(),
                    silent: Duration::ZERO,
                    last_line: line,
                });
            }
        }
        running
    }

    /// Requests of a person in the browser: recorded in the journal, then executed.
    fn read_person_requests(&mut self) {
        for request in self.session.dir.person_requests().take() {
            let PersonRequest {
                action,
                task,
                text,
                via,
            } = request;
            self.inputs.push_back(Input::Acted {
                action: action.clone(),
                task: task.clone(),
                via,
            });
            if action == "edit row" {
                self.edits_in_browser.extend(text.clone());
            }
            self.inputs.extend(match (action.as_str(), task) {
                ("pause", _) => Some(Input::Pause),
                ("resume", _) => Some(Input::Resume),
                ("cancel", _) => Some(Input::Stop(StopKind::Cancel)),
                ("cancel task", Some(task)) => Some(Input::CancelTask(task)),
                ("retry task", Some(task)) => Some(Input::RetryTask(task)),
                ("message", Some(task)) => text.map(|text| Input::SendMessage { task, text }),
                _ => None,
            });
        }
    }

    /// `wavecrew cancel`, `pause` and `resume` write a command into a file.
    fn read_control_file(&mut self) {
        let path = self.session.dir.control_file();
        let Ok(command) = fs::read_to_string(&path) else {
            return;
        };
        // The command that wrote it waits until the file is gone.
        let _ = fs::remove_file(&path);
        let input = match command.trim() {
            "cancel" => Input::Stop(StopKind::Cancel),
            "pause" => Input::Pause,
            "resume" => Input::Resume,
            _ => return,
        };
        self.inputs.push_back(Input::Acted {
            action: command.trim().to_owned(),
            task: None,
            via: "command line".to_owned(),
        });
        self.inputs.push_back(input);
    }
}
