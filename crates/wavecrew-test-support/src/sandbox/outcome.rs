//! A program that runs, and what came of it.

use super::wait_for;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::{self, File};
use std::process::{Child, Command, ExitStatus, Stdio};
use tempfile::TempDir;

/// A program that runs; it is killed when this is dropped. Its output goes to files, so that it never waits for a reader.
pub struct Running {
    child: Child,
    output: TempDir,
}

/// What came of a program.
#[derive(Debug)]
pub struct Outcome {
    /// `None` if a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Running {
    pub(super) fn start(command: &mut Command) -> Self {
        let output = tempfile::tempdir().expect("a temporary folder");
        let file = |name| Stdio::from(File::create(output.path().join(name)).expect("a file for output"));
        let child = command.stdout(file("stdout")).stderr(file("stderr")).spawn();
        let child = child
            .unwrap_or_else(|error| panic!("{} does not start: {error}", command.get_program().display()));
        Self { child, output }
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub fn is_running(&mut self) -> bool {
        self.status().is_none()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("the program runs");
    }

    pub fn wait(mut self) -> Outcome {
        let status = wait_for("the program to end", || self.status());
        self.outcome(status)
    }

    pub fn kill(mut self) -> Outcome {
        self.child.kill().expect("our own child");
        let status = self.child.wait().expect("our own child");
        self.outcome(status)
    }

    /// Standard output so far.
    pub fn stdout(&self) -> String {
        self.read("stdout")
    }

    /// Standard error so far.
    pub fn stderr(&self) -> String {
        self.read("stderr")
    }

    /// Waits until standard output contains a text.
    pub fn wait_for_output(&self, text: &str) {
        wait_for(text, || self.stdout().contains(text).then_some(()));
    }

    fn status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("our own child")
    }

    fn read(&self, name: &str) -> String {
        let bytes = fs::read(self.output.path().join(name)).expect("a file for output");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn outcome(&self, status: ExitStatus) -> Outcome {
        Outcome {
            code: status.code(),
            stdout: self.read("stdout"),
            stderr: self.read("stderr"),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[expect(
    clippy::return_self_not_must_use,
    reason = "an expectation may be the last one"
)]
impl Outcome {
    /// All output, standard error last.
    pub fn text(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }

    #[track_caller]
    pub fn expect_exit(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}", self.text());
        self
    }

    /// Fails unless the output contains these words; where long messages are wrapped does not matter.
    #[track_caller]
    pub fn expect_output(self, text: &str) -> Self {
        let all = self.text();
        assert!(words(&all).contains(&words(text)), "`{text}` is not in:\n{all}");
        self
    }

    /// Fails unless it ended with this code, nothing on standard output, and all of `texts` on standard error.
    #[track_caller]
    pub fn expect_error(&self, code: i32, texts: &[&str]) {
        assert_eq!(self.code, Some(code), "{}", self.text());
        assert_eq!(self.stdout, "");
        for text in texts {
            assert!(self.stderr.contains(text), "`{text}` is not in:\n{}", self.stderr);
        }
    }

    /// Standard output of a program that succeeded.
    #[track_caller]
    pub fn ok(self) -> String {
        self.expect_exit(0).stdout
    }

    /// The JSON document on standard output of a program that succeeded.
    #[track_caller]
    pub fn json(self) -> Value {
        serde_json::from_str(&self.ok()).expect("one JSON document")
    }
}

/// The words of a message, without the frame that is drawn around it.
fn words(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || "│×╰─▶".contains(c));
    words
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}
