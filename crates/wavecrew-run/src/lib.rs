//! The driver of a run: does what the engine decides, with real processes, files and signals.

pub mod agent_name;
pub mod driver;
pub mod installed;
pub mod questions;
pub mod recording;
pub mod worker_side;
pub mod worktree;
