//! The driver of a run: carries out what the engine decides, with real processes, files and signals.
//!
//! [`event_loop`] owns the [`Driver`](event_loop::Driver). The other modules add the parts of it that concern one thing:
//! [`worker`] starts workers and reads their output, [`checks`] compares reports with facts, [`table`] keeps `tasks.csv`,
//! [`place`] decides where workers run, [`worktree`] merges work, [`recording`] writes and replays cassettes, [`session`] opens the folder of a run.

pub mod agent_files;
pub mod agent_name;
pub mod checks;
pub mod event_loop;
pub mod installed;
pub mod log_maker;
pub mod place;
pub mod questions;
pub mod recording;
pub mod sandbox;
pub mod session;
pub mod table;
pub mod worker;
pub mod worker_commands;
pub mod worktree;
