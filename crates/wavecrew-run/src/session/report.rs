//! Sections of the session's report that come from its files: deliverables, what changed, suspected defects, commits, the trace. Never
//! writes.

use crate::checks::claims::delivered;
use crate::table::expansion::matching_files;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use wavecrew_core::claim::{PlannedTask, Trace};
use wavecrew_core::engine::{Ledger, WorktreeState};
use wavecrew_core::event::{Status, Verdict};
use wavecrew_core::sanitise::sanitise;
use wavecrew_core::team::{Content, Expansion, Team};
use wavecrew_core::view::{one_line, short_commit, spending_table};
use wavecrew_session::{SessionDir, SessionPaths};

/// The kind of discovery that has a section of its own.
const DEFECT: &str = "defect_found";

/// A file that a completed task delivered.
pub struct Deliverable<'a> {
    pub task: &'a str,
    /// From the session folder.
    pub path: String,
}

/// The owed files of completed tasks, each once: with the last task that owed it.
pub fn deliverables<'a>(session: &Path, ledger: &'a Ledger) -> Vec<Deliverable<'a>> {
    let plan = ledger.plan();
    let mut all: Vec<Deliverable<'a>> = Vec::new();
    for task in plan
        .tasks()
        .filter(|task| ledger.status(*task) == Status::Completed)
    {
        for path in delivered(session, &ledger.team, plan, task) {
            all.retain(|known| known.path != path);
            let task = plan.id(task);
            all.push(Deliverable { task, path });
        }
    }
    all
}

/// The sections as Markdown.
pub fn sections(dir: &SessionDir, ledger: &Ledger) -> String {
    let session = dir.path();
    let mut text = String::new();
    let deliverables = deliverables(session, ledger);
    if !deliverables.is_empty() {
        text.push_str("\n## Deliverables\n\n| File | Task |\n| --- | --- |\n");
        for Deliverable { task, path } in &deliverables {
            let _ = writeln!(text, "| `{path}` | {task} |");
        }
    }
    text += &what_changed(dir);
    text += &defects(dir, ledger);
    text += &commits(ledger);
    if let Some(trace) = trace(session, &ledger.team) {
        text += &trace.markdown();
    }
    text + &spending_table(ledger)
}

/// The behaviour diff of the change under test, as the comparison wrote it.
fn what_changed(dir: &SessionDir) -> String {
    match fs::read(SessionPaths::at(dir.path()).what_changed()) {
        Ok(bytes) => format!("\n## What changed\n\n{}", sanitise(&bytes)),
        Err(_) => String::new(),
    }
}

/// Suspected defects on the board, the latest entry for each place, without those of tasks with contradicted claims.
fn defects(dir: &SessionDir, ledger: &Ledger) -> String {
    let (Some(_), Ok(found)) = (ledger.team.discovery(DEFECT), dir.board().read()) else {
        return String::new();
    };
    let mut rows = String::new();
    for entry in found.dedup(&ledger.team.discoveries).entries {
        if entry.kind != DEFECT || ledger.verdict_of(&entry.worker) == Some(Verdict::Contradicted) {
            continue;
        }
        let cell = |name: &str| {
            let value = &entry.data[name];
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            one_line(&text).replace('|', "\\|")
        };
        let _ = writeln!(
            rows,
            "| `{}:{}` | {} | {} |",
            cell("file"),
            cell("line"),
            cell("pattern"),
            cell("description")
        );
    }
    if rows.is_empty() {
        return rows;
    }
    format!("\n## Suspected defects\n\n| Place | Pattern | What |\n| --- | --- | --- |\n{rows}")
}

/// Work that was merged, and work that could not be.
fn commits(ledger: &Ledger) -> String {
    let plan = ledger.plan();
    let rows = plan.tasks().filter_map(|task| {
        let worktree = ledger.task(task).worktree.as_deref()?;
        let commit = match &worktree.state {
            WorktreeState::Merged { commit: Some(commit) } => {
                format!("`{}`", short_commit(commit))
            }
            WorktreeState::Merged { commit: None } => "nothing to merge".to_owned(),
            WorktreeState::Open | WorktreeState::Refused => {
                format!("not merged, on branch `{}`", worktree.worktree.branch)
            }
        };
        Some(format!("| {} | {commit} |\n", plan.id(task)))
    });
    let rows: String = rows.collect();
    if rows.is_empty() {
        return rows;
    }
    format!("\n## Commits\n\n| Task | Commit |\n| --- | --- |\n{rows}")
}

/// The ways from requirements to tasks, in a team that writes such documents.
fn trace(session: &Path, team: &Team) -> Option<Trace> {
    let owed = |wanted: fn(&Content) -> bool| {
        let all = team.roles.iter().flat_map(|role| &role.owes);
        let path = all
            .filter(|owed| wanted(&owed.content))
            .map(|owed| &owed.path)
            .next()?;
        fs::read_to_string(session.join(path)).ok()
    };
    let requirements = owed(|content| matches!(content, Content::Requirements { .. }))?;
    let epics = owed(|content| matches!(content, Content::Epics { .. })).unwrap_or_default();
    let tasks = team.expansion.iter().find_map(|expansion| match expansion {
        Expansion::PerPlanTask { plan_tasks, .. } => Some(matching_files(session, plan_tasks)),
        Expansion::PerIssue { .. } => None,
    });
    let tasks = tasks.unwrap_or_default();
    let planned: Vec<PlannedTask<'_>> = tasks
        .iter()
        .map(|(name, text)| {
            let file = name.rsplit('/').next().unwrap_or(name);
            let id = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
            PlannedTask { id, text }
        })
        .collect();
    Trace::of(&requirements, &epics, &planned)
}
