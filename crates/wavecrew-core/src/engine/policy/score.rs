//! Completes a report with what policies need: scores, and the verdicts that follow from them. A worker's own verdict does
//! not count against its score.

use crate::claim::figure;
use crate::engine::ledger::set;
use crate::event::TaskResult;
use crate::id::TaskIx;
use crate::plan::Plan;
use crate::team::{Demand, Dimension, DimensionSource, Team};
use crate::words::is_form_of;

/// A mean may differ by this much from what was reported: people round.
const ROUNDING: f64 = 1.5;

/// Completes a report with computed values, or returns what is missing.
pub fn complete_report(
    team: &Team,
    plan: &Plan,
    task: TaskIx,
    report: &mut TaskResult,
) -> Result<(), String> {
    if !team.has_policies() {
        return Ok(());
    }
    if let Some(checkpoint) = team.checkpoint(plan.role(task)) {
        let score = number(report, "score", 1.0)?;
        if value(report, "score").is_some_and(|reported| reported.trim().parse::<f64>().is_err()) {
            set_value(report, "score", two(score));
        }
        if let Some(column) = &checkpoint.verdict_column {
            let verdict = checkpoint.verdict(score).as_str();
            set(&mut report.outputs, column, verdict.to_owned());
        }
    }
    for gate in team.gates_after(plan.id(task)) {
        match gate.demand() {
            Some(Demand::Score { dimensions, column }) => {
                let score = points(report, dimensions, column)?;
                set(&mut report.facts, "score", two(score));
                if let Some(column) = column {
                    set(&mut report.outputs, column, two(score));
                }
            }
            Some(Demand::Verdict(words)) => {
                let reported = value(report, "verdict").unwrap_or_default().to_owned();
                let bare = reported.trim_matches(|c: char| !c.is_alphanumeric());
                let known = words.iter().find(|word| is_form_of(bare, word));
                let Some(word) = known else {
                    return Err(format!(
                        "the report needs `verdict`, one of {}, and has `{reported}`",
                        words.join(", ")
                    ));
                };
                set(&mut report.facts, "verdict", (*word).to_owned());
            }
            None => {}
        }
    }
    Ok(())
}

/// Replaces a value where it stands.
fn set_value(report: &mut TaskResult, name: &str, text: String) {
    let mut values = report.outputs.iter_mut().chain(&mut report.facts);
    if let Some((_, value)) = values.find(|(known, _)| known.eq_ignore_ascii_case(name)) {
        *value = text;
    }
}

/// The weighted mean of the scores per dimension; without those, the overall score.
fn points(report: &TaskResult, dimensions: &[Dimension], column: Option<&str>) -> Result<f64, String> {
    let reported = dimensions.iter().filter(|d| d.from == DimensionSource::Reported);
    let given: Vec<(&Dimension, f64)> = reported
        .filter_map(|dimension| {
            let points = figure(value(report, &dimension.name)?)?;
            Some((dimension, points.on(100.0)))
        })
        .collect();
    let named = column.unwrap_or("score");
    if given.is_empty() || given.len() < dimensions.len() {
        return number(report, named, 100.0);
    }
    if let Some((dimension, points)) = given.iter().find(|(_, p)| !(0.0..=100.0).contains(p)) {
        return Err(format!(
            "`{}` is {points}, but must be from 0 to 100",
            dimension.name
        ));
    }
    let total: f64 = given.iter().map(|(d, points)| f64::from(d.weight) * points).sum();
    let weights: u32 = given.iter().map(|(d, _)| d.weight).sum();
    let mean = total / f64::from(weights.max(1));
    match value(report, named)
        .and_then(figure)
        .map(|reported| reported.on(100.0))
    {
        Some(reported) if (reported - mean).abs() > ROUNDING => Err(format!(
            "`{named}` is {reported}, and the reported dimensions make {}",
            two(mean)
        )),
        Some(_) | None => Ok(mean),
    }
}

fn number(report: &TaskResult, name: &str, most: f64) -> Result<f64, String> {
    let Some(text) = value(report, name) else {
        return Err(format!(
            "the report needs `{name}`, a number from 0 to {most}, and has none"
        ));
    };
    match figure(text).map(|figure| figure.on(most)) {
        Some(number) if (0.0..=most).contains(&number) => Ok(number),
        Some(_) | None => Err(format!(
            "`{name}` is `{text}`, but must be a number from 0 to {most}"
        )),
    }
}

/// A value by name, in any case: agents write names differently.
fn value<'a>(report: &'a TaskResult, name: &str) -> Option<&'a str> {
    let mut values = report.outputs.iter().chain(&report.facts);
    let found = values.find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.as_str())
}

/// With at most two decimals, without trailing zeros.
fn two(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
