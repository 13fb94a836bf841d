//! `mcp`: the tools of a worker over the Model Context Protocol, on stdin and stdout.

use crate::exit::{Exit, Failure};
use wavecrew_run::worker_side::{Identity, WorkerSide};

/// Serve tools over the Model Context Protocol (stdin and stdout)
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Serve the worker whose environment this is
    #[arg(long, required = true)]
    worker: bool,
}

impl Args {
    pub fn run(&self) -> Result<Exit, Failure> {
        let worker = WorkerSide::open(Identity::from_env()?)?;
        wavecrew_mcp::worker::serve(worker)?;
        Ok(Exit::Done)
    }
}
