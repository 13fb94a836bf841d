//! Ends turns: reports each to the driver, and passes its slot on.

use super::run::Coordinator;
use super::sending::send;
use super::turns::{Ended, Stage};
use std::time::Duration;
use wavecrew_process::{GuardianEvent, LockAnyway, ProcessExit, SpawnError, SpawnFailure};
use wavecrew_remote::wire::ToHost;
use wavecrew_run::place::PlaceEvent;

impl Coordinator {
    pub(super) fn close(&mut self, key: u64, grace: Duration) {
        let Some(turn) = self.turns.get_mut(&key) else {
            return;
        };
        turn.closing = Some(grace);
        match &turn.stage {
            Stage::Preparing | Stage::Ending(_) => {}
            Stage::Waiting { .. } => self.exited(key, ProcessExit::Signal(15), 0),
            Stage::Offered(offer) | Stage::Running(offer) => {
                let message = ToHost::Close {
                    attempt: offer.token.clone(),
                    turn: turn.facts.turn,
                    grace,
                };
                send(offer, "close", &message, b"");
                let host = offer.host.clone();
                if !self.hosts.lock_anyway().is_alive(&host) {
                    // Its host is gone and cannot end it; later messages are refused.
                    self.take_back(key);
                }
            }
        }
    }

    /// A turn is over: drops it, and gives its slot to the next one.
    pub(super) fn over(&mut self, key: u64) {
        self.forget_offer(key);
        self.turns.remove(&key);
        self.place_waiting();
    }

    pub(super) fn exited(&mut self, key: u64, status: ProcessExit, leftovers: u32) {
        self.over(key);
        let _ = self.events.send(PlaceEvent::Process(GuardianEvent::Exited {
            key,
            status,
            killed_leftovers: leftovers,
        }));
    }

    pub(super) fn spawn_failed(&mut self, key: u64, reason: String, temporary: bool) {
        let program = self
            .turns
            .get(&key)
            .map(|turn| turn.command.program.to_string_lossy().into_owned());
        self.over(key);
        let error = SpawnError {
            program: program.unwrap_or_default(),
            reason: SpawnFailure::Elsewhere { reason, temporary },
        };
        let _ = self
            .events
            .send(PlaceEvent::Process(GuardianEvent::SpawnFailed { key, error }));
    }

    pub(super) fn lost(&mut self, key: u64, reason: String) {
        if let Some(turn) = self.turns.get(&key) {
            // Its conversation is lost with it.
            self.homes.remove(&(turn.facts.task.clone(), turn.facts.attempt));
        }
        self.over(key);
        let _ = self.events.send(PlaceEvent::Lost { key, reason });
    }

    pub(super) fn ended(&mut self, key: u64, ended: Ended) {
        match ended {
            Ended::Exited {
                exit,
                leftovers,
                notes,
            } => {
                for note in notes {
                    self.note(note);
                }
                self.exited(key, exit, leftovers);
            }
            Ended::FilesLost(reason) => self.lost(key, reason),
        }
    }
}
