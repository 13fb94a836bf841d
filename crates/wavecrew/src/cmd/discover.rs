//! `wavecrew discover`: a worker adds an entry to the board, for other workers now and later.

use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::json;
use crate::show;
use serde_json::{Map, Value, json};
use wavecrew_run::worker_commands::{Identity, WorkerCommands};

/// For workers: share a discovery with the other workers
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  wavecrew discover finding '{\"subject\": \"config\", \"description\": \"read from two places\"}'"
)]
pub struct Args {
    /// One of the team's types (`wavecrew teams NAME` lists them)
    #[arg(value_name = "TYPE")]
    kind: String,
    /// Its fields, as a JSON object
    #[arg(value_name = "JSON")]
    fields: String,
}

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let worker = WorkerCommands::open(Identity::from_env()?)?;
        let unusual = worker.discover(&self.kind, self.data()?)?;
        for remark in unusual.iter().filter(|_| !global.quiet) {
            show::warning(remark, None);
        }
        json::answer(global, json!({"accepted": true}), "noted")
    }

    fn data(&self) -> Result<Map<String, Value>, Failure> {
        let help = "write it as one argument: '{\"field\": \"value\"}'";
        match serde_json::from_str(&self.fields) {
            Ok(Value::Object(data)) => Ok(data),
            Ok(_) => Err(Failure::with_help("the discovery is not a JSON object", help)),
            Err(error) => Err(Failure::with_help(
                format!("the discovery is not a JSON object: {error}"),
                help,
            )),
        }
    }
}
