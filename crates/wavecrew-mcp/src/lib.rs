//! wavecrew over the Model Context Protocol, on stdin and stdout: `worker` serves the tools of one worker, `server` those of
//! any client, `job` is the process that runs a client's table.
//!
//! Owns the names, arguments and answers of the tools.

mod agents;
mod answer;
mod input;
pub mod job;
mod limits;
mod paths;
mod schema;
pub mod server;
pub mod worker;

use rmcp::model::{ServerCapabilities, ServerConfig};
use rmcp::{ServerHandler, ServiceExt};
use std::io;

/// A server without tools, for agents that wavecrew started: they must not start others.
pub fn serve_nothing() -> io::Result<()> {
    serve(Nothing)
}

struct Nothing;

impl ServerHandler for Nothing {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(answer::implementation())
    }
}

/// Serves until the client goes away.
fn serve(server: impl ServerHandler) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        // The client left before it initialised.
        let (input, output) = rmcp::transport::stdio();
        let Ok(running) = server.serve((input::bounded(input), output)).await else {
            return Ok(());
        };
        running.waiting().await.map(drop).map_err(io::Error::other)
    })?;
    // A pending read of stdin must not delay the end.
    runtime.shutdown_background();
    Ok(())
}
