//! The commands that look at sessions and those of workers, through the program itself, over folders made with the
//! store.

mod cancel_and_watch;
mod configuration;
mod mistakes;
mod shown_sessions;
pub mod support;
mod worker_commands;
