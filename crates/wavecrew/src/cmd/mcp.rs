//! `mcp`: the tools of a worker over the Model Context Protocol, on stdin and stdout.

use crate::exit::{Exit, Failure};
use wavecrew_run::worker_side::{Identity, Refused, WorkerSide};

/// Serve tools over the Model Context Protocol (stdin and stdout)
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Serve the worker whose environment this is
    #[arg(long, required = true)]
    worker: bool,
}

impl Args {
    pub fn run(&self) -> Result<Exit, Failure> {
        let worker = Identity::from_env().and_then(WorkerSide::open).map_err(refused)?;
        wavecrew_mcp::worker::serve(worker)?;
        Ok(Exit::Done)
    }
}

fn refused(error: Refused) -> Failure {
    Failure::with_help(error.to_string(), error.help())
}
