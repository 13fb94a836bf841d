//! `wavecrew wisdom`: a worker writes down what matters beyond its task.

use crate::cli::Global;
use crate::exit::{Exit, Failure};
use crate::worker::Worker;
use serde_json::json;
use std::io::{Write, stdout};
use wavecrew_core::plan::did_you_mean;
use wavecrew_store::WisdomFile;

/// For workers: add a line to learnings, decisions, conventions or issues
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  wavecrew wisdom conventions 'tests live beside the code they test'")]
pub struct Args {
    /// learnings, decisions, conventions or issues
    #[arg(value_name = "FILE")]
    file: String,
    /// What is to be remembered
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
        let worker = Worker::from_env()?;
        let names = || WisdomFile::ALL.into_iter().map(WisdomFile::name);
        let file = WisdomFile::parse(&self.file).ok_or_else(|| {
            let all: Vec<&str> = names().collect();
            let help =
                did_you_mean(&self.file, names()).unwrap_or_else(|| format!("there are: {}", all.join(", ")));
            Failure::with_help(format!("there is no wisdom file `{}`", self.file), help)
        })?;
        let text = self.text.join(" ");
        if text.trim().is_empty() {
            return Err(Failure::input("there is nothing to write down"));
        }
        worker.session.wisdom().append(file, worker.name(), &text)?;
        if global.json {
            writeln!(stdout(), "{}", json!({"accepted": true}))?;
        } else {
            writeln!(stdout(), "noted")?;
        }
        Ok(Exit::Done)
    }
}
