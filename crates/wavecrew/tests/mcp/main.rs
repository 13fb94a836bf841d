//! The MCP servers through the program, spoken to in plain JSON-RPC lines, and by a client of another make.

mod jobs;
mod python;
mod refusals;
mod rpc;
mod worker;
