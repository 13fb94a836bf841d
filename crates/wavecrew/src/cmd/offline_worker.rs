//! The built-in agent's process: reads its task from the environment and prints its report.

use serde_json::{Map, Value};
use std::env;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use wavecrew_core::worker_variables;
use wavecrew_run::worker_commands::{Identity, WorkerCommands};
use wavecrew_testing::offline_agent::{RoleTask, report};

/// The first argument of such a process.
pub use wavecrew_run::agent_name::OFFLINE_WORKER as NAME;

pub fn worker_main() -> ExitCode {
    let id = variable(worker_variables::TASK);
    println!("{}", report(&id, task(&id)));
    ExitCode::SUCCESS
}

fn task(id: &str) -> Result<RoleTask, String> {
    let copy = env::current_dir().map_err(|error| format!("there is no working folder: {error}"))?;
    let identity = Identity::from_env().map_err(|error| error.to_string())?;
    let side = WorkerCommands::open(identity).map_err(|error| error.to_string())?;
    // The board is for others, so a refused entry does not stop the task.
    let discover = move |kind: &str, fields: Map<String, Value>| drop(side.discover(kind, fields));
    let session = PathBuf::from(variable(worker_variables::SESSION_DIR));
    let role = variable(worker_variables::ROLE);
    RoleTask::load(session, copy, id, role, deadline(), Box::new(discover))
}

/// When the time limit of the task ends this process.
fn deadline() -> Option<Instant> {
    let at = Duration::from_secs(variable(worker_variables::DEADLINE).parse().ok()?);
    let left = (UNIX_EPOCH + at)
        .duration_since(SystemTime::now())
        .unwrap_or_default();
    Instant::now().checked_add(left)
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}
