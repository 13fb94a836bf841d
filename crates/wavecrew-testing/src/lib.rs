//! Team Testing: the files in scope, the snapshot of the project, the checks of its roles' claims, the selection of tests,
//! their quality, applying them, and the roles of the offline agent. Works on a session folder and a project. Starts no
//! agent and makes no decision about waves. Also checks code changes ([`code_check`]), because they run in the same check
//! process and need the same measurements.

pub mod apply;
pub mod baseline;
pub mod check;
pub mod code_check;
pub mod coverage_figures;
mod effectiveness;
pub mod environment;
pub mod feedback;
pub mod finish;
mod ineffective;
pub mod layer;
mod mutant_runs;
mod mutation;
pub mod offline_agent;
pub mod prepare;
pub mod progress;
pub mod quality;
pub mod result;
pub mod rounds;
pub mod scope;
mod sealed;
pub mod select;
pub mod setup;
pub mod snapshot;
pub mod summary;
pub mod targets;
mod test_removal;
mod what_changed;
