//! What the guardian tells of processes: started, not started, gone.

use super::worker::Life;
use super::{DriveError, Driver};
use wavecrew_core::engine::{Exit, Input, SpawnError};
use wavecrew_process::{Exit as ProcessExit, Notice, SpawnFailure};

impl Driver<'_> {
    pub(super) fn hear(&mut self, notice: Notice) -> Result<(), DriveError> {
        match notice {
            Notice::Spawned { key, process } => {
                if let Some((worker, _)) = self.processes.get(&key)
                    && let Some(state) = self.workers.get(worker)
                {
                    self.inputs.push_back(Input::Spawned {
                        worker: *worker,
                        process,
                        output_mode: state.output.output_mode(),
                    });
                }
            }
            Notice::SpawnFailed { key, error } => {
                if self.check_failed(key, &error.to_string()) {
                    return Ok(());
                }
                let Some((worker, _)) = self.processes.remove(&key) else {
                    return Ok(());
                };
                if let Some(state) = self.workers.get_mut(&worker) {
                    state.alive.retain(|alive| *alive != key);
                }
                let text = error.to_string();
                self.tape_not_started(worker, &text);
                let error = match error.reason {
                    SpawnFailure::TooManyFiles | SpawnFailure::Other(_) => SpawnError::Temporary(text),
                    SpawnFailure::NotFound
                    | SpawnFailure::NoWorkingFolder(_)
                    | SpawnFailure::NotPermitted
                    | SpawnFailure::NotAProgram
                    | SpawnFailure::TooLong => SpawnError::Permanent(text),
                };
                self.inputs.push_back(Input::SpawnFailed { worker, error });
                self.closed_if_gone(worker);
            }
            Notice::Exited { key, status, .. } => {
                if !self.check_exited(key, status)
                    && let Some((_, life)) = self.processes.get(&key)
                {
                    // Its pumps answer with `ProcessNews::Ended` once they have taken in the rest.
                    let _ = life.send(Life::Gone(status));
                }
            }
            Notice::GuardianLost => return Err(DriveError::GuardianLost),
        }
        Ok(())
    }

    pub(super) fn exit_of(exit: ProcessExit) -> Exit {
        match exit {
            ProcessExit::Code(code) => Exit::Code(code),
            ProcessExit::Signal(signal) => Exit::Signal(signal),
        }
    }
}
