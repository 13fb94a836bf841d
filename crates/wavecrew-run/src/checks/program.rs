//! Runs a check as a program under the guardian, with a time limit, and turns its result into a [`CheckOutcome`].

use crate::event_loop::{DriveError, Driver};
use crate::worker::output::last_line;
use rustix::process::Signal;
use std::cell::RefCell;
use std::ffi::OsString;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use wavecrew_core::check_report::{BASE_STATE, CheckReport};
use wavecrew_core::engine::{CheckOutcome, WorkerId};
use wavecrew_core::event::Verdict;
use wavecrew_core::id::TaskIx;
use wavecrew_core::sanitise::sanitise;
use wavecrew_core::state_folder::STATE_VARIABLE;
use wavecrew_process::sandbox::Confinement;
use wavecrew_process::{ProcessExit, Spawn, no_input, output_pipe, pump};

/// Bytes of a failed check's output that the worker gets.
const SHOWN_BYTES: usize = 2000;
/// Bytes of the output that are kept in memory.
const KEPT_BYTES: usize = 64 << 10;
const GRACE: Duration = Duration::from_secs(2);

/// A program whose result becomes the outcome of a check.
pub(super) struct CheckProgram {
    pub task: TaskIx,
    pub command_line: Vec<String>,
    pub folder: PathBuf,
    pub env: Vec<(OsString, OsString)>,
    pub limit: Duration,
    pub result: ResultFormat,
    /// Of a program that is not ours. Ours confines what it starts.
    pub confinement: Option<Arc<Confinement>>,
}

/// How a check program gives its result.
#[derive(Clone, Copy)]
pub(super) enum ResultFormat {
    /// By its exit code; its output explains what is wrong.
    ExitCode,
    /// As JSON in the last line of its output that contains a verdict.
    Report,
}

/// A check whose program runs.
pub(crate) struct RunningCheck {
    pub worker: WorkerId,
    pub task: TaskIx,
    pub started: Instant,
    time: TimeLimit,
    exit: watch::Sender<Option<ProcessExit>>,
    output: Rc<RefCell<Vec<u8>>>,
    result: ResultFormat,
}

#[derive(Clone, Copy)]
enum TimeLimit {
    Until(Instant),
    /// It was ended because it took too long: it has failed, whatever its exit code is.
    Exceeded,
}

impl RunningCheck {
    /// What the check prints while it runs.
    pub(crate) fn last_line(&self) -> String {
        last_line(&self.output.borrow())
    }
}

impl Driver<'_> {
    /// Starts the program of a check; the outcome follows as an input.
    pub(super) fn start_check_program(
        &mut self,
        worker: WorkerId,
        program: CheckProgram,
    ) -> Result<(), DriveError> {
        let pipes = output_pipe().and_then(|(reader, stdout)| {
            let stderr = stdout.try_clone()?;
            Ok((reader, stdout, stderr, no_input()?))
        });
        let (reader, stdout, stderr, stdin) = match pipes {
            Ok(pipes) => pipes,
            Err(error) => {
                let reason = format!("The check could not be started: {error}");
                self.claim_checked(worker, CheckOutcome::Contradicted(reason));
                return Ok(());
            }
        };
        let key = self.next_key;
        self.next_key += 1;
        let output = Rc::new(RefCell::new(Vec::new()));
        let (exit, exit_in) = watch::channel(None::<ProcessExit>);
        let (kept, check_exits) = (Rc::clone(&output), self.check_exits.clone());
        tokio::task::spawn_local(async move {
            let exited = |mut exit: watch::Receiver<Option<ProcessExit>>| async move {
                let _ = exit.wait_for(Option::is_some).await;
            };
            let _ = pump(reader, exited(exit_in.clone()), |chunk| {
                let mut kept = kept.borrow_mut();
                kept.extend_from_slice(chunk);
                let surplus = kept.len().saturating_sub(KEPT_BYTES);
                kept.drain(..surplus);
            })
            .await;
            exited(exit_in.clone()).await;
            let exit = *exit_in.borrow();
            if let Some(exit) = exit {
                let _ = check_exits.send((key, exit));
            }
        });
        let check = RunningCheck {
            worker,
            task: program.task,
            started: Instant::now(),
            time: TimeLimit::Until(Instant::now() + program.limit),
            exit,
            output,
            result: program.result,
        };
        self.checks.insert(key, check);
        let mut command_line = program.command_line.into_iter().map(OsString::from);
        let mut env = program.env;
        // The guardian's environment has no variables of ours, and a check must find what this process has put there.
        env.extend(std::env::var_os(STATE_VARIABLE).map(|folder| (STATE_VARIABLE.into(), folder)));
        let spec = Spawn {
            program: command_line.next().unwrap_or_default(),
            args: command_line.collect(),
            cwd: program.folder,
            env_set: env,
            env_remove: Vec::new(),
            confinement: program.confinement,
            stdin,
            stdout,
            stderr,
        };
        Ok(self.places.spawn_check(key, spec)?)
    }

    /// A process has exited. Returns whether it was a check.
    pub(crate) fn check_exited(&mut self, key: u64, exit: ProcessExit) -> bool {
        let Some(check) = self.checks.get(&key) else {
            return false;
        };
        // The reader of its output answers once it has read the rest.
        let _ = check.exit.send(Some(exit));
        true
    }

    /// A check has exited, and its output is complete.
    pub(crate) fn check_ended(&mut self, key: u64, exit: ProcessExit) {
        if let Some(check) = self.checks.remove(&key) {
            let output = check.output.take();
            self.finish_check(&check, exit, &output);
        }
    }

    /// A process could not be started. Returns whether it was a check.
    pub(crate) fn check_failed_to_start(&mut self, key: u64, error: &str) -> bool {
        let Some(check) = self.checks.remove(&key) else {
            return false;
        };
        self.finish_check(&check, ProcessExit::Code(127), error.as_bytes());
        true
    }

    /// Ends the checks of a worker that is being closed.
    pub(crate) fn close_checks(&mut self, worker: WorkerId) {
        self.end_guard(worker);
        for (key, check) in &self.checks {
            if check.worker == worker {
                self.places.close(*key, GRACE);
            }
        }
    }

    /// Ends checks that take too long.
    pub(crate) fn end_overdue_checks(&mut self) {
        let now = Instant::now();
        for (key, check) in &mut self.checks {
            if matches!(check.time, TimeLimit::Until(until) if until <= now) {
                check
                    .output
                    .borrow_mut()
                    .extend_from_slice(b"\nthe check took too long");
                check.time = TimeLimit::Exceeded;
                self.places.close(*key, GRACE);
            }
        }
    }

    fn finish_check(&mut self, check: &RunningCheck, exit: ProcessExit, output: &[u8]) {
        let exit = match check.time {
            TimeLimit::Exceeded if exit.is_success() => ProcessExit::Signal(Signal::TERM.as_raw()),
            TimeLimit::Exceeded | TimeLimit::Until(_) => exit,
        };
        let outcome = outcome(check.result, exit, &self.redactor.bytes(output));
        if let CheckOutcome::Measured(findings) = &outcome {
            let state = findings.facts.iter().find(|(name, _)| name == BASE_STATE);
            self.guards
                .known_states
                .extend(state.map(|(_, hash)| hash.clone()));
        }
        self.claim_checked(check.worker, outcome);
    }
}

fn outcome(result: ResultFormat, exit: ProcessExit, output: &[u8]) -> CheckOutcome {
    match result {
        ResultFormat::ExitCode if exit.is_success() => CheckOutcome::Confirmed {
            verdict: Verdict::Verified,
            measured: Vec::new(),
        },
        ResultFormat::ExitCode => CheckOutcome::SendBack(failure(exit, output)),
        ResultFormat::Report => match printed_report(output) {
            Some(report) => report.into(),
            None => CheckOutcome::Contradicted(failure(exit, output)),
        },
    }
}

fn printed_report(output: &[u8]) -> Option<CheckReport> {
    let text = String::from_utf8_lossy(output);
    let last = text.lines().rev().find(|line| line.starts_with("{\"verdict\""))?;
    serde_json::from_str(last).ok()
}

fn failure(exit: ProcessExit, output: &[u8]) -> String {
    let text = sanitise(output);
    let text = text.trim();
    let from = text.len().saturating_sub(SHOWN_BYTES);
    let end = &text[text.ceil_char_boundary(from)..];
    let how = match exit {
        ProcessExit::Code(code) => format!("with exit code {code}"),
        ProcessExit::Signal(signal) => format!("by signal {signal}"),
    };
    match end {
        "" => format!("The check of the result failed {how}"),
        end => format!("The check of the result failed {how}: {end}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_shows_the_end_of_the_output() {
        let long = format!("{}ü last line\n", "x".repeat(3000));
        let shown = failure(ProcessExit::Code(3), long.as_bytes());
        assert!(shown.starts_with("The check of the result failed with exit code 3: xx"));
        assert!(shown.ends_with("ü last line") && shown.len() < SHOWN_BYTES + 100);
        assert_eq!(
            failure(ProcessExit::Signal(9), b" \n"),
            "The check of the result failed by signal 9"
        );
    }

    #[test]
    fn the_last_line_with_a_verdict_is_the_outcome() {
        let outcome = |text: &str| outcome(ResultFormat::Report, ProcessExit::Code(0), text.as_bytes());
        let holds = r#"{"verdict":"holds","checked":"verified","measured":{"pass_rate":"1.00"}}"#;
        let CheckOutcome::Measured(found) = outcome(&format!("running\n{holds}\n")) else {
            panic!("it holds");
        };
        assert_eq!(found.measured, [("pass_rate".to_owned(), "1.00".to_owned())]);
        assert_eq!((found.verdict, found.shortfall), (Verdict::Verified, None));
        let CheckOutcome::Measured(found) = outcome(r#"{"verdict":"short","feedback":"one test fails"}"#)
        else {
            panic!("it is short");
        };
        assert_eq!(found.shortfall.as_deref(), Some("one test fails"));
        let CheckOutcome::SendBack(reason) = outcome(r#"{"verdict":"mend","reason":"asserts nothing"}"#)
        else {
            panic!("the worker can fix it");
        };
        assert_eq!(reason, "asserts nothing");
        let CheckOutcome::Contradicted(reason) = outcome("no such file") else {
            panic!("there is no verdict");
        };
        assert!(reason.contains("no such file"), "{reason}");
    }

    #[test]
    fn a_command_without_a_report_succeeds_by_its_exit_code() {
        let holds = r#"{"verdict":"contradicted","reason":"not read"}"#;
        let outcome = |code| outcome(ResultFormat::ExitCode, ProcessExit::Code(code), holds.as_bytes());
        assert!(matches!(outcome(0), CheckOutcome::Confirmed { .. }));
        assert!(matches!(outcome(1), CheckOutcome::SendBack(_)));
    }
}
