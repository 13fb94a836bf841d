//! Files the issues of a run that begins, and closes those whose work is merged. Closing uses only the
//! ledger, so that continuing an interrupted run closes the remaining issues.

use crate::clock;
use crate::exit::Failure;
use crate::issues::NewIssues;
use crate::target::Target;
use std::path::Path;
use wavecrew_core::engine::{Ledger, WorktreeState};
use wavecrew_core::event::Status;
use wavecrew_core::id::TaskIx;
use wavecrew_core::issue::IssueStatus;
use wavecrew_core::plan::{Plan, seal};
use wavecrew_core::sheet::SheetBuilder;
use wavecrew_core::team::{Expansion, Team};
use wavecrew_core::view::short_commit;
use wavecrew_session::IssueStore;

/// Adds new issues to the store. If another process used an id first, the table gets the new id.
pub fn file(project: &Path, target: &mut Target) -> Result<(), Failure> {
    let store = IssueStore::new(project);
    match std::mem::take(&mut target.new_issues) {
        NewIssues::None => Ok(()),
        NewIssues::Given(issues) => Ok(store.import(&issues)?),
        NewIssues::Promised(promised) => {
            let ids: Vec<String> = promised.iter().map(|issue| issue.id.clone()).collect();
            let filed = store.add_with_ids(promised, &clock::moment())?;
            let renamed: Vec<(&str, &str)> = ids
                .iter()
                .zip(&filed)
                .map(|(old, issue)| (old.as_str(), issue.id.as_str()))
                .filter(|(old, new)| old != new)
                .collect();
            if !renamed.is_empty() {
                target.plan = rename(&target.plan, &target.team, &renamed)?;
            }
            Ok(())
        }
    }
}

/// The table with replaced ids of issues, in all places.
fn rename(plan: &Plan, team: &Team, ids: &[(&str, &str)]) -> Result<Plan, Failure> {
    let with_new_ids = |cell: &str| {
        // In two steps: a new id may be the old one of another.
        let mark = |n: usize| format!("\u{0}{n}\u{0}");
        let marked = ids
            .iter()
            .enumerate()
            .fold(cell.to_owned(), |text, (n, (old, _))| text.replace(old, &mark(n)));
        ids.iter()
            .enumerate()
            .fold(marked, |text, (n, (_, new))| text.replace(&mark(n), new))
    };
    let sheet = plan.sheet();
    let mut renamed = SheetBuilder::new(sheet.header().to_vec());
    for (line, task) in (2..).zip(plan.tasks()) {
        let cells: Vec<String> = sheet.row(task.index()).map(with_new_ids).collect();
        renamed.row(line, cells.iter().map(String::as_str));
    }
    let (plan, _) = seal(renamed.finish(), team).map_err(|problems| {
        let problems: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
        Failure::input(problems.join("; "))
    })?;
    Ok(plan)
}

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
    match state.worktree.as_deref().map(|worktree| &worktree.state) {
        Some(WorktreeState::Merged { commit: Some(commit) }) => {
            Some(format!("merged in {}", short_commit(commit)))
        }
        Some(WorktreeState::Merged { commit: None } | WorktreeState::Open | WorktreeState::Refused) => None,
        // Without worktrees, all workers worked in the project itself.
        None => Some("done".to_owned()),
    }
}
