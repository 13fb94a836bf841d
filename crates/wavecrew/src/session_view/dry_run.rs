//! Prints what `--continue` would do.

use crate::exit::Failure;
use crate::global::Global;
use crate::json;
use serde_json::json;
use std::io::{Write, stdout};
use wavecrew_core::engine::{Ledger, StaleResult};
use wavecrew_core::event::Status;
use wavecrew_core::id::TaskIx;
use wavecrew_core::view::{count, one_line};

/// Prints what would run again and why, and what is left to do anyway.
pub fn print_dry_run(ledger: &Ledger, stale: &[StaleResult], global: &Global) -> Result<(), Failure> {
    let plan = ledger.plan();
    let pending = |task: &TaskIx| ledger.status(*task) == Status::Pending;
    let left: Vec<&str> = plan.tasks().filter(pending).map(|task| plan.id(task)).collect();
    let mut out = stdout().lock();
    if global.json {
        let again: Vec<_> = stale
            .iter()
            .map(|stale| json!({"id": plan.id(stale.task), "why": stale.why}))
            .collect();
        json::print(json!({"run_again": again, "pending": left}))?;
        return Ok(());
    }
    for stale in stale {
        writeln!(
            out,
            "{} runs again: {}",
            plan.id(stale.task),
            one_line(&stale.why)
        )?;
    }
    let kept = ledger.counts().completed.saturating_sub(
        stale
            .iter()
            .filter(|stale| ledger.status(stale.task) == Status::Completed)
            .count(),
    );
    writeln!(
        out,
        "{} to run again, {} left to do, {} kept",
        count(stale.len(), "task"),
        left.len(),
        count(kept, "result")
    )?;
    Ok(())
}
