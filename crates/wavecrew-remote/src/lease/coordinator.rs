//! The coordinator's side: watch the key, revoke the lease when the key no longer changes, refuse late
//! results.

use super::{ABSENT, LeaseRecord, Moment, Terms};

/// What the coordinator must do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum CoordinatorAction {
    /// Write the key if it has this revision, then call [`CoordinatorLease::written`] or
    /// [`CoordinatorLease::conflict`]. No answer is fine: the write is repeated.
    Write { expected: u64, record: LeaseRecord },
    /// Read the key, then call [`CoordinatorLease::seen`].
    Read,
    /// The lease is revoked for good: the attempt is interrupted. Returned once.
    Interrupted,
    /// The key records that the attempt is over. Nothing is left to do.
    Over,
}

/// What to do with the result of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum TurnResult {
    Accept,
    /// Delivered once more: acknowledge it again.
    Duplicate,
    /// Too late: the attempt is interrupted.
    Refuse,
}

/// The lease of one attempt, as the coordinator knows it.
#[derive(Debug, Clone)]
pub struct CoordinatorLease {
    terms: Terms,
    state: State,
    /// The last turn whose result was accepted.
    accepted: u32,
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// Offered or held; `revision` is [`ABSENT`] before a host accepts.
    Live {
        revision: u64,
        until: Moment,
    },
    TakingBack {
        expected: u64,
        why: Why,
        ask_at: Moment,
    },
    Interrupted,
    Finishing {
        expected: u64,
        ask_at: Moment,
    },
    Over,
}

/// Why a lease is revoked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    /// The key did not change in time. A change at the last moment keeps the lease.
    Expired,
    /// Its host is gone, or the attempt is no longer needed.
    NotWanted,
}

impl CoordinatorLease {
    /// The offer is about to be sent. `accepted` is 0, or the last turn of the attempt that the journal knows.
    pub fn offer(terms: Terms, accepted: u32, now: Moment) -> Self {
        let until = now + terms.taken_back_after();
        let state = State::Live {
            revision: ABSENT,
            until,
        };
        Self {
            terms,
            state,
            accepted,
        }
    }

    /// Whether a host has accepted the offer and the coordinator knows it.
    pub fn is_held(&self) -> bool {
        matches!(self.state, State::Live { revision, .. } if revision != ABSENT)
    }

    pub fn next_tick(&self) -> Option<Moment> {
        match self.state {
            State::Live { until, .. } => Some(until),
            State::TakingBack { ask_at, .. } | State::Finishing { ask_at, .. } => Some(ask_at),
            State::Interrupted | State::Over => None,
        }
    }

    pub fn tick(&mut self, now: Moment) -> Vec<CoordinatorAction> {
        let again = now + self.terms.answered_within();
        match &mut self.state {
            State::Live { until, revision } if now >= *until => {
                let expected = *revision;
                self.take_back_at(expected, Why::Expired, now)
            }
            State::TakingBack { ask_at, .. } | State::Finishing { ask_at, .. } if now >= *ask_at => {
                *ask_at = again;
                vec![CoordinatorAction::Read]
            }
            State::Live { .. }
            | State::TakingBack { .. }
            | State::Finishing { .. }
            | State::Interrupted
            | State::Over => Vec::new(),
        }
    }

    /// The attempt is no longer needed, or its host reports that it lost the lease or was started again.
    pub fn take_back(&mut self, now: Moment) -> Vec<CoordinatorAction> {
        match self.state {
            State::Live { revision, .. } => self.take_back_at(revision, Why::NotWanted, now),
            State::TakingBack { expected, ask_at, .. } => {
                self.state = State::TakingBack {
                    expected,
                    why: Why::NotWanted,
                    ask_at,
                };
                Vec::new()
            }
            State::Interrupted | State::Finishing { .. } | State::Over => Vec::new(),
        }
    }

    /// The key has this record, from a watch or a read. `None`: it does not exist.
    pub fn seen(&mut self, seen: Option<(u64, LeaseRecord)>, now: Moment) -> Vec<CoordinatorAction> {
        let (revision, record) = seen.unwrap_or((ABSENT, LeaseRecord::Unknown));
        match (self.state, record) {
            // Only a change counts: an old message that arrives late does not show that the host is alive.
            (State::Live { revision: known, .. }, LeaseRecord::Held { .. }) if revision > known => {
                let until = now + self.terms.taken_back_after();
                self.state = State::Live { revision, until };
                Vec::new()
            }
            // The key is `Done`, but the journal has no result: another coordinator accepted one. Running the
            // task again is safe.
            (State::Live { .. } | State::TakingBack { .. }, LeaseRecord::TakenBack | LeaseRecord::Done) => {
                self.interrupt()
            }
            (
                State::TakingBack {
                    expected,
                    why: Why::Expired,
                    ..
                },
                LeaseRecord::Held { .. },
            ) if revision > expected => {
                let until = now + self.terms.taken_back_after();
                self.state = State::Live { revision, until };
                Vec::new()
            }
            (State::TakingBack { expected, why, .. }, LeaseRecord::Held { .. } | LeaseRecord::Unknown)
                if revision >= expected =>
            {
                self.take_back_at(revision, why, now)
            }
            (State::Finishing { .. }, LeaseRecord::Done) => {
                self.state = State::Over;
                vec![CoordinatorAction::Over]
            }
            (State::Finishing { expected, .. }, _) if revision >= expected => self.finish_at(revision, now),
            // A record that is not newer, or that no longer changes anything.
            (
                State::Live { .. }
                | State::TakingBack { .. }
                | State::Finishing { .. }
                | State::Interrupted
                | State::Over,
                _,
            ) => Vec::new(),
        }
    }

    /// A write happened.
    pub fn written(&mut self, expected: u64) -> Vec<CoordinatorAction> {
        match self.state {
            State::TakingBack { expected: ours, .. } if ours == expected => self.interrupt(),
            State::Finishing { expected: ours, .. } if ours == expected => {
                self.state = State::Over;
                vec![CoordinatorAction::Over]
            }
            State::Live { .. }
            | State::TakingBack { .. }
            | State::Finishing { .. }
            | State::Interrupted
            | State::Over => Vec::new(),
        }
    }

    /// A write was refused: the key has another revision.
    pub fn conflict(&mut self, expected: u64) -> Vec<CoordinatorAction> {
        match self.state {
            State::TakingBack { expected: ours, .. } | State::Finishing { expected: ours, .. }
                if ours == expected =>
            {
                vec![CoordinatorAction::Read]
            }
            State::Live { .. }
            | State::TakingBack { .. }
            | State::Finishing { .. }
            | State::Interrupted
            | State::Over => Vec::new(),
        }
    }

    /// The result of a turn arrived. A lease that is being revoked still counts, as long as the attempt is
    /// not interrupted in the journal.
    pub fn result(&mut self, turn: u32) -> TurnResult {
        if turn <= self.accepted {
            return TurnResult::Duplicate;
        }
        match self.state {
            State::Live { .. } | State::TakingBack { .. } => {
                self.accepted = turn;
                TurnResult::Accept
            }
            // Too late, or the attempt was closed without waiting for this turn.
            State::Interrupted | State::Finishing { .. } | State::Over => TurnResult::Refuse,
        }
    }

    /// The attempt is over, and the journal has its result: record that in the key.
    pub fn finish(&mut self, now: Moment) -> Vec<CoordinatorAction> {
        match self.state {
            State::Live { revision, .. } => self.finish_at(revision, now),
            State::TakingBack { expected, .. } => self.finish_at(expected, now),
            State::Interrupted | State::Finishing { .. } | State::Over => Vec::new(),
        }
    }

    fn interrupt(&mut self) -> Vec<CoordinatorAction> {
        self.state = State::Interrupted;
        vec![CoordinatorAction::Interrupted]
    }

    fn take_back_at(&mut self, expected: u64, why: Why, now: Moment) -> Vec<CoordinatorAction> {
        let ask_at = now + self.terms.answered_within();
        self.state = State::TakingBack {
            expected,
            why,
            ask_at,
        };
        vec![CoordinatorAction::Write {
            expected,
            record: LeaseRecord::TakenBack,
        }]
    }

    fn finish_at(&mut self, expected: u64, now: Moment) -> Vec<CoordinatorAction> {
        let ask_at = now + self.terms.answered_within();
        self.state = State::Finishing { expected, ask_at };
        vec![CoordinatorAction::Write {
            expected,
            record: LeaseRecord::Done,
        }]
    }
}
