//! `__baseline`: runs a project's own tests before anything is written, for the run that started it. Ends with whoever holds
//! the other end of its stdin, and leaves no process behind.

use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::launch::testing;
use std::path::PathBuf;
use wavecrew_measure::run::MeasureError;
use wavecrew_process::terminate_when_stdin_closes;
use wavecrew_testing::baseline::Baseline;
use wavecrew_testing::environment::EnvironmentError;

/// How it is called.
pub use wavecrew_testing::setup::BASELINE_COMMAND as NAME;

/// Run a project's own tests
#[derive(clap::Args, Debug)]
pub struct Args {
    #[arg(long)]
    session: PathBuf,
}

impl Args {
    pub fn run(&self, _: &Global) -> Result<Exit, Failure> {
        let environment = testing::open_environment(&self.session)?;
        terminate_when_stdin_closes();
        match Baseline::measure(&environment) {
            Ok(baseline) => baseline
                .write(&self.session)
                .map_err(|error| testing::disk(&error))?,
            Err(EnvironmentError::Measure(MeasureError::Stopped)) => return Ok(Exit::Interrupted),
            Err(error) => return Err(testing::environment_failure(&error)),
        }
        Ok(Exit::Done)
    }
}
