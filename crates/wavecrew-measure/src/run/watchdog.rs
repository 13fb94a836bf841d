//! A small process that watches one that runs tests. When that process is gone, for whatever reason, the
//! watchdog ends its test runs and itself. It detects that by the end of a pipe that no other process holds.

use std::io::{self, PipeWriter, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};

use super::process::{end_runs_of, run_name};

/// The first argument of a watchdog; the second names the process whose runs it ends.
pub const WATCHDOG_ARGUMENT: &str = "__watch";

/// The watchdog of this process.
#[derive(Debug)]
pub struct Watchdog {
    pipe: PipeWriter,
    child: Child,
}

impl Watchdog {
    /// `program` calls [`watchdog_main`] when its first argument is [`WATCHDOG_ARGUMENT`].
    pub fn start(program: &Path) -> io::Result<Self> {
        let (theirs, pipe) = io::pipe()?;
        let child = Command::new(program)
            .args([WATCHDOG_ARGUMENT, &run_name()])
            .stdin(theirs)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .current_dir("/")
            // A signal to the starter's group must not end it.
            .process_group(0)
            .spawn()?;
        Ok(Self { pipe, child })
    }

    /// Ends it, and waits until it is gone.
    pub fn end(mut self) {
        drop(self.pipe);
        // One that is gone already is fine.
        let _ = self.child.wait();
    }
}

/// The main function of a watchdog.
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
