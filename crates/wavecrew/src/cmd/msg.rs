//! `wavecrew msg`: a worker sends a message to the coordinator, or sets state that its role owns.

use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::json;
use serde_json::{Value, json};
use wavecrew_run::worker_commands::{Identity, WorkerCommands};

/// For workers: send a message to the coordinator, or set shared state
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  wavecrew msg --type tests_generated --summary '12 tests in 3 files'\n  \
    wavecrew msg --type state_update --data '{\"test_strategy\": {\"layers\": [\"L1\"]}}'"
)]
pub struct Args {
    /// Message type of your role, or `state_update`
    #[arg(long = "type", value_name = "TYPE")]
    kind: String,
    /// Recipient; only the coordinator is allowed
    #[arg(long, value_name = "NAME", default_value = "coordinator")]
    to: String,
    /// The message, in one line
    #[arg(long, value_name = "TEXT", default_value = "")]
    summary: String,
    /// Details as JSON; for `state_update`, an object with the fields to set
    #[arg(long, value_name = "JSON")]
    data: Option<String>,
}

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let worker = WorkerCommands::open(Identity::from_env()?)?;
        let data = match &self.data {
            None => Value::Null,
            Some(text) => serde_json::from_str(text).map_err(|error| {
                Failure::with_help(
                    format!("--data is not JSON: {error}"),
                    "write it as one argument: '{\"field\": \"value\"}'",
                )
            })?,
        };
        worker.message(&self.kind, &self.summary, data, Some(&self.to))?;
        json::answer(global, json!({"accepted": true}), "sent")
    }
}
