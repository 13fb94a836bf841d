//! `run` and `--continue` through the program itself, with scripted workers.

mod hostile_workers;
pub mod interactive_agents;
mod issues;
mod keys;
mod packed_files;
mod questions;
mod rate_limits_and_budgets;
mod reports;
mod resume;
mod sessions;
mod signals;
mod table_edits;
mod waves;
mod worktrees;
