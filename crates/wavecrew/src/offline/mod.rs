//! The agent that needs no model: this program, started as a worker like any other, plays the roles of team Testing. It
//! knows what is in the session's files and nothing else; what it claims is checked like any claim.

mod analyst;
mod facts;
mod generator;
mod strategist;

use facts::Facts;
use serde_json::{Value, json};
use std::process::ExitCode;

/// The first word of a process that is such a worker.
pub use wavecrew_run::agent_name::OFFLINE_WORKER as WORKER;

/// What a role comes to.
struct Done {
    findings: String,
    /// Values of output columns.
    columns: Value,
}

impl Done {
    fn with(findings: String) -> Self {
        Self {
            findings,
            columns: json!({}),
        }
    }
}

/// Does the task that the environment names, and reports on stdout.
pub fn worker_main() -> ExitCode {
    let task = std::env::var("WAVECREW_TASK").unwrap_or_default();
    let report = match work() {
        Ok(Done { findings, columns }) => {
            let mut report = json!({ "id": task, "status": "completed", "findings": findings });
            if let (Some(report), Value::Object(columns)) = (report.as_object_mut(), columns) {
                report.extend(columns);
            }
            report
        }
        Err(error) => json!({ "id": task, "status": "failed", "error": error }),
    };
    println!("{report}");
    ExitCode::SUCCESS
}

fn work() -> Result<Done, String> {
    let facts = Facts::gather()?;
    match facts.role.as_str() {
        "strategist" => strategist::work(&facts),
        "generator" => generator::work(&facts),
        "executor" => Ok(executor(&facts)),
        "analyst" => analyst::work(&facts),
        other => Err(format!(
            "the offline agent plays the roles of team testing, and `{other}` is none of them; choose another agent with \
             --role-agent {other}=NAME"
        )),
    }
}

/// The tests were written from what the code does, and are measured by the coordinator: a test that fails is taken out
/// by its next round, not bent here.
fn executor(facts: &Facts) -> Done {
    let layer = &facts.layer;
    Done::with(match facts.result() {
        Some(result) => format!(
            "Layer {layer}: {} of {} tests pass as delivered, {} are kept. The offline agent repairs nothing by hand: \
             what fails or is missing goes to the next round of the generator.",
            result.delivered.passed, result.delivered.tests, result.accepted.tests
        ),
        None => format!("Layer {layer}: nothing was measured yet."),
    })
}
