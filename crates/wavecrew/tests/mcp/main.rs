//! The MCP servers through the program, spoken to in plain JSON-RPC lines.

mod rpc;
mod worker;
