//! Closes issues whose work is merged. Looks at the ledger alone, so that a run which was cut off is caught up with when
//! it is continued.

use crate::clock;
use crate::exit::Failure;
use std::path::Path;
use wavecrew_core::engine::{Ledger, TreeState};
use wavecrew_core::event::Status;
use wavecrew_core::id::TaskIx;
use wavecrew_core::issue::IssueStatus;
use wavecrew_core::team::Expansion;
use wavecrew_store::IssueStore;

/// Closes the open issues of implementing tasks that are completed and merged.
pub fn close_merged(project: &Path, ledger: &Ledger) -> Result<(), Failure> {
    for expansion in &ledger.team.expansion {
        let Expansion::PerIssue {
            issue_column, chain, ..
        } = expansion
        else {
            continue;
        };
        let store = IssueStore::new(project);
        let known = store.read()?;
        let plan = ledger.plan();
        let of_chain = |task: &TaskIx| {
            plan.id(*task)
                .strip_prefix(chain.as_str())
                .is_some_and(|rest| rest.starts_with('-'))
        };
        for task in plan.tasks().filter(of_chain) {
            let Some(why) = why_closed(ledger, task) else {
                continue;
            };
            for id in plan.cell(task, issue_column).split(';').map(str::trim) {
                if known
                    .find(id)
                    .is_some_and(|issue| issue.status == IssueStatus::Open)
                {
                    store.close(id, Some(&why), &clock::moment())?;
                }
            }
        }
    }
    Ok(())
}

fn why_closed(ledger: &Ledger, task: TaskIx) -> Option<String> {
    let state = ledger.task(task);
    if state.result.status != Status::Completed {
        return None;
    }
    match state.tree.as_deref().map(|tree| &tree.state) {
        Some(TreeState::Merged { commit: Some(commit) }) => Some(format!(
            "merged in {}",
            commit.chars().take(10).collect::<String>()
        )),
        Some(TreeState::Merged { commit: None } | TreeState::Open | TreeState::Refused) => None,
        // Everybody worked in the project itself.
        None => Some("done".to_owned()),
    }
}
