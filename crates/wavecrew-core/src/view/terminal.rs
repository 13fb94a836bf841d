//! The short report at the end of a run, and the line of one finished task.

use super::{
    ALLOWING, SessionMeta, SessionSummary, TaskMark, count, duration, edits_after_report, name, one_line,
    refusals, usage_line,
};
use crate::engine::Ledger;
use crate::event::{RunOutcome, Status, StopReason};
use crate::id::TaskIx;
use crate::time::human;
use std::fmt::Write as _;
use std::time::Duration;

/// A person reads the first few; `context.md` has them all.
const LISTED: usize = 20;

/// The report at the end of a run.
pub fn report_terminal(ledger: &Ledger, meta: &SessionMeta<'_>) -> String {
    let summary = SessionSummary::of(ledger);
    let counts = &summary.counts;
    let mut text = headline(&summary, meta.preparation);
    if let Some(used) = usage_line(&ledger.totals) {
        let _ = writeln!(text, "Used {used}");
    }
    for (status, title) in [(Status::Failed, "Failed"), (Status::Skipped, "Skipped")] {
        list(&mut text, ledger, status, title);
    }
    warnings(&mut text, ledger);
    decisions(&mut text, ledger);
    if let Some(RunOutcome::Stalled { chain }) = &ledger.ending {
        let _ = writeln!(
            text,
            "\nStalled: tasks are pending, but none of them can run: {}",
            one_line(chain)
        );
    }
    if let Some(RunOutcome::LimitReached { why, .. }) = &ledger.ending {
        let _ = writeln!(text, "\nStopped at a limit: {}", one_line(why));
    }
    if let Some(RunOutcome::Blocked { by, why }) = &ledger.ending {
        let _ = writeln!(text, "\nStopped at {by}: {}", one_line(why));
    }
    let _ = writeln!(text, "\nSession  {}", meta.folder);
    if let Some(cassette) = meta.replay {
        let _ = writeln!(text, "Replay   of {}: no agent ran", one_line(cassette));
    }
    let _ = writeln!(text, "Report   {}/context.md", meta.folder);
    if counts.pending + counts.running > 0 {
        let _ = writeln!(text, "Continue {}", meta.continue_command(ledger.ending.as_ref()));
    } else if counts.failed + counts.skipped > 0 {
        let _ = writeln!(text, "Retry    {}", meta.retry_command());
    }
    if let Some(result) = &meta.result {
        let _ = writeln!(
            text,
            "\n{} · apply with `{}`",
            one_line(result),
            meta.apply_command()
        );
    }
    text
}

/// `3 of 5 tasks completed, 1 failed, 1 skipped, in 1m 20s`
fn headline(summary: &SessionSummary, preparation: Duration) -> String {
    let counts = &summary.counts;
    let mut line = format!(
        "{} of {} completed",
        counts.completed,
        count(counts.total(), "task")
    );
    for (number, what) in [
        (counts.failed, "failed"),
        (counts.skipped, "skipped"),
        (counts.pending + counts.running, "left to do"),
    ] {
        if number > 0 {
            let _ = write!(line, ", {number} {what}");
        }
    }
    if !summary.elapsed.is_zero() {
        let _ = write!(line, ", in {}", human(preparation + summary.elapsed));
        if !preparation.is_zero() {
            let _ = write!(line, " (baseline {})", human(preparation));
        }
    }
    line.push('\n');
    line
}

fn list(text: &mut String, ledger: &Ledger, status: Status, title: &str) {
    let mut tasks = ledger
        .plan()
        .tasks()
        .filter(|task| ledger.status(*task) == status);
    let shown: Vec<TaskIx> = tasks.by_ref().take(LISTED).collect();
    if shown.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{title}");
    for task in shown {
        let state = ledger.task(task);
        let _ = write!(text, "  {}", name(ledger, task));
        if let Some(stop) = state.stop.filter(|stop| *stop != StopReason::Ok) {
            let _ = write!(text, " ({})", stop.as_str());
        }
        if !state.result.error.is_empty() {
            let _ = write!(text, ": {}", one_line(&state.result.error));
        }
        text.push('\n');
    }
    let more = tasks.count();
    if more > 0 {
        let _ = writeln!(text, "  and {more} more");
    }
}

fn warnings(text: &mut String, ledger: &Ledger) {
    let in_doubt = |task: &TaskIx| !ledger.task(*task).result.doubt.is_empty();
    let mut doubtful = ledger.plan().tasks().filter(in_doubt);
    let shown: Vec<TaskIx> = doubtful.by_ref().take(LISTED).collect();
    if !shown.is_empty() {
        text.push_str("\nUnverified\n");
    }
    for task in shown {
        let reason = one_line(&ledger.task(task).result.doubt);
        let _ = writeln!(text, "  {}: {reason}", name(ledger, task));
    }
    let more = doubtful.count();
    if more > 0 {
        let _ = writeln!(text, "  and {more} more");
    }
    let mut late = ledger
        .plan()
        .tasks()
        .filter_map(|task| Some((task, edits_after_report(ledger.task(task))?)))
        .take(LISTED)
        .peekable();
    if late.peek().is_some() {
        text.push_str("\nChanged after their report\n");
    }
    for (task, files) in late {
        let _ = writeln!(text, "  {}: {files}", name(ledger, task));
    }
    let mut refused = ledger
        .plan()
        .tasks()
        .filter_map(|task| Some((task, refusals(ledger.task(task))?)))
        .take(LISTED)
        .peekable();
    if refused.peek().is_some() {
        let _ = writeln!(text, "\nRefused by the sandbox; {ALLOWING}");
    }
    for (task, refused) in refused {
        let _ = writeln!(text, "  {}: {refused}", name(ledger, task));
    }
}

/// The last decision of a policy about each task.
fn decisions(text: &mut String, ledger: &Ledger) {
    let is_last = |at: usize| {
        let task = &ledger.decisions[at].task;
        ledger.decisions[at + 1..].iter().all(|later| later.task != *task)
    };
    let last = (0..ledger.decisions.len())
        .filter(|&at| is_last(at))
        .map(|at| &ledger.decisions[at]);
    let mut last = last
        .filter(|decision| !decision.why.is_empty())
        .take(LISTED)
        .peekable();
    if last.peek().is_some() {
        text.push_str("\nDecisions\n");
    }
    for decision in last {
        let (task, outcome, why) = (&decision.task, decision.outcome.as_str(), one_line(&decision.why));
        let rounds = match decision.round {
            0 => String::new(),
            1 => " after 1 revision".to_owned(),
            more => format!(" after {more} revisions"),
        };
        let _ = writeln!(text, "  {task}: {outcome}{rounds}: {why}");
    }
}

/// `[DONE] A-1: Title · 12s`, with the reason when it is not done.
pub fn task_line(ledger: &Ledger, task: TaskIx) -> String {
    let state = ledger.task(task);
    let mark = TaskMark::of(state);
    let mut line = format!("{} {}", mark.as_str(), name(ledger, task));
    if let Some(took) = duration(state).filter(|_| mark != TaskMark::Skip) {
        let _ = write!(line, " · {}", human(took));
    }
    if mark == TaskMark::Fail
        && let Some(stop) = state.stop.filter(|stop| *stop != StopReason::Ok)
    {
        let _ = write!(line, " · {}", stop.as_str());
    }
    if !state.result.error.is_empty() {
        let _ = write!(line, " · {}", one_line(&state.result.error));
    }
    line
}
