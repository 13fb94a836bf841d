//! The test environment of a session of team Testing, and what is said when it cannot be opened.

use crate::exit::Failure;
use std::io;
use std::path::Path;
use wavecrew_measure::run::{cache_folder, stop_on_signals};
use wavecrew_testing::environment::{EnvironmentError, TestEnvironment};

/// Opens the session's test environment.
pub fn open_environment(session: &Path) -> Result<TestEnvironment, Failure> {
    let stop = stop_on_signals().map_err(Failure::Output)?;
    TestEnvironment::open(session, cache_folder(), Some(stop)).map_err(|error| environment_failure(&error))
}

pub fn environment_failure(error: &EnvironmentError) -> Failure {
    Failure::NotDone {
        message: error.to_string(),
        help: error.help(),
    }
}

pub fn disk(error: &io::Error) -> Failure {
    Failure::Disk {
        message: format!("the session's copy of the project cannot be made: {error}"),
        help: "check the space and the permissions of the folder".to_owned(),
    }
}
