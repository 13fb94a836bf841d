//! The host's side: request the lease, renew it, and end the processes in time when it is lost.

use super::{ABSENT, LeaseRecord, Moment, Terms};

/// What the host must do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum HostAction {
    /// Write the key if it has this revision, then call [`HostLease::written`] or [`HostLease::conflict`]. No
    /// answer is fine: the write is repeated.
    Write { expected: u64, record: LeaseRecord },
    /// Read the key, then call [`HostLease::found`].
    Read,
    /// The lease is held: start the turn.
    Start { turn: u32 },
    /// The lease was never held, so nothing has started. Report that the attempt was withdrawn.
    Refuse,
    /// The lease is lost: end the processes within [`Terms::grace`], then call [`HostLease::processes_gone`].
    End,
    /// Nothing is left to do. `lost` is set if the coordinator did not ask for the end.
    Over { lost: bool },
}

/// The lease of one attempt, as its host knows it.
#[derive(Debug, Clone)]
pub struct HostLease {
    terms: Terms,
    host: String,
    holder: String,
    state: State,
    /// Turns that arrived before the lease was held.
    waiting: Vec<u32>,
    last_turn: u32,
    running: bool,
}

#[derive(Debug, Clone)]
enum State {
    Asking(Pending),
    Held {
        revision: u64,
        renewals: u64,
        /// When the last confirmed write was sent.
        since: Moment,
        pending: Option<Pending>,
    },
    Ending {
        lost: bool,
    },
    Over,
}

/// A write without an answer. It may or may not have happened.
#[derive(Debug, Clone)]
struct Pending {
    expected: u64,
    renewals: u64,
    /// When it was sent for the first time.
    sent: Moment,
    /// When to read the key to find out whether it happened.
    ask_at: Moment,
}

impl HostLease {
    /// An offer arrived. `holder` is random and never used before. `turn` is usually 1.
    pub fn ask(terms: Terms, host: &str, holder: &str, turn: u32, now: Moment) -> (Self, Vec<HostAction>) {
        let mut lease = Self {
            terms,
            host: host.to_owned(),
            holder: holder.to_owned(),
            state: State::Over,
            waiting: vec![turn],
            last_turn: turn,
            running: false,
        };
        let write = lease.write(ABSENT, 0, now);
        (lease, vec![write])
    }

    /// The message of another turn arrived. A turn that is known already does nothing.
    pub fn turn(&mut self, turn: u32, now: Moment) -> Vec<HostAction> {
        if turn <= self.last_turn {
            return Vec::new();
        }
        self.last_turn = turn;
        match self.state {
            State::Asking(_) | State::Held { .. } => {
                self.waiting.push(turn);
                self.start_waiting(now)
            }
            State::Ending { .. } | State::Over => Vec::new(),
        }
    }

    /// When the last confirmed write was sent. The lease holds for [`Terms::lease`] after it.
    pub fn held_since(&self) -> Option<Moment> {
        match self.state {
            State::Held { since, .. } => Some(since),
            State::Asking(_) | State::Ending { .. } | State::Over => None,
        }
    }

    /// When [`tick`](Self::tick) has something to do.
    pub fn next_tick(&self) -> Option<Moment> {
        match &self.state {
            State::Asking(pending) => Some(pending.ask_at),
            State::Held { since, pending, .. } => {
                let next = pending
                    .as_ref()
                    .map_or(*since + self.terms.renewed_after(), |pending| pending.ask_at);
                Some(next.min(*since + self.terms.lease))
            }
            State::Ending { .. } | State::Over => None,
        }
    }

    /// Call it at [`next_tick`](Self::next_tick) or earlier; late calls are safe.
    pub fn tick(&mut self, now: Moment) -> Vec<HostAction> {
        let again = now + self.terms.answered_within();
        match &mut self.state {
            State::Held { since, .. } if now >= *since + self.terms.lease => self.lose(),
            State::Asking(pending)
            | State::Held {
                pending: Some(pending),
                ..
            } if now >= pending.ask_at => {
                pending.ask_at = again;
                vec![HostAction::Read]
            }
            State::Held {
                revision,
                renewals,
                since,
                pending: None,
            } if now >= *since + self.terms.renewed_after() => {
                let (expected, renewals) = (*revision, *renewals + 1);
                vec![self.write(expected, renewals, now)]
            }
            State::Asking(_) | State::Held { .. } | State::Ending { .. } | State::Over => Vec::new(),
        }
    }

    /// The write of this record happened.
    pub fn written(&mut self, record: &LeaseRecord, revision: u64, now: Moment) -> Vec<HostAction> {
        match &self.state {
            State::Asking(pending)
            | State::Held {
                pending: Some(pending),
                ..
            } if *record == self.record(pending.renewals) => {
                let (renewals, since) = (pending.renewals, pending.sent);
                self.hold(revision, renewals, since, now)
            }
            // The answer to an earlier repetition.
            State::Asking(_) | State::Held { .. } | State::Ending { .. } | State::Over => Vec::new(),
        }
    }

    /// The write of this record was refused: the key has another revision. That may be our own write, whose answer was lost.
    pub fn conflict(&mut self, record: &LeaseRecord) -> Vec<HostAction> {
        match &self.state {
            State::Asking(pending)
            | State::Held {
                pending: Some(pending),
                ..
            } if *record == self.record(pending.renewals) => vec![HostAction::Read],
            State::Asking(_) | State::Held { .. } | State::Ending { .. } | State::Over => Vec::new(),
        }
    }

    /// What the key holds.
    pub fn found(&mut self, found: Option<(u64, LeaseRecord)>, now: Moment) -> Vec<HostAction> {
        let pending = match &self.state {
            State::Asking(pending) => pending.clone(),
            State::Held {
                revision,
                pending: Some(pending),
                ..
            } => {
                // An answer from before the last confirmed write.
                if found.as_ref().is_some_and(|(at, _)| at < revision) {
                    return Vec::new();
                }
                pending.clone()
            }
            State::Held { pending: None, .. } | State::Ending { .. } | State::Over => return Vec::new(),
        };
        match found {
            // The write has not happened: it is sent again, under its first moment.
            None if pending.expected == ABSENT => vec![self.again(&pending, now)],
            Some((revision, _)) if revision == pending.expected => vec![self.again(&pending, now)],
            Some((revision, record)) if record == self.record(pending.renewals) => {
                self.hold(revision, pending.renewals, pending.sent, now)
            }
            None | Some(_) => self.lose(),
        }
    }

    /// The processes of a turn have ended. The lease stays, for the next turn.
    pub fn processes_gone(&mut self, now: Moment) -> Vec<HostAction> {
        self.running = false;
        if let State::Ending { lost } = self.state {
            self.state = State::Over;
            return vec![HostAction::Over { lost }];
        }
        self.start_waiting(now)
    }

    /// The coordinator has the result, or no longer needs it.
    pub fn release(&mut self) -> Vec<HostAction> {
        match self.state {
            State::Asking(_) | State::Held { .. } if self.running => {
                self.state = State::Ending { lost: false };
                vec![HostAction::End]
            }
            State::Asking(_) | State::Held { .. } => {
                self.state = State::Over;
                vec![HostAction::Over { lost: false }]
            }
            State::Ending { .. } | State::Over => Vec::new(),
        }
    }

    fn hold(&mut self, revision: u64, renewals: u64, since: Moment, now: Moment) -> Vec<HostAction> {
        self.state = State::Held {
            revision,
            renewals,
            since,
            pending: None,
        };
        if now >= since + self.terms.lease {
            // The answer took too long: the coordinator has revoked this lease, or is about to.
            return self.lose();
        }
        self.start_waiting(now)
    }

    /// Starts the waiting turns, one after the other.
    fn start_waiting(&mut self, now: Moment) -> Vec<HostAction> {
        let State::Held { since, .. } = self.state else {
            return Vec::new();
        };
        if self.running || self.waiting.is_empty() || now >= since + self.terms.lease {
            return Vec::new();
        }
        self.running = true;
        let turn = self.waiting.remove(0);
        vec![HostAction::Start { turn }]
    }

    fn lose(&mut self) -> Vec<HostAction> {
        let never_held = matches!(self.state, State::Asking(_));
        self.waiting.clear();
        if self.running {
            self.state = State::Ending { lost: true };
            return vec![HostAction::End];
        }
        self.state = State::Over;
        if never_held {
            vec![HostAction::Refuse, HostAction::Over { lost: true }]
        } else {
            vec![HostAction::Over { lost: true }]
        }
    }

    fn write(&mut self, expected: u64, renewals: u64, now: Moment) -> HostAction {
        let pending = Pending {
            expected,
            renewals,
            sent: now,
            ask_at: now + self.terms.answered_within(),
        };
        match &mut self.state {
            State::Held { pending: slot, .. } => *slot = Some(pending),
            State::Asking(_) | State::Ending { .. } | State::Over => self.state = State::Asking(pending),
        }
        HostAction::Write {
            expected,
            record: self.record(renewals),
        }
    }

    /// The same write once more. Its time counts from the first sending, because the first one may be the
    /// write that happens.
    fn again(&mut self, earlier: &Pending, now: Moment) -> HostAction {
        let action = self.write(earlier.expected, earlier.renewals, now);
        match &mut self.state {
            State::Asking(pending)
            | State::Held {
                pending: Some(pending),
                ..
            } => pending.sent = earlier.sent,
            State::Held { pending: None, .. } | State::Ending { .. } | State::Over => {}
        }
        action
    }

    fn record(&self, renewals: u64) -> LeaseRecord {
        LeaseRecord::Held {
            host: self.host.clone(),
            holder: self.holder.clone(),
            renewals,
        }
    }
}
