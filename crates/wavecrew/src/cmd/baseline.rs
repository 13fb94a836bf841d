//! `__baseline`: runs a project's own tests before anything is written, for the run that started it. Ends with whoever holds
//! the other end of its stdin, and leaves no process behind.

use crate::exit::{Exit, Failure};
use crate::launch::testing;
use std::path::PathBuf;
use wavecrew_measure::run::MeasureError;
use wavecrew_process::end_with_stdin;
use wavecrew_testing::baseline::Baseline;
use wavecrew_testing::bench::Trouble;

/// How it is called.
pub const NAME: &str = "__baseline";

/// Run a project's own tests
#[derive(clap::Args, Debug)]
pub struct Args {
    #[arg(long)]
    session: PathBuf,
}

impl Args {
    pub fn run(&self) -> Result<Exit, Failure> {
        let bench = testing::bench(&self.session)?;
        end_with_stdin();
        match Baseline::measure(&bench) {
            Ok(baseline) => baseline
                .write(&self.session)
                .map_err(|error| testing::disk(&error))?,
            Err(Trouble::Environment(MeasureError::Stopped)) => return Ok(Exit::Interrupted),
            Err(trouble) => return Err(testing::trouble_failure(&trouble)),
        }
        Ok(Exit::Done)
    }
}
