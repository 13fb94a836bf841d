//! `wavecrew status`: where a session stands, wave by wave.

use crate::clock;
use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::json;
use crate::layout::{fit, width};
use crate::report::{counts, usage};
use crate::session_view::SessionArg;
use crate::show::safe;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::io::{BufWriter, Write, stdout};
use std::time::Duration;
use wavecrew_core::engine::{TaskProgress, TaskState};
use wavecrew_core::event::{RunOutcome, Status, StopReason};
use wavecrew_core::id::TaskIx;
use wavecrew_core::time::human;
use wavecrew_core::view::{self, TaskMark, one_line};
use wavecrew_session::SessionView;

/// Show the state of a session: waves, running and failed tasks
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  wavecrew status\n  wavecrew status run-tasks-20260308\n  wavecrew status --json | jq .counts"
)]
pub struct Args {
    #[command(flatten)]
    session: SessionArg,
}

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let view = self.session.view(global)?;
        for trouble in &view.problems {
            crate::show::error(trouble, None);
        }
        let mut out = BufWriter::new(stdout().lock());
        if global.json {
            json::print(as_json(&view))?;
        } else {
            print(&view, width(), &mut out)?;
        }
        out.flush()?;
        Ok(Exit::Done)
    }
}

fn print(view: &SessionView, width: usize, out: &mut impl Write) -> std::io::Result<()> {
    let counts = view.counts();
    writeln!(
        out,
        "{} · team {} · {}",
        view.dir.id(),
        safe(view.team()),
        view.state()
    )?;
    if let Some(cassette) = view.info.as_ref().and_then(|info| info.replay()) {
        writeln!(out, "Replay of {}: no agent runs", safe(cassette))?;
    }
    if let Some(holder) = &view.holder {
        writeln!(out, "Run by {}", safe(&holder.to_string()))?;
    }
    if let Some(request) = view
        .info
        .as_ref()
        .map(|info| one_line(&info.request))
        .filter(|r| !r.is_empty())
    {
        writeln!(out, "Request: {request}")?;
    }
    writeln!(
        out,
        "{} of {} completed, {} failed, {} skipped, {} running, {} pending",
        counts.completed,
        counts.total(),
        counts.failed,
        counts.skipped,
        counts.running,
        counts.pending
    )?;
    if let Some(result) = view.dir.meta("", None).result {
        writeln!(out, "{}", one_line(&result))?;
    }
    if let Some(used) = view::usage_line(&view.ledger.totals) {
        writeln!(out, "Used {used}")?;
    }
    let now = clock::now();
    for (name, pool) in view.ledger.waits(now) {
        writeln!(out, "{}, until {}", view::wait_line(name, pool, now), pool.until)?;
    }
    if let Some(RunOutcome::LimitReached { why, .. }) = &view.ledger.ending {
        writeln!(out, "Stopped at a limit: {}", one_line(why))?;
    }
    if let Some(RunOutcome::Blocked { by, why }) = &view.ledger.ending {
        writeln!(out, "Stopped at {by}: {}", one_line(why))?;
    }
    let plan = view.ledger.plan();
    let hosts = view.dir.read_hosts();
    let widest =
        |most: usize, text: &dyn Fn(TaskIx) -> usize| plan.tasks().map(text).max().unwrap_or(0).min(most);
    let id = widest(24, &|task| plan.id(task).len());
    let role = widest(14, &|task| plan.role(task).chars().count());
    for wave in 1..=plan.waves() {
        writeln!(out, "\nWave {wave}")?;
        for &task in plan.wave_tasks(wave) {
            let state = view.ledger.task(task);
            let mut line = format!("  {:<6} {}", TaskMark::of(state).as_str(), fit(plan.id(task), id));
            if role > 0 {
                line += "  ";
                line += &fit(plan.role(task), role);
            }
            line += "  ";
            line += &note(view, task, &hosts);
            writeln!(out, "{}", fit(&line, width).trim_end())?;
        }
    }
    Ok(())
}

/// Hosts of attempts on other machines.
type Hosts = HashMap<(String, u32), String>;

/// The end of a task's line: title, attempts, time, error.
fn note(view: &SessionView, task: TaskIx, hosts: &Hosts) -> String {
    let state = view.ledger.task(task);
    let title = match view.ledger.plan().title(task) {
        title if title == view.ledger.plan().id(task) => String::new(),
        title => one_line(title),
    };
    let mut parts = vec![title];
    if let TaskProgress::Waiting { until } = state.progress {
        let left = until.since(clock::now());
        parts.push(format!("will be retried in {}", human(left)));
    } else if state.result.status == Status::Pending && state.stop.is_some() {
        parts.extend(state.stop.map(|stop| stop.as_str().to_owned()));
    }
    if state.attempts > 1 {
        parts.push(format!("attempt {}", state.attempts));
    }
    let attempt = (view.ledger.plan().id(task).to_owned(), state.attempts);
    parts.extend(hosts.get(&attempt).map(|host| format!("on {}", one_line(host))));
    parts.extend(elapsed(state).map(human));
    parts.push(one_line(&state.result.error));
    parts.retain(|part| !part.is_empty());
    parts.join(" · ")
}

/// How long a task ran, or has been running.
fn elapsed(state: &TaskState) -> Option<Duration> {
    match state.progress {
        TaskProgress::Open { .. } => Some(clock::now().since(state.started?)),
        TaskProgress::Pending | TaskProgress::Waiting { .. } | TaskProgress::Done => view::duration(state),
    }
}

/// The session as one JSON document.
pub fn as_json(view: &SessionView) -> Value {
    let plan = view.ledger.plan();
    let tasks: Vec<Value> = plan.tasks().map(|task| task_json(view, task)).collect();
    let info = view.info.as_ref();
    let now = clock::now();
    let waits = view.ledger.waits(now).map(|(name, pool)| {
        json!({
            "pool": name, "reason": pool.reason.as_str(), "until": pool.until.to_string(),
            "seconds_left": pool.until.since(now).as_secs_f64(),
        })
    });
    let waits: Vec<Value> = waits.collect();
    json!({
        "usage": usage(&view.ledger.totals), "budget": view.ledger.budget, "quota_wait": waits,
        "ending": view.ledger.ending, "result": view.dir.measured_result(),
        "session": view.dir.id(), "team": view.team(), "state": view.state(), "waves": plan.waves(),
        "wave": view.ledger.wave, "counts": counts(&view.counts()), "tasks": tasks,
        "dir": view.dir.path(), "request": info.map(|info| &info.request),
        "started_at": info.map(|info| &info.started_at),
        "replay": info.and_then(|info| info.replay()), "troubles": view.problems,
    })
}

fn task_json(view: &SessionView, task: TaskIx) -> Value {
    let plan = view.ledger.plan();
    let state = view.ledger.task(task);
    let mut row = Map::new();
    for column in plan.header() {
        let cell = view.ledger.cell(task, column);
        let cell = cell.unwrap_or_else(|| plan.session_cell(task, column));
        row.insert(column.clone(), Value::String(cell.into_owned()));
    }
    row.insert("id".into(), plan.id(task).into());
    row.insert("wave".into(), plan.wave(task).into());
    if matches!(state.progress, TaskProgress::Open { .. }) {
        row.insert("status".into(), "running".into());
    }
    row.insert("attempts".into(), state.attempts.into());
    row.insert("stop_reason".into(), state.stop.map(StopReason::as_str).into());
    if state.result.status == Status::Completed || state.result.status == Status::Failed {
        row.insert("checked".into(), state.result.verdict.as_str().into());
        if !state.result.doubt.is_empty() {
            row.insert("doubt".into(), state.result.doubt.as_str().into());
            // The table has no column of its own for it.
            row.insert("error".into(), state.result.error.as_str().into());
        }
    }
    if !state.spent.is_nothing() {
        row.insert("tokens".into(), state.spent.tokens().into());
        row.insert("cost_usd".into(), state.spent.cost.into());
    }
    if let Some(elapsed) = elapsed(state) {
        row.insert("elapsed_seconds".into(), elapsed.as_secs_f64().into());
    }
    Value::Object(row)
}
