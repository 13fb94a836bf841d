//! Ends workers: closes the report channel, ends the turn and the processes, and cleans up once all of them are gone.

use super::turn::INTERRUPT_GRACE;
use crate::event_loop::{DriveError, Driver};
use std::time::{Duration, Instant};
use wavecrew_agents::ResumeBy;
use wavecrew_core::engine::{Input, WorkerId};

impl Driver<'_> {
    pub(crate) fn close_worker(&mut self, worker: WorkerId, grace: Duration) -> Result<(), DriveError> {
        let Some(state) = self.workers.get_mut(&worker) else {
            // At most a check was running, no worker.
            self.close_checks(worker);
            self.inputs.push_back(Input::Closed { worker });
            return Ok(());
        };
        let (id, attempt) = (&state.assignment.id, state.assignment.attempt);
        let closed = self.attempts.close_attempt(id, attempt)?;
        let last_report = closed.report.as_ref().filter(|_| !state.report_received);
        let last_report = last_report.map(|report| self.redactor.text(&String::from_utf8_lossy(report)));
        state.closing = Some(closed);
        if state.output.turn_open() {
            // An agent that ends its turn itself keeps its conversation and its tools in order.
            state.output.interrupt_turn();
            state.turn_deadline = Some((Instant::now() + INTERRUPT_GRACE, grace));
        } else {
            state.output.end_conversation();
            for key in &state.alive {
                self.places.close(*key, grace);
            }
        }
        self.close_checks(worker);
        if let Some(body) = last_report {
            // It was submitted before the channel closed.
            self.record_report(worker, &body);
            self.inputs.push_back(Input::Reported { worker, body });
        }
        self.finish_closing(worker);
        Ok(())
    }

    /// Cleans up after a worker that is being closed once its last process has ended.
    pub(crate) fn finish_closing(&mut self, worker: WorkerId) {
        let Some(state) = self.workers.get_mut(&worker) else {
            return;
        };
        if !state.alive.is_empty() {
            return;
        }
        let Some(closed) = state.closing.take() else {
            return;
        };
        let state = self.workers.remove(&worker).expect("looked up above");
        for name in &state.question_files {
            self.session.dir.worker_questions().forget(name);
        }
        self.note_unprotected_end(&state.assignment.id, state.number);
        let (id, attempt) = (&state.assignment.id, state.assignment.attempt);
        let refusals = self.sandbox.refusals(&state.output, state.number, &state.folder);
        if let Some(text) = state.output.finish() {
            self.packed_files
                .keep_log(&self.session.dir.log_file(id, attempt), &text);
        }
        if state.agent.resume_by() != ResumeBy::Never {
            self.agent_files.remove_worker(id, attempt);
        }
        self.note_worker_count();
        if closed.report.is_some() {
            self.warn_of_edits_after_report(&state);
        }
        if !refusals.is_empty() {
            self.inputs.push_back(Input::Refused { worker, refusals });
        }
        self.packed_files.release(state.files, state.started.elapsed());
        if closed.report.is_some() {
            self.processed_reports
                .push((state.assignment.id, state.assignment.attempt, closed));
        }
        self.appended_files.clean(&self.redactor);
        self.inputs.push_back(Input::Closed { worker });
    }

    /// Ends processes that were asked to end their turn and did not in time.
    pub(crate) fn end_overdue_turns(&mut self) {
        for state in self.workers.values_mut() {
            if let Some((_, grace)) = state
                .turn_deadline
                .take_if(|(deadline, _)| Instant::now() >= *deadline)
            {
                for key in &state.alive {
                    self.places.close(*key, grace);
                }
            }
        }
    }
}
