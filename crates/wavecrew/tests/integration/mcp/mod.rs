//! The MCP servers through the program, spoken to in plain JSON-RPC lines, and by a client of another make.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail like tests do")]
#![allow(clippy::needless_pass_by_value, reason = "`json!` is written at the call")]

mod agents;
mod checks;
mod endings;
mod install;
mod jobs;
mod limits;
mod makes;
mod refusals;
pub mod rpc;
mod spoken;
mod teams;
mod worker;
