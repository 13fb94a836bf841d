//! The MCP servers of the program, through plain JSON-RPC lines and through other clients.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail like tests do")]
#![allow(clippy::needless_pass_by_value, reason = "`json!` is written at the call")]

mod agents;
mod checks;
mod endings;
mod install;
mod interactive_agents;
pub mod jobs;
mod limits;
mod other_clients;
mod refusals;
pub mod rpc;
mod teams;
mod worker;
