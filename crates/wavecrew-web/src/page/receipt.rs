//! The receipt of a task: what was claimed, what the check found, and the verdict.

use super::{badge, markdown, shortened, without_controls};
use crate::shot::Shot;
use maud::{Markup, html};
use serde_json::{Map, Value};
use std::fs;
use wavecrew_core::claim::owed_paths;
use wavecrew_core::engine::{TaskProgress, WorktreeState};
use wavecrew_core::event::{Event, Verdict};
use wavecrew_core::id::TaskIx;
use wavecrew_core::team::ColumnType;
use wavecrew_core::view::{edits_after_report, one_line, refusals};

const LONGEST: usize = 20_000;

struct Row {
    claim: Markup,
    found: Markup,
    verdict: &'static str,
}

pub fn receipt(shot: &Shot<'_>, task: TaskIx) -> Markup {
    let rows = rows(shot, task);
    html! {
        h2 { "Receipt" }
        @if rows.is_empty() { p.soft { "The worker has reported nothing yet." } }
        @else {
            div.scroll tabindex="0" { table {
                caption.visually-hidden { "What was claimed, what the check found, and the verdict" }
                thead { tr { th scope="col" { "Claim" } th scope="col" { "What the check found" } th scope="col" { "Verdict" } } }
                tbody { @for row in &rows { tr { td { (row.claim) } td { (row.found) } td { (badge(row.verdict)) } } } }
            } }
        }
    }
}

fn rows(shot: &Shot<'_>, task: TaskIx) -> Vec<Row> {
    let state = shot.ledger.task(task);
    let (result, done) = (&state.result, state.progress == TaskProgress::Done);
    let mut rows = sent_back(shot, task);
    if !done || state.attempts == 0 {
        return rows;
    }
    let verdict = result.verdict.as_str();
    rows.push(Row {
        claim: html! {
            strong { "The task is " (result.status.as_str()) "." }
            @if !result.findings.is_empty() { div.long tabindex="0" { (markdown::render(&shortened(&result.findings, LONGEST))) } }
        },
        found: html! {
            @if !result.error.is_empty() { (without_controls(&shortened(&result.error, LONGEST))) }
            @else if !result.doubt.is_empty() { "In doubt: " (without_controls(&result.doubt)) }
            @else {
                @match result.verdict {
                    Verdict::Verified => "Every check passed.",
                    Verdict::Unverified => "There was nothing to compare it with.",
                    Verdict::Contradicted => "The facts contradict it.",
                }
            }
        },
        verdict,
    });
    rows.extend(owed(shot, task, verdict));
    rows.extend(outputs(shot, task, verdict));
    if !result.facts.is_empty() {
        rows.push(Row {
            claim: html! { span.soft { "(measured, not claimed)" } },
            found: html! { @for (name, value) in &result.facts { span.soft { (one_line(name).replace('_', " ")) } " " strong { (one_line(value)) } " " } },
            verdict: "verified",
        });
    }
    if let Some(files) = edits_after_report(state) {
        rows.push(Row {
            claim: html! { "The report describes the files." },
            found: html! { "Changed after the report: " (files) },
            verdict: "unverified",
        });
    }
    if let Some(refused) = refusals(state) {
        rows.push(Row {
            claim: html! { "It keeps to its places." },
            found: html! { "The sandbox refused to " (refused) },
            verdict: "unverified",
        });
    }
    if let Some(worktree) = state.worktree.as_deref() {
        let (found, verdict) = match &worktree.state {
            WorktreeState::Open => (html! { "Not merged yet." }, "pending"),
            WorktreeState::Merged { commit: Some(commit) } => (
                html! { "Merged, up to commit " code { (one_line(commit)) } },
                "verified",
            ),
            WorktreeState::Merged { commit: None } => (html! { "There was nothing to merge." }, "verified"),
            WorktreeState::Refused => (
                html! { "It could not be merged; the worktree is kept in " code { (one_line(&worktree.worktree.folder)) } },
                "failed",
            ),
        };
        rows.push(Row {
            claim: html! { "Work on branch " code { (one_line(&worktree.worktree.branch)) } },
            found,
            verdict,
        });
    }
    rows
}

/// Reports that a check sent back.
fn sent_back(shot: &Shot<'_>, task_ix: TaskIx) -> Vec<Row> {
    let id = shot.ledger.plan().id(task_ix);
    let back = shot.events.iter().filter_map(|event| match event {
        Event::SentBack {
            task,
            attempt,
            turn,
            reason,
        } if task == id => Some((*attempt, *turn, reason)),
        _ => None,
    });
    back.map(|(attempt, turn, reason)| {
        // Skips headings: the sentence below says more.
        let mut lines = reason.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
        let first = lines.next().unwrap_or(reason);
        Row {
            claim: html! { "Report of attempt " (attempt) ", turn " (turn.saturating_sub(1)) },
            found: html! {
                @if reason.len() > 300 {
                    details id=(shot.key(task_ix, &format!("back-{attempt}-{turn}"))) { summary { "Sent back: " (one_line(first)) } div.long tabindex="0" { (markdown::render(&shortened(reason, LONGEST))) } }
                } @else { "Sent back: " (without_controls(reason)) }
            },
            verdict: "contradicted",
        }
    })
    .collect()
}

/// Files that the row owes.
fn owed(shot: &Shot<'_>, task: TaskIx, verdict: &'static str) -> Vec<Row> {
    let ledger = shot.ledger;
    let paths = owed_paths(&ledger.team, ledger.plan(), task);
    let there = wavecrew_run::checks::claims::delivered(shot.dir.path(), &ledger.team, ledger.plan(), task);
    let all = paths.by_worker.iter().chain(&paths.by_engine);
    all.map(|owed| {
        let found: Vec<&String> = there.iter().filter(|path| owed.is_satisfied_by(path)).collect();
        Row {
            claim: html! { "Owes " code { (one_line(owed.pattern.as_str())) } },
            verdict: if found.is_empty() { "contradicted" } else { verdict },
            found: html! {
                @match found.len() { 0 => "No such file.", 1 => "", number => { (number) " files: " } }
                @for path in found.iter().take(12) { code { (one_line(path)) } " " span.soft { (size(shot, path)) } " " }
                @if found.len() > 12 { "and " (found.len() - 12) " more" }
            },
        }
    })
    .collect()
}

fn size(shot: &Shot<'_>, path: &str) -> String {
    fs::metadata(shot.dir.path().join(path))
        .map_or_else(|_| String::new(), |meta| format!("({} bytes)", meta.len()))
}

/// Output columns: the claimed value beside the final one.
fn outputs(shot: &Shot<'_>, task: TaskIx, verdict: &'static str) -> Vec<Row> {
    let ledger = shot.ledger;
    let (result, id) = (&ledger.task(task).result, ledger.plan().id(task));
    let claimed = claimed(shot, id);
    let mut rows = Vec::new();
    for (name, value) in result.outputs.iter().filter(|(_, value)| !value.is_empty()) {
        let type_ = ledger.team.column(name).map(|column| column.type_);
        let stated = claimed
            .get(name)
            .and_then(Value::as_str)
            .filter(|stated| !stated.is_empty());
        let files = matches!(type_, Some(ColumnType::Path | ColumnType::Paths));
        let differs = stated.is_some_and(|stated| stated != value);
        rows.push(Row {
            claim: html! { span.soft { (one_line(name).replace('_', " ")) } " " (one_line(&shortened(stated.unwrap_or(if files { value } else { "(left to the check)" }), 2000))) },
            found: html! {
                @if files { (value.split(';').filter(|path| exists(shot, path.trim())).count()) " of " (value.split(';').count()) " files are there" }
                @else if differs { "Measured: " strong { (one_line(value)) } }
                @else { (one_line(&shortened(value, 2000))) }
            },
            verdict: if differs { "contradicted" } else { verdict },
        });
    }
    rows
}

fn exists(shot: &Shot<'_>, path: &str) -> bool {
    shot.dir.path().join(path).exists() || shot.project().join(path).exists()
}

/// The values of the report that was checked.
fn claimed(shot: &Shot<'_>, id: &str) -> Map<String, Value> {
    let text = fs::read(shot.dir.checked_report(id)).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}
