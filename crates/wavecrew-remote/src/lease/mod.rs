//! The lease of an attempt, for both sides, without I/O: time and answers go in, writes and decisions come out.
//!
//! A lease is one key in a bucket of JetStream. The bucket arbitrates: every write names the revision that it
//! replaces, so one of two writers loses. A host that reaches NATS continues even without a coordinator.
//!
//! - Nobody has written the key: the attempt is *offered*.
//! - The [host](HostLease) creates the key. From then on it holds the lease, and writes it again before a third of the
//!   time is over. Its time counts from the moment at which it *sent* the last write that was confirmed.
//! - A host whose time is over, or whose write was refused, ends its processes: at most [`Terms::bound`] after that moment.
//! - The [coordinator](CoordinatorLease) counts from the moment at which it *saw* the key change, which is
//!   later, and waits longer ([`Terms::taken_back_after`]). Then it revokes the lease: it writes the key too.
//!   Only when that write is confirmed, the attempt is interrupted, and later reports of its host are
//!   refused.
//! - The key of an attempt that is over stays for days, so a message that is delivered again starts nothing.
//!
//! Both sides measure time with their own monotonic clock and send no time to each other, so a wrong clock does no harm.

mod coordinator;
mod host;
#[cfg(test)]
mod tests;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use coordinator::{CoordinatorAction, CoordinatorLease, TurnResult};
pub use host::{HostAction, HostLease};

/// The monotonic time of one side, counted from any start.
pub type Moment = Duration;

/// The revision of a key that does not exist.
pub const ABSENT: u64 = 0;

/// What both sides agree on; the offer carries it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// How long a lease holds after a confirmed write.
    pub lease: Duration,
    /// How long ending the processes takes at most.
    pub grace: Duration,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(30),
            grace: Duration::from_secs(5),
        }
    }
}

impl Terms {
    /// A host that cannot renew has ended its processes this long after its last confirmed renewal.
    pub fn bound(self) -> Duration {
        self.lease + self.grace
    }

    /// How long the coordinator waits for a change of the key. An eighth longer than the bound: clocks may run at
    /// different speeds.
    pub fn taken_back_after(self) -> Duration {
        self.bound() + self.bound() / 8
    }

    /// When a host renews. Two writes may fail before the lease is lost.
    pub fn renewed_after(self) -> Duration {
        self.lease / 3
    }

    /// When a write or a read without an answer is repeated.
    fn answered_within(self) -> Duration {
        self.lease / 6
    }
}

/// What the key of a lease holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum LeaseRecord {
    Held {
        host: String,
        /// Random, new for every [`HostLease::ask`]. A host that was restarted does not hold the lease, and
        /// must not mistake its own earlier record for a new one.
        holder: String,
        renewals: u64,
    },
    /// Revoked by the coordinator: the attempt is interrupted.
    TakenBack,
    /// The attempt is over, its results are in the journal.
    Done,
    /// Written by a newer version: treated like the record of another host.
    #[serde(other)]
    Unknown,
}
