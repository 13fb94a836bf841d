//! The end of a turn: collects what the worker reported, used and printed last, and passes it to the engine.

use super::files::read_result_file;
use super::output::Output;
use super::{Worker, usage_file};
use crate::event_loop::{DriveError, Driver};
use std::time::Duration;
use wavecrew_agents::stream::{End, Expects, Failure, Outcome};
use wavecrew_agents::{Agent, RecordedEnd};
use wavecrew_core::engine::{Input, Notice, OutputMode, SpawnError, TurnEnd, TurnExit, WorkerId};
use wavecrew_core::event::StopReason;
use wavecrew_core::time::Timestamp;
use wavecrew_process::ProcessExit;

impl Driver<'_> {
    pub(crate) fn process_ended(&mut self, key: u64, exit: ProcessExit) -> Result<(), DriveError> {
        let Some((worker, _)) = self.processes.remove(&key) else {
            return Ok(());
        };
        let Some(state) = self.workers.get_mut(&worker) else {
            return Ok(());
        };
        state.alive.retain(|alive| *alive != key);
        self.places.forget(key);
        state.output.end_turn();
        state.output.end_conversation();
        self.record_exit(worker, key, exit);
        self.warn_about_ignored_settings(worker);
        self.record_conversation(worker);
        if let Some(reason) = self.lost.remove(&key) {
            // Whatever the worker did or reported, its files are on another machine.
            let error = SpawnError::Temporary(reason);
            self.inputs.push_back(Input::SpawnFailed { worker, error });
            self.finish_closing(worker);
            return Ok(());
        }
        if self.restart_lost_conversation(worker, exit)? || self.send_pending(worker)? {
            return Ok(());
        }
        self.end_turn(worker, exit)?;
        self.finish_closing(worker);
        Ok(())
    }

    /// Warns the person, once for each agent, that the agent ignores its settings.
    fn warn_about_ignored_settings(&mut self, worker: WorkerId) {
        let state = &self.workers[&worker];
        let name = &state.assignment.agent;
        if let Some(warning) = state.output.settings_warning(state.agent.as_ref())
            && self.settings_warnings.insert(name.clone())
        {
            let note = format!("warning: {name} ignores the settings of this run: {warning}");
            self.context.reporter.notice(&Notice::Note(note));
        }
    }

    /// An interactive process has ended its turn and waits for the next message.
    pub(crate) fn turn_ended(&mut self, key: u64) -> Result<(), DriveError> {
        let Some((worker, _)) = self.processes.get(&key) else {
            return Ok(());
        };
        let worker = *worker;
        let Some(state) = self.workers.get_mut(&worker) else {
            return Ok(());
        };
        if state.closing.is_some() {
            // Its last output is handled when its process has ended.
            if let Some((_, grace)) = state.turn_deadline.take() {
                self.places.close(key, grace);
            }
            return Ok(());
        }
        self.record_conversation(worker);
        if self.send_pending(worker)? {
            return Ok(());
        }
        self.end_turn(worker, ProcessExit::Code(0))
    }

    /// Passes the end of a turn to the engine.
    fn end_turn(&mut self, worker: WorkerId, exit: ProcessExit) -> Result<(), DriveError> {
        let reports = self.reports_of_turn(worker)?;
        if reports.is_empty() {
            // A worker cannot report into a session folder that is gone.
            self.check_session_exists()?;
        }
        let state = &self.workers[&worker];
        // While another turn of the conversation runs, only a report ends this one.
        if reports.is_empty() && !state.alive.is_empty() && !state.output.is_interactive() {
            return Ok(());
        }
        let mut end = state.turn_end(exit, reports, self.clock.now());
        if state.output.mode() == OutputMode::Silent
            && let Some(text) = read_result_file(&state.files.usage)?
        {
            usage_file::complete(&mut end, &text);
        }
        if let Some(replayed) = state.agent.recorded_end(state.turn) {
            apply_recorded_end(&mut end, replayed);
        }
        self.record_usage(worker, end.spent);
        self.inputs.push_back(Input::TurnEnded { worker, end });
        Ok(())
    }
}

impl Worker {
    /// The end of a turn in the engine's terms.
    fn turn_end(&self, exit: ProcessExit, reports: Vec<String>, now: Timestamp) -> TurnEnd {
        let output = &self.output;
        let stopped = self.closing.is_some();
        let end = if stopped { End::Stopped } else { process_end(exit) };
        // The final answer may be a report, but it was not submitted as one.
        let answers = usize::from(output.answer().is_some());
        let received = self.report_received || reports.len() > answers;
        let spent = output.take_usage();
        let Some(Outcome { reason, failure }) = output.outcome(end, Expects::Report { received }) else {
            return TurnEnd {
                exit: turn_exit(exit),
                reports,
                last_output: output.error_line(),
                spent,
                model: None,
                retry_after: None,
            };
        };
        let exit = match reason {
            // The turn is complete; the engine decides whether it contains a report.
            StopReason::Ok | StopReason::NoReport | StopReason::SchemaInvalid => TurnExit::Code(0),
            StopReason::Timeout if stopped => turn_exit(exit),
            reason => TurnExit::Reason(reason),
        };
        TurnEnd {
            exit,
            reports,
            last_output: match &failure {
                Some(failure) => failure_message(self.agent.as_ref(), output, failure),
                None => output.error_line(),
            },
            spent,
            model: output.model(),
            retry_after: failure.and_then(|failure| failure.wait(now)),
        }
    }
}

/// The message of a failure, with what a person can do about it.
pub fn failure_message(agent: &dyn Agent, output: &Output, failure: &Failure) -> String {
    let message = output.last_line_of(failure.message.as_bytes());
    match agent.advice(failure.kind) {
        Some(advice) => format!("{message} (help: {advice})"),
        None => message,
    }
}

/// The final message of a turn that needs no report, or what went wrong.
pub fn final_message(agent: &dyn Agent, output: &Output, exit: ProcessExit) -> Result<String, String> {
    let failed = match output.outcome(process_end(exit), Expects::Nothing) {
        None => (!exit.is_success()).then(|| output.error_line()),
        Some(outcome) => outcome
            .failure
            .map(|failure| failure_message(agent, output, &failure)),
    };
    match failed {
        None => Ok(output.final_message().unwrap_or_default()),
        // If the agent reports what went wrong, the exit of its process does not matter.
        Some(message) if output.mode() == OutputMode::Streaming && !message.is_empty() => Err(message),
        Some(message) => {
            let how = match exit {
                ProcessExit::Code(code) => format!("The agent exited with code {code}"),
                ProcessExit::Signal(signal) => format!("The agent was ended by signal {signal}"),
            };
            Err(if message.is_empty() {
                how
            } else {
                format!("{how}: {message}")
            })
        }
    }
}

/// A replay waits for no rate limit, and a clock that ended the recorded worker does not run again.
fn apply_recorded_end(end: &mut TurnEnd, replayed: RecordedEnd) {
    end.retry_after = Some(Duration::ZERO);
    match replayed {
        RecordedEnd::Ended => {}
        RecordedEnd::Stopped { stop, error } => (end.exit, end.last_output) = (TurnExit::Reason(stop), error),
    }
}

pub(crate) fn process_end(exit: ProcessExit) -> End {
    match exit {
        ProcessExit::Code(code) => End::Exit(code),
        ProcessExit::Signal(signal) => End::Signal(signal),
    }
}

fn turn_exit(exit: ProcessExit) -> TurnExit {
    match exit {
        ProcessExit::Code(code) => TurnExit::Code(code),
        ProcessExit::Signal(signal) => TurnExit::Signal(signal),
    }
}
