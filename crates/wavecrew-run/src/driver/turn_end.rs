//! Ends of turns: what a worker handed in, what it said last, and what the engine is told of it.

use super::output::Output;
use super::{DriveError, Driver, usage};
use std::time::Duration;
use wavecrew_agents::stream::{End, Expects, Failure, Outcome, Stopped};
use wavecrew_agents::{Adapter, Replayed};
use wavecrew_core::engine::{Exit, Input, OutputMode, TurnEnd, WorkerId};
use wavecrew_core::event::StopReason;
use wavecrew_core::time::Timestamp;
use wavecrew_process::Exit as ProcessExit;

impl Driver<'_> {
    pub(super) fn process_ended(&mut self, key: u64, exit: ProcessExit) -> Result<(), DriveError> {
        let Some((worker, _)) = self.processes.remove(&key) else {
            return Ok(());
        };
        let Some(state) = self.workers.get_mut(&worker) else {
            return Ok(());
        };
        state.alive.retain(|alive| *alive != key);
        state.output.end_turn();
        state.output.hang_up();
        self.tape_exit(worker, key, exit);
        self.note_conversation(worker);
        if self.begin_again(worker, exit)? || self.say_unsaid(worker)? {
            return Ok(());
        }
        self.end_turn(worker, exit)?;
        self.closed_if_gone(worker);
        Ok(())
    }

    /// A process that is spoken to waits for the next message.
    pub(super) fn turn_over(&mut self, key: u64) -> Result<(), DriveError> {
        let Some((worker, _)) = self.processes.get(&key) else {
            return Ok(());
        };
        let worker = *worker;
        let Some(state) = self.workers.get_mut(&worker) else {
            return Ok(());
        };
        if state.closing.is_some() {
            // What it ended with is told with the end of its process.
            if let Some((_, grace)) = state.last_call.take() {
                self.guardian.close(key, grace);
            }
            return Ok(());
        }
        self.note_conversation(worker);
        if self.say_unsaid(worker)? {
            return Ok(());
        }
        self.end_turn(worker, ProcessExit::Code(0))
    }

    /// Tells the engine what became of a turn.
    fn end_turn(&mut self, worker: WorkerId, exit: ProcessExit) -> Result<(), DriveError> {
        let reports = self.reports_of(worker)?;
        if reports.is_empty() {
            // A worker whose session was taken away is not to blame for what it could not hand in.
            self.look_for_the_session()?;
        }
        let state = &self.workers[&worker];
        // While another turn of the conversation goes on, only a report ends this one.
        if state.alive.is_empty() || state.output.converses() || !reports.is_empty() {
            let stopped = state.closing.is_some();
            // The answer is a candidate, but nothing that was handed in.
            let answers = usize::from(state.output.answer().is_some());
            let received = state.report_seen || reports.len() > answers;
            let now = self.clock.now();
            let mut end = turn_end(
                state.agent.as_ref(),
                &state.output,
                exit,
                stopped,
                received,
                reports,
                now,
            );
            if state.output.output_mode() == OutputMode::Silent
                && let Some(told) = self.shorts.read(&state.files, &state.files.usage)?
            {
                usage::complete(&mut end, &told);
            }
            if let Some(replayed) = state.agent.replayed(state.turn) {
                as_recorded(&mut end, replayed);
            }
            self.tape_spent(worker, end.spent);
            self.inputs.push_back(Input::TurnEnded { worker, end });
        }
        Ok(())
    }

    /// Everything that may be the worker's report, most trustworthy channel first.
    fn reports_of(&mut self, worker: WorkerId) -> Result<Vec<String>, DriveError> {
        let state = self.workers.get_mut(&worker).expect("callers looked it up");
        let mut reports = Vec::new();
        let (id, attempt) = (&state.assignment.id, state.assignment.attempt);
        if state.closing.is_none()
            && !state.report_seen
            && let Some(report) = self.attempts.take_report(id, attempt)?
        {
            state.report_seen = true;
            let body = self.redactor.text(&String::from_utf8_lossy(&report));
            self.tape_report(worker, &body);
            reports.push(body);
        }
        let files = &self.workers[&worker].files;
        if let Some(report) = self.shorts.read(files, &files.result)? {
            let body = self.redactor.text(&report);
            self.tape_result_file(worker, &body);
            reports.push(body);
        }
        reports.extend(self.workers[&worker].output.answer());
        Ok(reports)
    }
}

/// What the engine is told of the end of a turn.
fn turn_end(
    agent: &dyn Adapter,
    output: &Output,
    exit: ProcessExit,
    stopped: bool,
    received: bool,
    reports: Vec<String>,
    now: Timestamp,
) -> TurnEnd {
    let end = if stopped {
        // By which clock, the engine knows; here it matters that the exit code means nothing.
        End::Stopped(Stopped::Timeout)
    } else {
        end_of(exit)
    };
    let spent = output.take_spent();
    let Some(Outcome { reason, failure }) = output.outcome(end, Expects::Report { received }) else {
        return TurnEnd {
            exit: Driver::exit_of(exit),
            reports,
            last_output: output.last_output(),
            spent,
            model: None,
            retry_after: None,
        };
    };
    let exit = match reason {
        // It said all it had to say; whether that is a report is for the engine to judge.
        StopReason::Ok | StopReason::NoReport | StopReason::SchemaInvalid => Exit::Code(0),
        StopReason::Timeout if stopped => Driver::exit_of(exit),
        reason => Exit::Reason(reason),
    };
    TurnEnd {
        exit,
        reports,
        last_output: match &failure {
            Some(failure) => failure_words(agent, output, failure),
            None => output.last_output(),
        },
        spent,
        model: output.model(),
        retry_after: failure.and_then(|failure| failure.wait(now)),
    }
}

/// What is told of a failure, and what a person can do about it.
pub fn failure_words(agent: &dyn Adapter, output: &Output, failure: &Failure) -> String {
    let words = output.shown(failure.message.as_bytes());
    match agent.advice(failure.kind) {
        Some(advice) => format!("{words} (help: {advice})"),
        None => words,
    }
}

/// What an agent said at the end of a turn of which no report is expected, or what went wrong.
pub fn last_message(agent: &dyn Adapter, output: &Output, exit: ProcessExit) -> Result<String, String> {
    let failed = match output.outcome(end_of(exit), Expects::Nothing) {
        None => (!exit.is_success()).then(|| output.last_output()),
        Some(outcome) => outcome
            .failure
            .map(|failure| failure_words(agent, output, &failure)),
    };
    match failed {
        None => Ok(output.message().unwrap_or_default()),
        // An agent that tells what went wrong need not tell how it ended.
        Some(words) if output.output_mode() == OutputMode::Streaming && !words.is_empty() => Err(words),
        Some(words) => {
            let how = match exit {
                ProcessExit::Code(code) => format!("The agent exited with code {code}"),
                ProcessExit::Signal(signal) => format!("The agent was ended by signal {signal}"),
            };
            Err(if words.is_empty() {
                how
            } else {
                format!("{how}: {words}")
            })
        }
    }
}

/// No service wants to be waited for in a replay, and a clock that ended the worker need not run again.
fn as_recorded(end: &mut TurnEnd, replayed: Replayed) {
    end.retry_after = Some(Duration::ZERO);
    match replayed {
        Replayed::Ended => {}
        Replayed::Stopped { stop, error } => (end.exit, end.last_output) = (Exit::Reason(stop), error),
    }
}

pub(super) fn end_of(exit: ProcessExit) -> End {
    match exit {
        ProcessExit::Code(code) => End::Exit(code),
        ProcessExit::Signal(signal) => End::Signal(signal),
    }
}
