//! Handles what the guardian reports about processes: started, not started, exited.

use crate::event_loop::{DriveError, Driver};
use crate::place::PlaceEvent;
use crate::worker::streams::ProcessState;
use rustix::process::Signal;
use wavecrew_core::engine::{Input, Notice, SpawnError};
use wavecrew_process::{GuardianEvent, ProcessExit, SpawnFailure};

impl Driver<'_> {
    pub(super) fn handle_place_event(&mut self, event: PlaceEvent) -> Result<(), DriveError> {
        match event {
            PlaceEvent::Process(event) => self.handle_guardian_event(event),
            PlaceEvent::Lost { key, reason } => {
                if let Some((_, state)) = self.processes.get(&key) {
                    self.lost.insert(key, reason);
                    let _ = state.send(ProcessState::Exited(ProcessExit::Signal(Signal::KILL.as_raw())));
                }
                Ok(())
            }
            PlaceEvent::Note(note) => {
                self.context.reporter.notice(&Notice::Note(note));
                Ok(())
            }
        }
    }

    pub(super) fn handle_guardian_event(&mut self, event: GuardianEvent) -> Result<(), DriveError> {
        match event {
            GuardianEvent::Spawned { key, process } => {
                if let Some((worker, _)) = self.processes.get(&key)
                    && let Some(state) = self.workers.get_mut(worker)
                {
                    state.host.clone_from(&process.host);
                    self.inputs.push_back(Input::Spawned {
                        worker: *worker,
                        process,
                        output_mode: state.output.mode(),
                    });
                }
            }
            GuardianEvent::SpawnFailed { key, error } => {
                if self.check_failed_to_start(key, &error.to_string()) {
                    return Ok(());
                }
                let Some((worker, _)) = self.processes.remove(&key) else {
                    return Ok(());
                };
                if let Some(state) = self.workers.get_mut(&worker) {
                    state.alive.retain(|alive| *alive != key);
                }
                self.places.forget(key);
                let text = error.to_string();
                self.record_not_started(worker, &text);
                let error = match error.reason {
                    SpawnFailure::TooManyFiles
                    | SpawnFailure::Other(_)
                    | SpawnFailure::Elsewhere { temporary: true, .. } => SpawnError::Temporary(text),
                    SpawnFailure::NotFound
                    | SpawnFailure::NoWorkingFolder(_)
                    | SpawnFailure::NotPermitted
                    | SpawnFailure::NotAProgram
                    | SpawnFailure::TooLong
                    | SpawnFailure::Elsewhere { temporary: false, .. } => SpawnError::Permanent(text),
                };
                self.inputs.push_back(Input::SpawnFailed { worker, error });
                self.finish_closing(worker);
            }
            GuardianEvent::Exited { key, status, .. } => {
                if !self.check_exited(key, status)
                    && let Some((_, state)) = self.processes.get(&key)
                {
                    // Its output readers send `WorkerEvent::ProcessEnded` once they have read the rest.
                    let _ = state.send(ProcessState::Exited(status));
                }
            }
            GuardianEvent::GuardianLost => return Err(DriveError::GuardianLost),
        }
        Ok(())
    }
}
