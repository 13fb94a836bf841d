//! `context.md`: the whole report of a session.

use super::{
    ALLOWING, SessionMeta, SessionSummary, TaskMark, count, duration, edits_after_report, name, one_line,
    refusals, usage_line,
};
use crate::budget::{dollars, grouped};
use crate::engine::{Ledger, TaskState};
use crate::event::{AnsweredBy, RunOutcome, Status, StopReason};
use crate::id::TaskIx;
use crate::time::human;
use std::fmt::Write as _;

/// The report as Markdown.
pub fn report_markdown(ledger: &Ledger, meta: &SessionMeta<'_>) -> String {
    let summary = SessionSummary::of(ledger);
    let mut text = String::with_capacity(4096);
    head(&mut text, ledger, meta, &summary);
    counts(&mut text, &summary);
    for wave in 1..=ledger.plan().waves() {
        let _ = writeln!(text, "\n## Wave {wave}\n");
        for &task in ledger.plan().wave_tasks(wave) {
            entry(&mut text, ledger, task);
        }
    }
    decisions(&mut text, ledger);
    next(&mut text, ledger, meta, &summary);
    text
}

/// Attempts, time, tokens and money of each task that ran, as a section of the report; empty when none was spent.
pub fn spending_table(ledger: &Ledger) -> String {
    let ran: Vec<TaskIx> = ledger
        .plan()
        .tasks()
        .filter(|task| ledger.task(*task).attempts > 0)
        .collect();
    if ran.iter().all(|task| ledger.task(*task).spent.is_nothing()) {
        return String::new();
    }
    let mut text =
        "\n## Cost and time\n\n| Task | Attempts | Time | Tokens | Cost |\n| --- | --- | --- | --- | --- |\n"
            .to_owned();
    for task in ran {
        let state = ledger.task(task);
        let time = duration(state).map_or_else(|| "–".to_owned(), human);
        let cost = state.spent.cost.map_or_else(|| "–".to_owned(), dollars);
        let (id, tokens) = (ledger.plan().id(task), grouped(state.spent.tokens()));
        let _ = writeln!(text, "| {id} | {} | {time} | {tokens} | {cost} |", state.attempts);
    }
    text
}

/// What loops, checkpoints and gates decided.
fn decisions(text: &mut String, ledger: &Ledger) {
    let shown: Vec<_> = ledger.decisions.iter().filter(|j| !j.why.is_empty()).collect();
    if shown.is_empty() {
        return;
    }
    text.push_str(
        "\n## Decisions\n\n| Task | Round | Decision | By | Why |\n| --- | --- | --- | --- | --- |\n",
    );
    for decision in shown {
        let by = decision.decided_by.map_or("rule", AnsweredBy::as_str);
        let _ = writeln!(
            text,
            "| {} | {} | {} | {by} | {} |",
            decision.task,
            decision.round,
            decision.outcome.as_str(),
            one_line(&decision.why).replace('|', "\\|")
        );
    }
}

fn head(text: &mut String, ledger: &Ledger, meta: &SessionMeta<'_>, summary: &SessionSummary) {
    let team = &ledger.team;
    let _ = writeln!(text, "# {}: report\n", one_line(&team.title));
    if let Some(result) = &meta.result {
        let apply = meta.apply_command();
        let _ = writeln!(text, "**{}** · apply with `{apply}`\n", one_line(result));
    }
    let _ = writeln!(text, "- Session: `{}`", meta.id);
    let _ = writeln!(text, "- Team: {}", team.name);
    if let Some(pipeline) = meta.pipeline {
        let _ = writeln!(text, "- Pipeline: {pipeline}");
    }
    if let Some(cassette) = meta.replay {
        let _ = writeln!(
            text,
            "- Replay: no agent ran; `{}` was replayed",
            one_line(cassette)
        );
    }
    let _ = writeln!(text, "- Started: {}", meta.started_at);
    if !summary.elapsed.is_zero() {
        let _ = writeln!(
            text,
            "- Working time: {}",
            human(meta.preparation + summary.elapsed)
        );
    }
    if let Some(used) = usage_line(&ledger.totals) {
        let _ = writeln!(text, "- Used: {used}");
    }
    if !meta.request.is_empty() {
        let _ = writeln!(text, "- Request: {}", one_line(meta.request));
    }
    if let Some(ending) = &ledger.ending {
        let _ = writeln!(text, "- Ended: {}", one_line(&ending.to_string()));
    }
}

fn counts(text: &mut String, summary: &SessionSummary) {
    let counts = &summary.counts;
    text.push_str("\n## Summary\n\n| Status | Count |\n| --- | --- |\n");
    for (status, number) in [
        ("Completed", counts.completed),
        ("Failed", counts.failed),
        ("Skipped", counts.skipped),
        ("Pending", counts.pending),
        ("Running", counts.running),
        ("Total", counts.total()),
    ] {
        // Not shown for a finished run.
        if number > 0 || !matches!(status, "Pending" | "Running") {
            let _ = writeln!(text, "| {status} | {number} |");
        }
    }
}

fn entry(text: &mut String, ledger: &Ledger, task: TaskIx) {
    let state = ledger.task(task);
    let mark = TaskMark::of(state);
    let role = ledger.plan().role(task);
    let _ = write!(text, "- {} **{}**", mark.as_str(), name(ledger, task));
    if !role.is_empty() {
        let _ = write!(text, " ({})", one_line(role));
    }
    let facts = facts(state, mark);
    if !facts.is_empty() {
        let _ = write!(text, " · {}", facts.join(" · "));
    }
    text.push('\n');
    let result = &state.result;
    if !result.findings.is_empty() {
        let _ = writeln!(text, "  - Findings: {}", one_line(&result.findings));
    }
    for (column, value) in result.outputs.iter().filter(|(_, value)| !value.is_empty()) {
        let _ = writeln!(text, "  - {column}: {}", one_line(value));
    }
    if !result.doubt.is_empty() {
        let _ = writeln!(text, "  - Unverified: {}", one_line(&result.doubt));
    }
    if !result.error.is_empty() {
        let _ = writeln!(text, "  - Error: {}", one_line(&result.error));
    }
    if let Some(files) = edits_after_report(state) {
        let _ = writeln!(text, "  - Warning: after its report it changed {files}");
    }
    if let Some(refused) = refusals(state) {
        let _ = writeln!(text, "  - Refused by the sandbox: {refused} ({ALLOWING})");
    }
}

fn facts(state: &TaskState, mark: TaskMark) -> Vec<String> {
    let mut facts = Vec::new();
    match mark {
        TaskMark::Done => facts.push(state.result.verdict.as_str().to_owned()),
        TaskMark::Fail => {
            if state.result.verdict == crate::event::Verdict::Contradicted {
                facts.push(state.result.verdict.as_str().to_owned());
            }
            facts.extend(state.stop.map(|stop| format!("stopped: {}", stop.as_str())));
        }
        TaskMark::Pend => {
            let stopped = state.stop.filter(|stop| *stop != StopReason::Ok);
            facts.extend(stopped.map(|stop| format!("last attempt: {}", stop.as_str())));
        }
        TaskMark::Run => facts.push("running".to_owned()),
        TaskMark::Skip => {}
    }
    if state.attempts > 1 {
        facts.push(format!("{} attempts", state.attempts));
    }
    facts.extend(duration(state).map(human));
    facts
}

fn next(text: &mut String, ledger: &Ledger, meta: &SessionMeta<'_>, summary: &SessionSummary) {
    let counts = &summary.counts;
    text.push_str("\n## What to do next\n\n");
    if let Some(RunOutcome::Stalled { chain }) = &ledger.ending {
        let _ = writeln!(
            text,
            "- Tasks are pending, but none of them can run: {}. Change `tasks.csv`, then continue.",
            one_line(chain)
        );
    }
    if counts.pending + counts.running > 0 {
        let continue_command = meta.continue_command(ledger.ending.as_ref());
        let left = count(counts.pending + counts.running, "task");
        let _ = writeln!(text, "- {left} left to do. Continue with `{continue_command}`.");
    }
    if counts.failed > 0 {
        let failed = count(counts.failed, "failed task");
        let _ = writeln!(
            text,
            "- Run {failed} and what was skipped because of {} again with `{}`.",
            if counts.failed == 1 { "it" } else { "them" },
            meta.retry_command()
        );
        let first = ledger
            .plan()
            .tasks()
            .find(|task| ledger.status(*task) == Status::Failed);
        if let Some(task) = first {
            let _ = writeln!(
                text,
                "- Read what a worker printed with `{} logs {} {}`.",
                meta.program,
                meta.id,
                ledger.plan().id(task)
            );
        }
    } else if counts.skipped > 0 {
        let _ = writeln!(text, "- Run what was skipped with `{}`.", meta.retry_command());
    }
    if counts.completed == counts.total() {
        let _ = writeln!(
            text,
            "- Everything is done. Archive the session with `{} archive {}`.",
            meta.program, meta.id
        );
    }
}
