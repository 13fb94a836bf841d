//! The session folder on disk: layout, lock, journal, boards, reports, and the table that people edit.
//!
//! Everything here is synchronous and knows nothing of engines or agents: callers decide what to write and when,
//! this crate decides how it reaches the disk so that a kill at any instant leaves files that can be continued.

pub mod atomic;
pub mod error;
pub mod journal;
pub mod lock;

pub use error::StoreError;
pub use journal::{Journal, Recovery, Syncer};
pub use lock::{Holder, SessionLock};
