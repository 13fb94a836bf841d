//! `interactive/{id}-result.json`: the results of interactive tasks.

use std::fs;
use wavecrew_core::engine::{Ledger, TaskProgress};
use wavecrew_core::event::Status;
use wavecrew_core::id::{ExecMode, TaskIx};
use wavecrew_core::time::Timestamp;
use wavecrew_session::{SessionDir, SessionError, atomic};

pub(crate) fn write(dir: &SessionDir, ledger: &Ledger, task: TaskIx) -> Result<(), SessionError> {
    let path = dir.interactive_result(ledger.plan().id(task));
    atomic::write(&path, &content(ledger, task))
}

/// Writes results whose files are missing or old because a run was killed after it wrote the journal.
pub(super) fn write_missing(dir: &SessionDir, ledger: &Ledger) -> Result<(), SessionError> {
    let plan = ledger.plan();
    for task in plan.tasks() {
        let state = ledger.task(task);
        // Without a stop reason, the result is not of one of our workers.
        let is_ours = state.progress == TaskProgress::Done && state.stop.is_some();
        if plan.mode(task) != ExecMode::Interactive || !is_ours || state.result.status == Status::Skipped {
            continue;
        }
        let on_disk = fs::read(dir.interactive_result(plan.id(task))).unwrap_or_default();
        if on_disk != content(ledger, task) {
            write(dir, ledger, task)?;
        }
    }
    Ok(())
}

fn content(ledger: &Ledger, task: TaskIx) -> Vec<u8> {
    let (id, state) = (ledger.plan().id(task), ledger.task(task));
    let mut result = serde_json::json!({
        "task_id": id,
        "status": state.result.status,
        "findings": state.result.findings,
        "error": state.result.error,
        "verified": state.result.verdict,
        "timestamp": state.ended.unwrap_or(Timestamp(0)).to_string(),
    });
    // Facts first: a column of the team overrides a fact of the same name.
    for (name, value) in state.result.facts.iter().chain(&state.result.outputs) {
        result[name] = value.as_str().into();
    }
    let mut text = serde_json::to_vec_pretty(&result).expect("plain data");
    text.push(b'\n');
    text
}
