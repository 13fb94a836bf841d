//! `wavecrew report`: a worker reports its result.

use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::json;
use serde_json::json;
use std::io::{Read, stdin};
use wavecrew_core::engine::MAX_REPORT_BYTES;
use wavecrew_run::worker_commands::{Identity, Refused, WorkerCommands};

/// For workers: report the result of the task, once
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  wavecrew report '{\"id\": \"BUILD-1\", \"status\": \"completed\", \"findings\": \"...\"}'\n  \
    wavecrew report - < report.json"
)]
pub struct Args {
    /// The report as a JSON object, or `-` to read it from standard input
    #[arg(value_name = "JSON")]
    body: String,
}

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let worker = WorkerCommands::open(Identity::from_env()?)?;
        match worker.report(&self.text()?) {
            Ok(()) => json::answer(global, json!({"accepted": true}), "accepted"),
            Err(Refused::BadRequest { message, help }) => refused(global, &message, help),
            Err(refused @ Refused::Session(_)) => Err(refused.into()),
        }
    }

    fn text(&self) -> Result<String, Failure> {
        if self.body != "-" {
            return Ok(self.body.clone());
        }
        let mut body = Vec::new();
        // One byte more than is allowed, so that a report that is too long is detected.
        let most = MAX_REPORT_BYTES as u64 + 1;
        let read = stdin().lock().take(most).read_to_end(&mut body);
        read.map_err(|error| Failure::input(format!("standard input cannot be read: {error}")))?;
        String::from_utf8(body).map_err(|_| Failure::input("the report is not UTF-8"))
    }
}

fn refused(global: &Global, reason: &str, help: String) -> Result<Exit, Failure> {
    if global.json {
        json::print(json!({"accepted": false, "reason": reason}))?;
        return Ok(Exit::TasksFailed);
    }
    Err(Failure::NotDone {
        message: format!("refused: {reason}"),
        help,
    })
}
