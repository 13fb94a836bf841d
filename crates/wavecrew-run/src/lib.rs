//! The driver of a run: does what the engine decides, with real processes, files and signals.

pub mod agent;
pub mod cassette;
pub mod driver;
pub mod guardian;
pub mod process;
pub mod questions;
pub mod worker_side;
pub mod worktree;
