//! Another place that has the journal, such as a replicated stream. It gets every line before the file, and so before any
//! effect: whoever has only the replica can continue the session.

use crate::error::SessionError;
use std::fmt::Debug;

/// The replica of a journal. An error ends the run before the next effect.
pub trait JournalReplica: Debug {
    /// Returns when the bytes are stored.
    fn append(&mut self, bytes: &[u8]) -> Result<(), SessionError>;

    /// Whether this process may still write it.
    fn check(&self) -> Result<(), SessionError>;
}
