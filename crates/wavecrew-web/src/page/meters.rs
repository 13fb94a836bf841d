//! Figures of a run: progress, slots, time, tokens and cost against their budgets, verdicts, and the
//! measurements of rounds.

use super::svg::{bar, count, trend};
use crate::shot::Shot;
use maud::{Markup, html};
use std::collections::BTreeMap;
use std::time::Duration;
use wavecrew_core::budget::{dollars, grouped};
use wavecrew_core::engine::{Counts, Ledger, TaskProgress};
use wavecrew_core::event::{Event, Verdict};
use wavecrew_core::time::{Timestamp, human};
use wavecrew_core::view::one_line;

/// Verified, unverified and contradicted results.
pub fn verdicts(ledger: &Ledger) -> [usize; 3] {
    let mut counts = [0; 3];
    for task in ledger.plan().tasks() {
        let state = ledger.task(task);
        if state.progress == TaskProgress::Done && state.attempts > 0 {
            counts[match state.result.verdict {
                Verdict::Verified => 0,
                Verdict::Unverified => 1,
                Verdict::Contradicted => 2,
            }] += 1;
        }
    }
    counts
}

pub fn progress_bar(counts: &Counts) -> Markup {
    let label = format!(
        "{} of {} completed, {} running, {} failed, {} skipped",
        counts.completed,
        counts.total(),
        counts.running,
        counts.failed,
        counts.skipped
    );
    let parts = [
        ("completed", count(counts.completed)),
        ("running", count(counts.running)),
        ("failed", count(counts.failed)),
        ("skipped", count(counts.skipped)),
    ];
    bar(&label, &parts, count(counts.total()))
}

/// Estimates the remaining time from the mean time of a task and the slots.
pub fn estimated_end(shot: &Shot<'_>, slots: usize) -> Option<Duration> {
    let ledger = shot.ledger;
    let left = ledger.counts().pending + ledger.counts().running;
    if !shot.is_running() || left == 0 {
        return None;
    }
    let spans = ledger.plan().tasks().filter_map(|task| {
        let state = ledger.task(task);
        let ended = state.ended.filter(|_| state.progress == TaskProgress::Done)?;
        Some(ended.since(state.started?))
    });
    let (mut total, mut number) = (Duration::ZERO, 0_u32);
    for span in spans {
        total += span;
        number += 1;
    }
    let rounds = left.div_ceil(slots.max(1));
    (number > 0).then(|| total / number * u32::try_from(rounds).unwrap_or(u32::MAX))
}

/// A figure: its name, its numbers, and a drawing of them.
struct Meter {
    name: &'static str,
    numbers: Markup,
    drawing: Markup,
}

/// The figures as drawings, and for screen readers as a table.
pub fn meters(shot: &Shot<'_>) -> Markup {
    let meters = read_meters(shot);
    html! {
        h2.visually-hidden { "Figures" }
        div.meters aria-hidden="true" {
            @for meter in &meters { dl.meter { dt { (meter.name) } dd { (meter.numbers) (meter.drawing) } } }
        }
        div.visually-hidden { table {
            caption { "Figures of the run" }
            tbody { @for meter in &meters { tr { th scope="row" { (meter.name) } td { (meter.numbers) } } } }
        } }
        (rounds(shot))
    }
}

fn read_meters(shot: &Shot<'_>) -> [Meter; 7] {
    let ledger = shot.ledger;
    let counts = ledger.counts();
    let slots = slots(shot.events);
    let (spent, budget) = (ledger.totals.spent, ledger.budget);
    let used = ledger.time_used(shot.now);
    let [verified, unverified, contradicted] = verdicts(ledger);
    let ratio = |label: &str, part: f64, whole: Option<f64>| {
        html! { @if let Some(whole) = whole { (bar(label, &[(if part >= whole { "failed" } else { "accent" }, part)], whole)) } }
    };
    [
        Meter {
            name: "Progress",
            numbers: html! { (counts.completed) small { " of " (counts.total()) " completed" } },
            drawing: progress_bar(&counts),
        },
        Meter {
            name: "Failed or skipped",
            numbers: html! { (counts.failed) small { " failed, " (counts.skipped) " skipped" } },
            drawing: html! {},
        },
        Meter {
            name: "Slots",
            numbers: html! { (counts.running) small { " of " (slots) " busy" } },
            drawing: ratio("Slots", count(counts.running), Some(count(slots.max(1)) + 0.001)),
        },
        Meter {
            name: "Time",
            numbers: html! {
                @if shot.is_running() && !shot.past { (since(shot.now, used)) } @else { (human(used)) }
                @if let Some(most) = budget.seconds { small { " of " (human(Duration::from_secs(most))) } }
                @if let Some(left) = estimated_end(shot, slots) { small { " · about " (human(left)) " left" } }
            },
            drawing: ratio(
                "Time against its budget",
                used.as_secs_f64(),
                budget.seconds.map(seconds),
            ),
        },
        Meter {
            name: "Tokens",
            numbers: html! {
                (grouped(spent.tokens()))
                @if let Some(most) = budget.tokens { small { " of " (grouped(most)) } }
                @if spent.cached > 0 { small { " · " (grouped(spent.cached)) " cached" } }
            },
            drawing: ratio(
                "Tokens against their budget",
                seconds(spent.tokens()),
                budget.tokens.map(seconds),
            ),
        },
        Meter {
            name: "Cost",
            numbers: html! {
                @match spent.cost { Some(cost) => (dollars(cost)), None => small { "unknown" } }
                @if let Some(most) = budget.cost { small { " of " (dollars(most)) } }
                @if ledger.totals.unpriced > 0 { small { " · " (grouped(ledger.totals.unpriced)) " tokens without a price" } }
            },
            drawing: ratio("Cost against its budget", spent.cost.unwrap_or(0.0), budget.cost),
        },
        Meter {
            name: "Verdicts",
            numbers: html! {
                span.is-verified { (verified) } small { " verified, " }
                (unverified) small { " unverified, " }
                span.is-contradicted { (contradicted) } small { " contradicted" }
            },
            drawing: bar(
                "Verdicts",
                &[
                    ("completed", count(verified)),
                    ("pending", count(unverified)),
                    ("failed", count(contradicted)),
                ],
                count(verified + unverified + contradicted),
            ),
        },
    ]
}

/// A duration that keeps counting in the browser.
fn since(now: Timestamp, used: Duration) -> Markup {
    let began = now.0.saturating_sub(u64::try_from(used.as_millis()).unwrap_or(0));
    html! { time data-since=(began) { (human(used)) } }
}

#[expect(clippy::cast_precision_loss, reason = "lengths of bars")]
fn seconds(number: u64) -> f64 {
    number as f64
}

/// How many workers may run at the same time in the latest run.
pub fn slots(events: &[Event]) -> usize {
    let latest = events.iter().rev().find_map(|event| match event {
        Event::RunStarted { concurrency, .. } => Some(*concurrency),
        _ => None,
    });
    latest.unwrap_or(0)
}

/// Measured figures of the rounds of each loop: coverage, pass rate, mutants killed.
fn rounds(shot: &Shot<'_>) -> Markup {
    let mut series: BTreeMap<(String, &str), Vec<f64>> = BTreeMap::new();
    for event in shot.events {
        match event {
            Event::PolicyDecided { decision, .. } => {
                for (name, value) in &decision.measured {
                    if let Ok(value) = value.parse::<f64>() {
                        let of = series.entry((decision.by.to_string(), name)).or_default();
                        of.push(value);
                    }
                }
            }
            Event::Finished { task, result, .. } => {
                let rate = result.facts.iter().find(|(name, _)| name == "kill_rate");
                if let Some(rate) = rate.and_then(|(_, rate)| rate.parse::<f64>().ok()) {
                    series
                        .entry((task.clone(), "mutants killed"))
                        .or_default()
                        .push(rate);
                }
            }
            _ => {}
        }
    }
    html! {
        @if !series.is_empty() {
            h2 { "Measured in rounds" }
            div.plots {
                @for ((by, name), values) in &series {
                    @let top = if values.iter().all(|value| *value <= 1.0) { 1.0 } else { 100.0 };
                    @let title = format!("{}: {}", one_line(by), one_line(name).replace('_', " "));
                    div {
                        h3 { (title) }
                        (trend(&title, values, top))
                        table {
                            caption.visually-hidden { (title) }
                            thead { tr { @for round in 0..values.len() { th scope="col" { "Round " (round) } } } }
                            tbody { tr { @for value in values { td { (value) } } } }
                        }
                    }
                }
            }
        }
    }
}
