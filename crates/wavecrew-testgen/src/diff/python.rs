//! Python: one helper process per module, which starts both versions.

use std::path::Path;
use std::time::Duration;

use wavecrew_measure::framework::python_environment::interpreter;

use super::{CompareProgress, ComparedModule, HelperOutput, ModuleTime, Versions, helper_request};
use crate::GenerateError;
use crate::helper_files::unpack;
use crate::python::HELPER;
use crate::python::helper_process::{Ended, Helper, PACKAGE};

/// What a helper that stops in time may still need to end.
const GRACE: Duration = Duration::from_secs(3);

pub fn compare(
    versions: &Versions,
    file: &Path,
    time: ModuleTime,
    on_progress: &mut dyn FnMut(CompareProgress<'_>) -> bool,
) -> Result<ComparedModule, GenerateError> {
    run(versions, file, "diff", time, on_progress)
}

/// Runs a helper in a mode.
pub fn run(
    versions: &Versions,
    file: &Path,
    mode: &str,
    time: ModuleTime,
    on_progress: &mut dyn FnMut(CompareProgress<'_>) -> bool,
) -> Result<ComparedModule, GenerateError> {
    let package = unpack(HELPER, PACKAGE)?;
    let python = interpreter(&versions.project);
    let helper = Helper {
        python: &python,
        package: package.path(),
        root: &versions.new_root,
        writable: None,
        deadline: time.until + GRACE,
    };
    let mut output = HelperOutput::default();
    let ended = helper.run(&helper_request(versions, file, mode, time), |line| {
        output.take(line, on_progress)
    })?;
    Ok(output.result(file, || match ended {
        Ended::TimedOut => "the time limit came before its search ended".to_owned(),
        Ended::Done(error) if error.is_empty() => "stopped before its search ended".to_owned(),
        Ended::Done(error) => format!("the Python helper failed: {error}"),
    }))
}
