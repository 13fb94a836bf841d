//! `wavecrew ask`: a worker puts a question to the person behind the run, and waits for the answer.

use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::json;
use serde_json::json;
use wavecrew_run::worker_commands::{Identity, WorkerCommands};

/// For workers: ask the person behind the run, and wait for the answer
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Prints the answer. If nobody can be asked, or nobody answers within two minutes, decide yourself\nand state the decision in your findings.\n\nExamples:\n  wavecrew ask 'Which database is this for?' --option sqlite --option postgres"
)]
pub struct Args {
    /// What you want to know
    #[arg(value_name = "QUESTION")]
    question: String,
    /// Suggested answer; may be repeated
    #[arg(long = "option", value_name = "TEXT")]
    options: Vec<String>,
}

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let worker = WorkerCommands::open(Identity::from_env()?)?;
        let answer = worker.ask(&self.question, self.options.clone())?.wait()?;
        json::answer(global, json!({"answer": answer}), &answer)
    }
}
