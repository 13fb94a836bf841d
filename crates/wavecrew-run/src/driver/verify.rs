//! The person's own check of a task: a command that has to succeed before a claim of success counts. It runs as any
//! worker does, under the guardian, with a clock.

use super::{DriveError, Driver};
use rustix::process::Signal;
use std::cell::RefCell;
use std::ffi::OsString;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use wavecrew_core::engine::{CheckOutcome, Input, WorkerId};
use wavecrew_core::event::Verdict;
use wavecrew_core::id::TaskIx;
use wavecrew_core::sanitise::sanitise;
use wavecrew_process::{Exit, Spawn, no_input, output_pipe, pump};
use wavecrew_session::atomic;

/// Told to the worker of what a check that failed printed.
const TOLD: usize = 2000;
/// Kept of it in memory.
const KEPT: usize = 64 << 10;
const GRACE: Duration = Duration::from_secs(2);
/// Longer texts are handed over in files: the system takes no variable of more than 128 KiB.
const MOST_IN_VARIABLE: usize = 100 << 10;

/// A command that checks each task before it counts as done, and the time it may take.
#[derive(Clone, Debug)]
pub struct Verify {
    /// For `sh -c`, in the folder of the task's worker.
    pub command: String,
    pub limit: Duration,
}

/// A check that is under way.
pub(super) struct Check {
    worker: WorkerId,
    clock: Clock,
    ended: watch::Sender<Option<Exit>>,
    printed: Rc<RefCell<Vec<u8>>>,
    /// How its end is read.
    settle: Settle,
}

#[derive(Clone, Copy)]
enum Clock {
    Until(Instant),
    /// It took too long and was told to end: whatever its exit says, it has not succeeded.
    Over,
}

/// How the end of a check becomes a verdict.
pub(super) type Settle = fn(Exit, &[u8]) -> CheckOutcome;

impl Driver<'_> {
    /// Starts the check of a claim; its verdict follows.
    pub(super) fn start_check(
        &mut self,
        worker: WorkerId,
        task: TaskIx,
        outputs: &[(String, String)],
    ) -> Result<(), DriveError> {
        let (Some(verify), Some(state)) = (self.session.verify.clone(), self.workers.get(&worker)) else {
            let outcome = settle(Exit::Code(0), &[]);
            self.inputs.push_back(Input::ClaimChecked { worker, outcome });
            return Ok(());
        };
        let plan = self.engine.ledger().plan();
        let id = plan.id(task);
        let result = outputs.iter().find(|(name, _)| name == "result");
        let paths = &self.session.dir;
        let text = |name: &str, value: &str| -> Result<(OsString, OsString), DriveError> {
            if value.len() <= MOST_IN_VARIABLE {
                return Ok((name.into(), value.into()));
            }
            let path = paths.check_input(id, name);
            atomic::write_volatile(&path, value.as_bytes())?;
            Ok((format!("{name}_PATH").into(), path.into()))
        };
        let env_set = vec![
            text("WAVECREW_TASK", id)?,
            text("WAVECREW_ROW", plan.cell(task, "row"))?,
            text("WAVECREW_RESULT", result.map_or("", |(_, value)| value))?,
        ];
        let cwd = state.folder.clone();
        let words = vec!["sh".to_owned(), "-c".to_owned(), verify.command];
        self.run_check(worker, words, cwd, env_set, verify.limit, settle)
    }

    /// Runs a program under the guardian whose end becomes the verdict on a worker's claim.
    pub(super) fn run_check(
        &mut self,
        worker: WorkerId,
        words: Vec<String>,
        cwd: PathBuf,
        env_set: Vec<(OsString, OsString)>,
        limit: Duration,
        settle: Settle,
    ) -> Result<(), DriveError> {
        let printed = Rc::new(RefCell::new(Vec::new()));
        let opened = output_pipe().and_then(|ends| Ok((ends, no_input()?)));
        let ((from, into), stdin) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                let outcome = CheckOutcome::Contradicted(format!("The check could not be started: {error}"));
                self.inputs.push_back(Input::ClaimChecked { worker, outcome });
                return Ok(());
            }
        };
        let stdout = into.try_clone();
        let (Ok(stdout), stderr) = (stdout, into) else {
            let outcome = CheckOutcome::Contradicted(
                "The check could not be started: no more files can be opened".to_owned(),
            );
            self.inputs.push_back(Input::ClaimChecked { worker, outcome });
            return Ok(());
        };
        let key = self.next_key;
        self.next_key += 1;
        let (ended, exit) = watch::channel(None::<Exit>);
        let (heard, checks) = (Rc::clone(&printed), self.checked.clone());
        tokio::task::spawn_local(async move {
            let gone = |mut exit: watch::Receiver<Option<Exit>>| async move {
                let _ = exit.wait_for(Option::is_some).await;
            };
            let _ = pump(from, gone(exit.clone()), |chunk| {
                let mut kept = heard.borrow_mut();
                kept.extend_from_slice(chunk);
                let surplus = kept.len().saturating_sub(KEPT);
                kept.drain(..surplus);
            })
            .await;
            gone(exit.clone()).await;
            let exit = *exit.borrow();
            if let Some(exit) = exit {
                let _ = checks.send((key, exit));
            }
        });
        let clock = Clock::Until(Instant::now() + limit);
        self.checks.insert(
            key,
            Check {
                worker,
                clock,
                ended,
                printed,
                settle,
            },
        );
        let mut words = words.into_iter();
        let program = words.next().unwrap_or_default().into();
        let spec = Spawn {
            program,
            args: words.map(OsString::from).collect(),
            cwd,
            env_set,
            env_remove: Vec::new(),
            stdin,
            stdout,
            stderr,
        };
        Ok(self.guardian.spawn(key, spec)?)
    }

    /// A process of ours has ended; whether it was a check.
    pub(super) fn check_exited(&mut self, key: u64, exit: Exit) -> bool {
        let Some(check) = self.checks.get(&key) else {
            return false;
        };
        // Its pump answers once it has taken in the rest.
        let _ = check.ended.send(Some(exit));
        true
    }

    /// A check has ended, and all it printed is here.
    pub(super) fn check_ended(&mut self, key: u64, exit: Exit) {
        if let Some(check) = self.checks.remove(&key) {
            let printed = check.printed.take();
            self.settle_check(&check, exit, &printed);
        }
    }

    /// A check could not be started; whether it was one.
    pub(super) fn check_failed(&mut self, key: u64, error: &str) -> bool {
        let Some(check) = self.checks.remove(&key) else {
            return false;
        };
        self.settle_check(&check, Exit::Code(127), error.as_bytes());
        true
    }

    /// Ends checks of this worker, because it is to be ended itself.
    pub(super) fn close_checks(&mut self, worker: WorkerId) {
        for (key, check) in &self.checks {
            if check.worker == worker {
                self.guardian.close(*key, GRACE);
            }
        }
    }

    /// Ends checks that take too long.
    pub(super) fn look_at_checks(&mut self) {
        let now = Instant::now();
        for (key, check) in &mut self.checks {
            if matches!(check.clock, Clock::Until(until) if until <= now) {
                check
                    .printed
                    .borrow_mut()
                    .extend_from_slice(b"\nthe check took too long");
                check.clock = Clock::Over;
                self.guardian.close(*key, GRACE);
            }
        }
    }

    fn settle_check(&mut self, check: &Check, exit: Exit, printed: &[u8]) {
        let exit = match check.clock {
            Clock::Over if exit.is_success() => Exit::Signal(Signal::TERM.as_raw()),
            Clock::Over | Clock::Until(_) => exit,
        };
        let outcome = (check.settle)(exit, &self.redactor.bytes(printed));
        let worker = check.worker;
        self.inputs.push_back(Input::ClaimChecked { worker, outcome });
    }
}

fn settle(exit: Exit, printed: &[u8]) -> CheckOutcome {
    if exit.is_success() {
        CheckOutcome::Confirmed {
            verdict: Verdict::Verified,
            measured: Vec::new(),
        }
    } else {
        CheckOutcome::SendBack(complaint(exit, printed))
    }
}

pub(super) fn complaint(exit: Exit, printed: &[u8]) -> String {
    let text = sanitise(printed);
    let text = text.trim();
    let from = text.len().saturating_sub(TOLD);
    let end = &text[text.ceil_char_boundary(from)..];
    let how = match exit {
        Exit::Code(code) => format!("with exit code {code}"),
        Exit::Signal(signal) => format!("by signal {signal}"),
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
    fn a_complaint_holds_the_end_of_what_was_printed() {
        let long = format!("{}ü last words\n", "x".repeat(3000));
        let said = complaint(Exit::Code(3), long.as_bytes());
        assert!(said.starts_with("The check of the result failed with exit code 3: xx"));
        assert!(said.ends_with("ü last words") && said.len() < TOLD + 100);
        assert_eq!(
            complaint(Exit::Signal(9), b" \n"),
            "The check of the result failed by signal 9"
        );
    }
}
