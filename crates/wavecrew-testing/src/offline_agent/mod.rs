//! The offline agent: this program, started as a worker, performs the roles of team testing without a model.
//! It reads only the session's files, and its claims are checked like those of any agent.

mod analyst;
pub(crate) mod finished_modules;
mod generator;
mod strategist;
mod task;

use serde_json::{Value, json};

pub use task::{Discover, RoleTask};

/// The roles of the offline agent.
pub const ROLES: [&str; 4] = ["strategist", "generator", "executor", "analyst"];

/// What a role reports.
struct RoleResult {
    findings: String,
    /// Values of output columns.
    columns: Value,
}

impl RoleResult {
    fn with(findings: String) -> Self {
        Self {
            findings,
            columns: json!({}),
        }
    }
}

/// Performs a task and returns its report.
pub fn report(id: &str, task: Result<RoleTask, String>) -> Value {
    match task.and_then(|task| perform_role(&task)) {
        Ok(RoleResult { findings, columns }) => {
            let mut report = json!({ "id": id, "status": "completed", "findings": findings });
            if let (Some(report), Value::Object(columns)) = (report.as_object_mut(), columns) {
                report.extend(columns);
            }
            report
        }
        Err(error) => json!({ "id": id, "status": "failed", "error": error }),
    }
}

fn perform_role(task: &RoleTask) -> Result<RoleResult, String> {
    match task.role.as_str() {
        "strategist" => strategist::work(task),
        "generator" => generator::work(task),
        "executor" => Ok(executor(task)),
        "analyst" => analyst::work(task),
        other => Err(format!(
            "the offline agent does the roles of team testing, and `{other}` is not one of them; choose another agent \
             with --role-agent {other}=NAME"
        )),
    }
}

/// The tests record what the code does, and the run measures them: a failing test is replaced in the generator's next
/// round, not adjusted here.
fn executor(task: &RoleTask) -> RoleResult {
    let layer = &task.layer;
    RoleResult::with(match task.result() {
        Some(result) => format!(
            "Layer {layer}: {} of {} tests pass as delivered, {} are kept. Failing and missing tests go to the generator's \
             next round.",
            result.delivered.passed, result.delivered.tests, result.kept.tests
        ),
        None => format!("Layer {layer}: nothing is measured yet."),
    })
}
