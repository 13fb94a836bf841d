//! Reports of workers: submitted by command, left in the result file, or at the end of the output.

use super::files::read_result_file;
use super::output::Activity;
use super::packed_files::SHORT;
use crate::event_loop::{DriveError, Driver};
use std::time::Instant;
use wavecrew_core::engine::{Input, WorkerId};

impl Driver<'_> {
    /// Collects reports that running workers submitted, and notes which workers are active.
    pub(crate) fn collect_reports(&mut self) -> Result<(), DriveError> {
        let attempts = &self.attempts;
        let mut reports = Vec::new();
        for (worker, state) in &mut self.workers {
            match state.output.take_activity() {
                Activity::None => {}
                activity => {
                    if activity == Activity::Output {
                        state.last_output = Instant::now();
                    }
                    self.inputs.push_back(Input::Activity { worker: *worker });
                }
            }
            if state.started.elapsed() >= SHORT {
                state.output.create_log_file();
            }
            // A worker this young has hardly submitted a report yet.
            if state.report_received || state.closing.is_some() || state.started.elapsed() < SHORT {
                continue;
            }
            if let Some(report) = attempts.take_report(&state.assignment.id, state.assignment.attempt)? {
                state.report_received = true;
                state.output.note_report();
                reports.push((*worker, self.redactor.text(&String::from_utf8_lossy(&report))));
            }
        }
        for (worker, body) in reports {
            self.record_report(worker, &body);
            self.inputs.push_back(Input::Reported { worker, body });
        }
        Ok(())
    }

    /// Lets the worker report again.
    pub(crate) fn refuse_report(&mut self, worker: WorkerId, reason: &str) -> Result<(), DriveError> {
        let Some(state) = self.workers.get_mut(&worker) else {
            return Ok(());
        };
        if state.report_received && state.closing.is_none() {
            let (id, attempt) = (&state.assignment.id, state.assignment.attempt);
            self.attempts.reject_report(id, attempt, reason)?;
            state.report_received = false;
        }
        Ok(())
    }

    /// Everything that may be the worker's report, most trustworthy channel first.
    pub(super) fn reports_of_turn(&mut self, worker: WorkerId) -> Result<Vec<String>, DriveError> {
        let state = self.workers.get_mut(&worker).expect("callers looked it up");
        let mut reports = Vec::new();
        let (id, attempt) = (&state.assignment.id, state.assignment.attempt);
        if state.closing.is_none()
            && !state.report_received
            && let Some(report) = self.attempts.take_report(id, attempt)?
        {
            state.report_received = true;
            let body = self.redactor.text(&String::from_utf8_lossy(&report));
            self.record_report(worker, &body);
            reports.push(body);
        }
        let files = &self.workers[&worker].files;
        if let Some(report) = read_result_file(&files.result)? {
            let body = self.redactor.text(&report);
            self.record_result_file(worker, &body);
            reports.push(body);
        }
        reports.extend(self.workers[&worker].output.answer());
        Ok(reports)
    }

    /// Removes submitted reports whose results are durable.
    pub(crate) fn remove_processed_reports(&mut self) -> Result<(), DriveError> {
        if self.processed_reports.is_empty() {
            return Ok(());
        }
        self.session.journal.sync()?;
        for (id, attempt, closed) in self.processed_reports.drain(..) {
            self.attempts.forget(&id, attempt, &closed)?;
        }
        Ok(())
    }
}
