//! Completes the build records with their commits, once these are merged.

use serde_json::Value;
use std::fs;
use wavecrew_core::claim::owed_paths;
use wavecrew_core::engine::{Ledger, WorktreeState};
use wavecrew_session::{SessionDir, SessionError, atomic};

/// Adds the commit of each merged task to its record. Uses only the ledger, so that continuing an interrupted
/// run completes the missing records.
pub fn record_commits(dir: &SessionDir, ledger: &Ledger) -> Result<(), SessionError> {
    let plan = ledger.plan();
    for task in plan.tasks() {
        let merged = match ledger
            .task(task)
            .worktree
            .as_deref()
            .map(|worktree| &worktree.state)
        {
            Some(WorktreeState::Merged { commit: Some(commit) }) => commit,
            Some(WorktreeState::Merged { commit: None } | WorktreeState::Open | WorktreeState::Refused)
            | None => {
                continue;
            }
        };
        for debt in owed_paths(&ledger.team, plan, task).by_engine {
            let file = dir.path().join(debt.pattern.as_str());
            let record = fs::read(&file)
                .ok()
                .and_then(|text| serde_json::from_slice(&text).ok());
            let Some(Value::Object(mut record)) = record.filter(|_| debt.pattern.is_literal()) else {
                continue;
            };
            record.insert("commit".to_owned(), merged.as_str().into());
            record.insert("merged".to_owned(), true.into());
            let text = serde_json::to_vec_pretty(&record).expect("plain data");
            atomic::write(&file, &text)?;
        }
    }
    Ok(())
}
