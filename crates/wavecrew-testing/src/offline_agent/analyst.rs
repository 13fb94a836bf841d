//! The analyst without a model: a report from the measured files, with recommendations.

use super::{RoleResult, RoleTask};
use crate::result::RunResult;
use crate::what_changed;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use wavecrew_core::view::count;
use wavecrew_session::SessionPaths;

/// Recommendations, most valuable first.
const MOST: usize = 7;

pub fn work(task: &RoleTask) -> Result<RoleResult, String> {
    let results = task.results();
    let mut text = String::from("# Quality report\n\n## Score\n\n");
    text.push_str("The check of this report computes the score and its four parts from the measured data and adds them here.\n");
    if what_changed::document(&task.session).is_some() {
        text.push_str("\n## What changed\n");
    }
    coverage(&mut text, &results);
    defects(&mut text, task, &results);
    rounds(&mut text, task);
    let advice = recommendations(&results);
    text.push_str("\n## Recommendations\n\n");
    for (at, line) in advice.iter().enumerate() {
        let _ = writeln!(text, "{}. {line}", at + 1);
    }
    if advice.is_empty() {
        text.push_str("Nothing is open: every target is met and no mutant survives.\n");
    }
    task.write(SessionPaths::relative().quality_report(), &text)?;
    let reached = results.iter().map(|result| {
        let coverage = result.coverage_achieved.as_deref().unwrap_or("unmeasured");
        format!("{} {coverage} of {} %", result.layer, result.target)
    });
    let reached: Vec<String> = reached.collect();
    Ok(RoleResult::with(format!(
        "Coverage: {}. {} in analysis/quality-report.md.",
        if reached.is_empty() {
            "nothing was measured".to_owned()
        } else {
            reached.join(", ")
        },
        count(advice.len(), "recommendation")
    )))
}

fn coverage(text: &mut String, results: &[RunResult]) {
    text.push_str("\n## Coverage\n\n| layer | target | achieved | tests kept | pass rate |\n| --- | --- | --- | --- | --- |\n");
    for result in results {
        let _ = writeln!(
            text,
            "| {} | {} % | {} | {} | {} |",
            result.layer,
            result.target,
            result
                .coverage_achieved
                .as_deref()
                .map_or("not measured".to_owned(), |c| format!("{c} %")),
            result.kept.tests,
            result.pass_rate
        );
    }
    for result in results {
        let Some(covered) = &result.coverage else { continue };
        let open: Vec<_> = covered
            .files
            .iter()
            .filter(|file| !file.uncovered.is_empty())
            .collect();
        if open.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\nLines that {} does not reach:\n", result.layer);
        for file in open {
            let ranges: Vec<String> = file.uncovered.iter().map(ToString::to_string).collect();
            let _ = writeln!(text, "- `{}`: {}", file.path, ranges.join(", "));
        }
    }
}

fn defects(text: &mut String, task: &RoleTask, results: &[RunResult]) {
    text.push_str("\n## Defect patterns\n\n");
    let mut patterns: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let board = fs::read_to_string(SessionPaths::at(&task.session).discoveries_file()).unwrap_or_default();
    for line in board.lines() {
        let Ok(entry) = serde_json::from_str::<serde_json::Value>(line) else {
            continue;
        };
        if entry["type"] == "defect_found" {
            let word = |name: &str| entry["data"][name].as_str().unwrap_or_default().to_owned();
            let place = format!(
                "`{}` line {}: {}",
                word("file"),
                entry["data"]["line"],
                word("description")
            );
            patterns.entry(word("pattern")).or_default().push(place);
        }
    }
    for result in results {
        for id in &result.suspected_defects {
            let place = format!("`{}` {}: fails in the same way each time", id.file, id.name);
            patterns
                .entry("a test that fails".to_owned())
                .or_default()
                .push(place);
        }
    }
    if patterns.is_empty() {
        text.push_str("None found.\n");
    }
    for (pattern, mut places) in patterns {
        places.dedup();
        let _ = writeln!(text, "- {pattern}, {}:", count(places.len(), "place"));
        for place in places {
            let _ = writeln!(text, "  - {place}");
        }
    }
}

fn rounds(text: &mut String, task: &RoleTask) {
    text.push_str("\n## Loop effectiveness\n\n");
    let state = fs::read(SessionPaths::at(&task.session).gc_state()).unwrap_or_default();
    let state: serde_json::Value = serde_json::from_slice(&state).unwrap_or_default();
    let history = state["coverage_history"].as_array().cloned().unwrap_or_default();
    if history.is_empty() {
        text.push_str("No layer has been measured yet.\n");
        return;
    }
    text.push_str("| layer | round | pass rate | coverage | decision |\n| --- | --- | --- | --- | --- |\n");
    for entry in history {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} |",
            entry["layer"].as_str().unwrap_or_default(),
            entry["round"],
            entry["pass_rate"],
            entry["coverage_achieved"],
            entry["outcome"].as_str().unwrap_or_default()
        );
    }
}

fn recommendations(results: &[RunResult]) -> Vec<String> {
    let mut advice = Vec::new();
    for result in results {
        for id in &result.suspected_defects {
            advice.push(format!(
                "Look at the test {} of `{}`: it fails each time, so either the test or the code is wrong.",
                id.name, id.file
            ));
        }
        let files = result.coverage.iter().flat_map(|covered| &covered.files);
        let mut short: Vec<_> = files.filter(|file| !file.uncovered.is_empty()).collect();
        short.sort_by_key(|file| std::cmp::Reverse(file.lines.total - file.lines.covered));
        for file in short.iter().take(3) {
            advice.push(format!(
                "Test lines {} of `{}` by hand in {}: {} lines are not reached.",
                file.uncovered[0],
                file.path,
                result.layer,
                file.lines.total - file.lines.covered
            ));
        }
        for survivor in result
            .mutation
            .iter()
            .flat_map(|killed| &killed.survivors)
            .take(3)
        {
            advice.push(format!(
                "Add an assertion that kills the mutant in `{}` line {}: {}.",
                survivor.file, survivor.line, survivor.description
            ));
        }
    }
    advice.dedup();
    advice.truncate(MOST);
    advice
}
