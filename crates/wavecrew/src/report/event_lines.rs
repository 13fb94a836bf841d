//! Events and notices as lines for people. Text of workers comes out without control characters.

use crate::hint;
use std::fmt::Write as _;
use wavecrew_core::engine::{Ledger, Notice};
use wavecrew_core::event::{Event, PolicyDecision, PolicyOutcome, Status};
use wavecrew_core::sheet::Patch;
use wavecrew_core::time::human;
use wavecrew_core::view::{
    count, edits_after_report, one_line, refusals, short_commit, task_line, wait_line,
};

/// How much a line matters, least first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Weight {
    Detail,
    Progress,
    Milestone,
    Trouble,
}

/// `Wave 1 done: 3 completed, 1 failed, 0 skipped`, and what a loop sends back.
fn wave_done(ledger: &Ledger, wave: u32) -> String {
    let counts = ledger.wave_counts(wave);
    let mut line = format!(
        "Wave {wave} done: {} completed, {} failed, {} skipped",
        counts.completed, counts.failed, counts.skipped
    );
    if counts.pending > 0 {
        let _ = write!(line, ", {} to run again", counts.pending);
    }
    line
}

/// The line of an event about a worktree.
fn in_worktree(event: &Event) -> Option<(Weight, String)> {
    Some(match event {
        Event::WorktreeMade { task, worktree } => (
            Weight::Detail,
            format!("{task} works on branch {}", one_line(&worktree.branch)),
        ),
        Event::WorktreeMerged { task, commit: None } => (Weight::Detail, format!("{task} changed nothing")),
        Event::WorktreeMerged {
            task,
            commit: Some(commit),
        } => {
            let text = format!("{task} is merged, up to {}", short_commit(commit));
            (Weight::Milestone, text)
        }
        Event::MergeFailed { task, error, .. } => {
            (Weight::Trouble, format!("{task} failed: {}", one_line(error)))
        }
        _ => return None,
    })
}

fn edited_after_report(task: &str, ledger: &Ledger) -> Option<(Weight, String)> {
    let state = ledger.task(ledger.plan().find(task)?);
    let files = edits_after_report(state)?;
    Some((
        Weight::Trouble,
        format!("{task} changed {files} after its report"),
    ))
}

fn refused(task: &str, ledger: &Ledger) -> Option<(Weight, String)> {
    let refused = refusals(ledger.task(ledger.plan().find(task)?))?;
    Some((
        Weight::Trouble,
        format!("{task}: the sandbox refused to {refused}"),
    ))
}

fn decided(decision: &PolicyDecision) -> (Weight, String) {
    let weight = match decision.outcome {
        PolicyOutcome::Pass | PolicyOutcome::Approved | PolicyOutcome::Overridden | PolicyOutcome::Revise => {
            Weight::Detail
        }
        PolicyOutcome::Warn | PolicyOutcome::Accepted | PolicyOutcome::Failed | PolicyOutcome::Stop => {
            Weight::Trouble
        }
    };
    let (task, outcome) = (&decision.task, decision.outcome.as_str());
    let by = decision.decided_by.map(|by| format!(" by {}", by.as_str()));
    let by = by.unwrap_or_default();
    (
        weight,
        format!("{task}: {outcome}{by}: {}", one_line(&decision.why)),
    )
}

/// What a person did, and where.
fn acted(action: &str, task: Option<&str>, via: &str) -> (Weight, String) {
    let about = task.map(|task| format!(" {task}")).unwrap_or_default();
    let line = one_line(&format!("{action}{about} (from the {via})"));
    (Weight::Milestone, line)
}

/// The line of an event that people should see.
pub fn event(event: &Event, ledger: &Ledger) -> Option<(Weight, String)> {
    let line = |id: &str| ledger.plan().find(id).map(|task| task_line(ledger, task));
    Some(match event {
        Event::Finished { task, result, .. } => {
            let weight = if result.status == Status::Failed {
                Weight::Trouble
            } else {
                Weight::Progress
            };
            (weight, line(task)?)
        }
        Event::Skipped { task, .. } => (Weight::Progress, line(task)?),
        Event::AttemptStarted { task, attempt, .. } => {
            let mut line = line(task)?;
            if *attempt > 1 {
                let _ = write!(line, " · attempt {attempt}");
            }
            (Weight::Detail, line)
        }
        Event::AttemptFailed {
            at,
            task,
            stop,
            error,
            retry_at,
            ..
        } => (
            Weight::Milestone,
            format!(
                "{task} will be retried in {}: {}: {}",
                human(retry_at.since(*at)),
                stop.as_str(),
                one_line(error)
            ),
        ),
        Event::SentBack { task, reason, .. } => (
            Weight::Detail,
            format!("{task} must report again: {}", one_line(reason)),
        ),
        Event::Postponed {
            task, stop, error, ..
        } => (
            Weight::Detail,
            format!("{task} is postponed: {}: {}", stop.as_str(), one_line(error)),
        ),
        Event::QuotaWait { at, pool, state } if state.until > *at => (
            Weight::Milestone,
            format!("{}, until {}", wait_line(pool, state, *at), state.until),
        ),
        Event::QuotaWait { pool, .. } => (Weight::Milestone, format!("{} no longer waits", one_line(pool))),
        Event::EditedAfterReport { task, .. } => edited_after_report(task, ledger)?,
        Event::Refused { task, .. } => refused(task, ledger)?,
        Event::Interrupted { task, .. } => (
            Weight::Detail,
            format!("{task} was interrupted and will run again"),
        ),
        Event::Reset { task, why } => (Weight::Milestone, format!("{task} runs again: {}", one_line(why))),
        Event::PolicyDecided { decision, .. } => decided(decision),
        Event::Reworked { task, rework } => (
            Weight::Milestone,
            format!(
                "{task} runs again, round {}, because of {}: {}",
                rework.round,
                rework.by,
                one_line(&rework.why)
            ),
        ),
        Event::RolledBack { task, why } => (
            Weight::Trouble,
            format!("{task}: previous result restored: {}", one_line(why)),
        ),
        Event::Acted {
            action, task, via, ..
        } => acted(action, task.as_deref(), via),
        Event::MarkedDone { task } => (Weight::Milestone, format!("{task} was marked as done by hand")),
        Event::WaveStarted { wave } => {
            let tasks = ledger.plan().wave_tasks(*wave).len();
            (Weight::Detail, format!("Wave {wave}: {}", count(tasks, "task")))
        }
        Event::WaveMerged { wave } => (Weight::Milestone, wave_done(ledger, *wave)),
        Event::WorktreeMade { .. } | Event::WorktreeMerged { .. } | Event::MergeFailed { .. } => {
            in_worktree(event)?
        }
        Event::TableEdited { patch } => (Weight::Milestone, table_changed(patch)),
        Event::TableEditRefused { problems, .. } => (
            Weight::Trouble,
            format!(
                "an edit of tasks.csv was set aside: {}",
                one_line(&problems.join("; "))
            ),
        ),
        Event::RunStarted { .. }
        | Event::Spawned { .. }
        | Event::ConversationStarted { .. }
        | Event::Usage { .. }
        | Event::Budgeted { .. }
        | Event::Asked { .. }
        | Event::Answered { .. }
        | Event::RunEnded { .. } => return None,
    })
}

/// By a person, or by a plan that asks for more rows.
fn table_changed(patch: &Patch) -> String {
    let parts = [
        (patch.added.len(), "row", "added"),
        (patch.changed.len(), "cell", "changed"),
        (patch.removed.len(), "row", "removed"),
    ];
    let changes = parts.iter().filter(|(number, ..)| *number > 0);
    let changes: Vec<String> = changes
        .map(|(number, of, what)| format!("{} {what}", count(*number, of)))
        .collect();
    if changes.is_empty() {
        return "tasks.csv: columns or order changed".to_owned();
    }
    format!("tasks.csv: {}", changes.join(", "))
}

/// The line of a notice. Finished waves have an event.
pub fn notice(notice: &Notice, session: &str) -> Option<(Weight, String)> {
    Some(match notice {
        Notice::WaveDone { .. } => return None,
        Notice::Stalled { task, silent } => (
            Weight::Trouble,
            format!(
                "{task} has been silent for {}; see `{}`, or stop the run with `{}`",
                human(*silent),
                hint::command(&format!("logs {session} {task} -f")),
                hint::command(&format!("cancel {session}"))
            ),
        ),
        Notice::ReportIgnored { task, reason } => (
            Weight::Milestone,
            format!("a report of {task} was ignored: {}", one_line(reason)),
        ),
        Notice::Note(text) => (Weight::Trouble, one_line(text)),
    })
}
