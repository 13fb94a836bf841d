//! The pure heart of wavecrew. Decides and never acts: no disk, clock, environment, processes or threads
//! (enforced by `clippy.toml` beside this crate and by its short dependency list).

pub mod budget;
pub mod check_report;
pub mod claim;
pub mod encoding;
pub mod engine;
pub mod event;
pub mod id;
pub mod issue;
pub mod plan;
pub mod pool;
pub mod prompt;
pub mod sanitise;
pub mod sheet;
pub mod state_folder;
pub mod team;
pub mod time;
pub mod view;
mod words;
pub mod worker_variables;
