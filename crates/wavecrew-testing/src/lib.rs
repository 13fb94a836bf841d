//! Team Testing: which code is in scope, the copy of the project in which it is tested, how claims of its roles are checked,
//! how good the tests are, how they get into the project, and the roles of the built-in agent. Works on a session folder and
//! a project; starts no agent and decides nothing about waves. Also checks code changes ([`code_check`]), which run in the
//! same check process and need the same measurements.

pub mod apply;
pub mod baseline;
pub mod check;
pub mod code_check;
pub mod coverage_figures;
pub mod environment;
pub mod feedback;
pub mod finish;
pub mod layer;
mod mutant_runs;
mod mutation;
pub mod offline_agent;
pub mod prepare;
pub mod quality;
pub mod result;
pub mod rounds;
pub mod scope;
pub mod select;
pub mod setup;
pub mod snapshot;
pub mod targets;
mod test_removal;
