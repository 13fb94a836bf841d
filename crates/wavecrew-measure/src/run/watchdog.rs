//! A small process beside one that runs tests. When that is gone, however it went, this one ends the test runs that were left
//! behind, and itself. It hears of it by the end of a pipe that nobody else holds.

use std::io::{self, PipeWriter, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};

use super::process::{end_runs_of, run_name};

/// The first word of the watcher's command line; the second names whose runs it ends.
pub const WATCHDOG_ARGUMENT: &str = "__watch";

/// Watches over the runs of this process, as long as it lives.
#[derive(Debug)]
pub struct Watchdog {
    _line: PipeWriter,
    _child: Child,
}

impl Watchdog {
    /// `program` is one that calls [`watchdog_main`] when its first word is [`WATCHDOG_ARGUMENT`].
    pub fn start(program: &Path) -> io::Result<Self> {
        let (theirs, line) = io::pipe()?;
        let child = Command::new(program)
            .args([WATCHDOG_ARGUMENT, &run_name()])
            .stdin(theirs)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .current_dir("/")
            // What ends the group of its starter is not to end it.
            .process_group(0)
            .spawn()?;
        Ok(Self {
            _line: line,
            _child: child,
        })
    }
}

/// The whole life of a watcher.
pub fn watchdog_main(runs_of: &str) -> ExitCode {
    let mut nothing = [0; 64];
    loop {
        match io::stdin().read(&mut nothing) {
            Ok(0) => break,
            Err(error) if error.kind() != io::ErrorKind::Interrupted => break,
            Ok(_) | Err(_) => {}
        }
    }
    end_runs_of(runs_of);
    ExitCode::SUCCESS
}
