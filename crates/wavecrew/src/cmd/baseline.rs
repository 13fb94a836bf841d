//! `__baseline`: runs a project's own tests before anything is written, for the run that started it. Ends
//! when its stdin is closed, and leaves no process behind.

use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::launch::testing;
use std::io::{IsTerminal, stderr};
use std::path::PathBuf;
use wavecrew_measure::run::MeasureError;
use wavecrew_process::terminate_when_stdin_closes;
use wavecrew_testing::baseline::Baseline;
use wavecrew_testing::environment::EnvironmentError;
use wavecrew_testing::progress::{ProgressOutput, StepProgress};

/// How it is called.
pub use wavecrew_testing::setup::BASELINE_COMMAND as NAME;

/// Run a project's own tests
#[derive(clap::Args, Debug)]
pub struct Args {
    #[arg(long)]
    session: PathBuf,
    /// Show no progress
    #[arg(long)]
    silent: bool,
}

impl Args {
    pub fn run(&self, _: &Global) -> Result<Exit, Failure> {
        let mut environment = testing::open_environment(&self.session)?;
        environment.progress = StepProgress::new(match (self.silent, stderr().is_terminal()) {
            (true, _) => ProgressOutput::None,
            (false, true) => ProgressOutput::Terminal,
            (false, false) => ProgressOutput::Log,
        });
        terminate_when_stdin_closes();
        match Baseline::measure(&environment) {
            Ok(baseline) => {
                // Checked before any worker uses time or money.
                if let Some((message, help)) = baseline.why_nothing_runs() {
                    environment.progress.end();
                    return Err(Failure::NotDone {
                        message: message.to_owned(),
                        help: help.to_owned(),
                    });
                }
                baseline.skip_uninstalled(&mut environment.scope);
                let written = environment.scope.write(&self.session);
                let written = written.and_then(|()| baseline.write(&self.session));
                written.map_err(|error| testing::disk(&error))?;
            }
            Err(EnvironmentError::Measure(MeasureError::Stopped)) => return Ok(Exit::Interrupted),
            Err(error) => return Err(testing::environment_failure(&error)),
        }
        Ok(Exit::Done)
    }
}
