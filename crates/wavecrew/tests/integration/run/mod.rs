//! `run` and `--continue` through the program itself, with scripted workers.

mod guardian;
mod hostile_workers;
pub mod interactive_agents;
mod issues;
mod keys;
mod packed_files;
mod questions;
mod rate_limits_and_budgets;
mod reports;
mod resume;
mod secrets;
mod sessions;
mod signals;
mod table_edits;
mod tampering;
mod waves;
mod worktrees;
