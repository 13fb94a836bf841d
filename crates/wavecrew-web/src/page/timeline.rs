//! Who ran when: a row per attempt, with the waits for services and people behind them, and the critical path.

use super::board::short_agent;
use super::svg::{count, round};
use super::{meters, paged, pager};
use crate::shot::{Medium, Shot};
use maud::{Markup, html};
use std::collections::{BTreeMap, HashSet};
use wavecrew_core::event::{Event, StopReason};
use wavecrew_core::time::{Timestamp, human};
use wavecrew_core::view::{clipped, one_line};

const ROWS: usize = 80;
const WIDTH: f64 = 1000.0;
const NAMES: f64 = 190.0;
const ROW: f64 = 20.0;

struct Span<'a> {
    task: &'a str,
    attempt: u32,
    agent: &'a str,
    from: Timestamp,
    to: Timestamp,
    state: &'static str,
    what: String,
}

/// The CSS class for the kind of wait.
#[derive(Clone, Copy, PartialEq, Eq)]
enum For {
    Service,
    Person,
}

impl For {
    fn class(self) -> &'static str {
        match self {
            Self::Service => "wait",
            Self::Person => "wait wait-person",
        }
    }
}

struct Wait {
    whom: For,
    what: String,
    from: Timestamp,
    to: Timestamp,
}

pub fn timeline(shot: &Shot<'_>) -> Markup {
    let (spans, waits) = (read_spans(shot), read_waits(shot));
    if spans.is_empty() {
        return html! { p { "No task has started yet." } };
    }
    let per_page = if shot.medium == Medium::File { 400 } else { ROWS };
    let (range, pages) = paged(spans.len(), per_page, shot.query.page());
    let critical = critical_path(&spans);
    let shown = &spans[range];
    let first = shown.iter().map(|span| span.from).min().unwrap_or_default();
    let latest = shown.iter().map(|span| span.to).max().unwrap_or_default();
    let left = meters::estimated_end(shot, meters::slots(shot.events)).filter(|_| !shot.past);
    let end = left.map(|left| Timestamp(shot.now.0 + u64::try_from(left.as_millis()).unwrap_or(0)));
    let last = end.map_or(latest, |end| end.max(latest));
    let length = last.since(first).as_secs_f64().max(0.001);
    let x = |at: Timestamp| {
        round(NAMES + at.max(first).min(last).since(first).as_secs_f64() / length * (WIDTH - NAMES - 8.0))
    };
    let height = count(shown.len()) * ROW + 26.0;
    let in_view: Vec<&Wait> = waits
        .iter()
        .filter(|wait| wait.to > first && wait.from < last)
        .collect();
    let number = |whom: For| in_view.iter().filter(|wait| wait.whom == whom).count();
    html! {
        ul.legend {
            li { "Bars: attempts, coloured by their outcome" }
            li { "Framed bars: the critical path, " (human(critical_time(&spans, &critical))) }
            li { span.key-wait aria-hidden="true" {} "Waits for services: " (number(For::Service)) }
            li { span.key-person aria-hidden="true" {} "Waits for people: " (number(For::Person)) }
            @if let (Some(end), Some(left)) = (end, left) { li { "Dashed line: the estimated end, " (end) ", in about " (human(left)) } }
        }
        div.scroll tabindex="0" role="region" aria-label="Timeline" {
            svg.timeline.plot viewBox={ "0 0 " (WIDTH) " " (height) } role="group" aria-label="Attempts over time" {
                @for wait in &in_view {
                    rect class=(wait.whom.class()) x=(x(wait.from)) y="0" width=(round((x(wait.to) - x(wait.from)).max(2.0))) height=(height - 20.0) { title { (wait.what) } }
                }
                @for (at, span) in shown.iter().enumerate() {
                    @let y = count(at) * ROW;
                    a href=(shot.task_link(span.task)) {
                        text x="0" y=(y + 14.0) { (clipped(&one_line(span.task), 22)) @if span.attempt > 1 { " #" (span.attempt) } }
                        rect class={ "fill-" (span.state) @if critical.contains(&(span.task, span.attempt)) { " critical" } } x=(x(span.from)) y=(y + 4.0)
                            width=(round((x(span.to) - x(span.from)).max(2.0))) height=(ROW - 8.0) rx="2" {
                            title { (one_line(span.task)) ", attempt " (span.attempt) ": " (span.what) ", " (human(span.to.since(span.from))) ", " (short_agent(span.agent)) }
                        }
                    }
                }
                @if let Some(end) = end { line.estimate x1=(x(end)) x2=(x(end)) y1="0" y2=(height - 20.0) { title { "Estimated end: " (end) } } }
                @for step in 0..=4_u32 {
                    @let share = f64::from(step) / 4.0;
                    @let at = round(NAMES + share * (WIDTH - NAMES - 8.0));
                    line.axis x1=(at) x2=(at) y1="0" y2=(height - 20.0) {}
                    text x=(at) y=(height - 6.0) text-anchor=(if step == 4 { "end" } else { "start" }) { "+" (human(std::time::Duration::from_secs_f64(length * share))) }
                }
            }
        }
        (pager(shot.query.page(), pages, |page| shot.query.link(|query| query.page = Some(page.to_string()))))
        details #timeline-table {
            summary { "The same as a table" }
            div.scroll tabindex="0" { table {
                thead { tr { th scope="col" { "Task" } th scope="col" { "Attempt" } th scope="col" { "Agent" } th scope="col" { "Started" } th.num scope="col" { "Took" } th scope="col" { "Outcome" } } }
                tbody {
                    @for span in shown { tr {
                        th scope="row" { a href=(shot.task_link(span.task)) { (one_line(span.task)) } }
                        td { (span.attempt) } td { (short_agent(span.agent)) } td { (span.from) } td.num { (human(span.to.since(span.from))) }
                        td { (span.what) @if critical.contains(&(span.task, span.attempt)) { ", on the critical path" } }
                    } }
                    @for wait in in_view { tr { th scope="row" { "wait" } td {} td {} td { (wait.from) } td.num { (human(wait.to.since(wait.from))) } td { (wait.what) } } }
                }
            } }
        }
    }
}

fn read_spans<'a>(shot: &Shot<'a>) -> Vec<Span<'a>> {
    let mut spans: Vec<Span<'a>> = Vec::new();
    let mut open: BTreeMap<(&str, u32), usize> = BTreeMap::new();
    for event in shot.events {
        let (task, attempt, state, what) = match event {
            Event::AttemptStarted {
                at,
                task,
                attempt,
                agent,
                ..
            } => {
                open.insert((task, *attempt), spans.len());
                let (from, to, state, what) = (*at, shot.now.max(*at), "running", "running".to_owned());
                spans.push(Span {
                    task,
                    attempt: *attempt,
                    agent,
                    from,
                    to,
                    state,
                    what,
                });
                continue;
            }
            Event::Finished {
                task,
                attempt,
                stop,
                result,
                ..
            } => {
                let stop = if *stop == StopReason::Ok {
                    String::new()
                } else {
                    format!(" ({})", stop.as_str())
                };
                let state = match result.status.as_str() {
                    "completed" => "completed",
                    "skipped" => "skipped",
                    _ => "failed",
                };
                (
                    task,
                    *attempt,
                    state,
                    format!("{}{stop}, {}", result.status.as_str(), result.verdict.as_str()),
                )
            }
            Event::AttemptFailed {
                task, attempt, stop, ..
            } => (
                task,
                *attempt,
                "failed",
                format!("failed ({}), tried again", stop.as_str()),
            ),
            Event::Postponed {
                task, attempt, stop, ..
            } => (
                task,
                *attempt,
                "skipped",
                format!("postponed ({})", stop.as_str()),
            ),
            Event::Interrupted { task, attempt, .. } => (task, *attempt, "pending", "interrupted".to_owned()),
            _ => continue,
        };
        if let Some(span) = open
            .remove(&(task.as_str(), attempt))
            .and_then(|at| spans.get_mut(at))
        {
            (span.to, span.state, span.what) = (event.at().unwrap_or(span.to), state, what);
        }
    }
    spans
}

/// Waits for services and people. Questions have no time of their own, so they get that of the event before.
fn read_waits(shot: &Shot<'_>) -> Vec<Wait> {
    let (mut waits, mut asked) = (Vec::new(), BTreeMap::new());
    let person = |(from, text): (Timestamp, String), to| Wait {
        whom: For::Person,
        what: format!("waits for a person: {text}"),
        from,
        to,
    };
    let mut latest = Timestamp::default();
    for event in shot.events {
        latest = event.at().unwrap_or(latest).max(latest);
        match event {
            Event::QuotaWait { at, pool, state } if state.until > *at => waits.push(Wait {
                whom: For::Service,
                what: format!(
                    "{} waits for its service ({})",
                    one_line(pool),
                    state.reason.as_str()
                ),
                from: *at,
                to: state.until.min(shot.now.max(*at)),
            }),
            Event::Asked { question, text } => drop(asked.insert(*question, (latest, one_line(text)))),
            Event::Answered { question, .. } => {
                waits.extend(asked.remove(question).map(|wait| person(wait, latest)));
            }
            _ => {}
        }
    }
    waits.extend(asked.into_values().map(|wait| person(wait, shot.now)));
    waits
}

/// The critical path, backwards from the attempt that ended last: each step goes to the attempt whose end
/// allowed it to start, because it was the last of a wave or freed its slot.
fn critical_path<'a>(spans: &[Span<'a>]) -> HashSet<(&'a str, u32)> {
    let mut by_end: Vec<&Span<'a>> = spans.iter().collect();
    by_end.sort_by_key(|span| span.to);
    let mut path = HashSet::new();
    let mut current = by_end.last().copied();
    while let Some(span) = current {
        path.insert((span.task, span.attempt));
        let before = by_end.partition_point(|other| other.to <= span.from);
        let mut earlier = by_end[..before].iter().rev();
        current = earlier
            .find(|other| !path.contains(&(other.task, other.attempt)))
            .copied();
    }
    path
}

fn critical_time(spans: &[Span<'_>], path: &HashSet<(&str, u32)>) -> std::time::Duration {
    let on_path = spans
        .iter()
        .filter(|span| path.contains(&(span.task, span.attempt)));
    on_path.map(|span| span.to.since(span.from)).sum()
}
