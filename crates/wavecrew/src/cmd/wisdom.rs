//! `wavecrew wisdom`: a worker records a lesson for later workers.

use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::json;
use serde_json::json;
use wavecrew_run::worker_commands::{Identity, WorkerCommands};

/// For workers: add a line to learnings, decisions, conventions or issues
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  wavecrew wisdom conventions 'tests live beside the code they test'")]
pub struct Args {
    /// learnings, decisions, conventions or issues
    #[arg(value_name = "FILE")]
    file: String,
    /// Lesson for later workers
    #[arg(
        value_name = "TEXT",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    text: Vec<String>,
}

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let worker = WorkerCommands::open(Identity::from_env()?)?;
        worker.wisdom(&self.file, &self.text.join(" "))?;
        json::answer(global, json!({"accepted": true}), "noted")
    }
}
