//! The measured parts of the analyst's report, rewritten by each check.

use std::collections::BTreeMap;

use wavecrew_measure::{CoverageStatus, FileCoverage};

use super::{Data, Score};
use crate::coverage_figures::{lines, merge_coverage, percent};

const BEGIN: &str = "<!-- measured: begin -->";
const END: &str = "<!-- measured: end -->";

/// The report with the measured blocks at the beginning of their sections.
pub fn completed(report: &str, score: &Score, data: &Data) -> String {
    let mut text = without_blocks(report);
    for (heading, block) in [
        ("Score", score_block(score)),
        ("Coverage", coverage_block(data)),
        ("Defect patterns", defects_block(data)),
        ("Loop effectiveness", loop_block(data)),
    ] {
        text = inserted(&text, heading, &block);
    }
    if let Some(block) = &data.what_changed {
        text = inserted(&text, "What changed", block);
    }
    text
}

/// Removes the blocks of an earlier check.
fn without_blocks(report: &str) -> String {
    let mut text = report.to_owned();
    while let Some(from) = text.find(BEGIN) {
        let to = text[from..]
            .find(END)
            .map_or(text.len(), |at| from + at + END.len());
        let to = to + text[to..].len() - text[to..].trim_start_matches('\n').len();
        text.replace_range(from..to, "");
    }
    text
}

/// Puts a block below a heading; a report without the heading gets it at its end.
fn inserted(text: &str, heading: &str, block: &str) -> String {
    let is_heading = |line: &str| {
        let title = line.trim_start_matches('#');
        title.len() < line.len() && title.trim().eq_ignore_ascii_case(heading)
    };
    let mut out = String::with_capacity(text.len() + block.len());
    let mut done = false;
    for line in text.lines() {
        out.push_str(line);
        out.push('\n');
        if !done && is_heading(line) {
            done = true;
            out.push_str(&format!("\n{BEGIN}\n{block}{END}\n\n"));
        }
    }
    if !done {
        out.push_str(&format!("\n## {heading}\n\n{BEGIN}\n{block}{END}\n"));
    }
    out
}

fn score_block(score: &Score) -> String {
    let mut text = format!(
        "**{} of 100**, computed from the measured data; if the text below differs, this score counts.\n\n\
         | Part | Weight | Points | From |\n| --- | --- | --- | --- |\n",
        Score::shown(score.total)
    );
    for part in &score.parts {
        let points = part
            .points
            .map_or("unknown, not counted".to_owned(), Score::shown);
        text.push_str(&format!(
            "| {} | {} % | {points} | {} |\n",
            part.name, part.weight, part.reason
        ));
    }
    text
}

fn coverage_block(data: &Data) -> String {
    let mut text =
        "| Layer | Coverage | Target | Pass rate | Kept tests |\n| --- | --- | --- | --- | --- |\n"
            .to_owned();
    for layer in &data.layers {
        let run = &layer.run;
        text.push_str(&format!(
            "| {} | {} | {} % | {} | {} of {} |\n",
            run.layer,
            run.coverage_achieved
                .as_ref()
                .map_or("unknown".to_owned(), |covered| format!("{covered} %")),
            run.target,
            run.delivered.pass_rate,
            run.kept.tests,
            run.delivered.tests
        ));
    }
    for (layer, whole) in whole_layers(data) {
        text.push_str(&format!(
            "| {layer}, all parts | {} % | {} % | | {} of {} |\n",
            percent(lines(&whole.files)),
            whole.target,
            whole.kept,
            whole.delivered
        ));
    }
    text.push_str("\n| File | Before | After | Uncovered lines |\n| --- | --- | --- | --- |\n");
    for file in &data.after {
        let before = data.before.iter().find(|known| known.path == file.path);
        let ranges: Vec<String> = file.uncovered.iter().take(12).map(ToString::to_string).collect();
        let after = match file.status {
            CoverageStatus::Excluded => "excluded by the coverage settings".to_owned(),
            CoverageStatus::Measured | CoverageStatus::NotLoaded | CoverageStatus::Broken => {
                format!("{} %", percent(file.lines))
            }
        };
        text.push_str(&format!(
            "| {} | {} | {after} | {} |\n",
            file.path.replace('|', "\\|"),
            before.map_or("unknown".to_owned(), |before| format!(
                "{} %",
                percent(before.lines)
            )),
            ranges.join(", ")
        ));
    }
    text.push_str("\n![Coverage per run](coverage.svg)\n");
    text
}

/// The figures of all parts of a layer together.
#[derive(Default)]
struct WholeLayer {
    files: Vec<FileCoverage>,
    target: f64,
    kept: usize,
    delivered: usize,
}

/// The layers of the team that have parts.
fn whole_layers(data: &Data) -> BTreeMap<&str, WholeLayer> {
    let mut layers: BTreeMap<&str, WholeLayer> = BTreeMap::new();
    for part in &data.layers {
        let Some(layer) = &part.part_of else { continue };
        let whole = layers.entry(layer).or_default();
        if let Some(covered) = &part.run.coverage {
            whole.files = merge_coverage(&whole.files, &covered.files);
        }
        whole.target = part.run.target;
        whole.kept += part.run.kept.tests;
        whole.delivered += part.run.delivered.tests;
    }
    layers
}

fn defects_block(data: &Data) -> String {
    let mut groups: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for defect in &data.defects {
        let pattern = if defect.pattern.is_empty() {
            "without a pattern"
        } else {
            &defect.pattern
        };
        groups.entry(pattern).or_default().push(format!(
            "`{}:{}` {}",
            defect.file, defect.line, defect.description
        ));
    }
    let mut text = String::new();
    if groups.is_empty() {
        text.push_str("No defect was reported.\n");
    }
    for (pattern, places) in groups {
        text.push_str(&format!(
            "- {pattern} ({}): {}\n",
            places.len(),
            places.join("; ")
        ));
    }
    let suspects: Vec<String> = data
        .layers
        .iter()
        .flat_map(|layer| {
            layer
                .run
                .suspected_defects
                .iter()
                .map(|test| format!("{} `{test}`", layer.run.layer))
        })
        .collect();
    if !suspects.is_empty() {
        text.push_str(&format!(
            "- set aside because they fail in the same way each time, so that either the test or the code is wrong: {}\n",
            suspects.join(", ")
        ));
    }
    text
}

fn loop_block(data: &Data) -> String {
    let mut text =
        "| Layer | Run | Pass rate | Coverage | Tests |\n| --- | --- | --- | --- | --- |\n".to_owned();
    for layer in &data.layers {
        for (nth, run) in (1..).zip(layer.history.iter().chain([&layer.run])) {
            let covered = run.coverage_achieved.as_deref().unwrap_or("unknown");
            text.push_str(&format!(
                "| {} | {nth} | {} | {covered} % | {} |\n",
                run.layer, run.delivered.pass_rate, run.delivered.tests
            ));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_blocks_stand_once_below_their_headings() {
        let data = Data {
            layers: Vec::new(),
            baseline_known: true,
            baseline_seconds: 0.0,
            before: Vec::new(),
            after: Vec::new(),
            defects: Vec::new(),
            what_changed: Some("1 difference\n".to_owned()),
        };
        let score = Score::of(&data);
        let report = "# Report\n\n## Score\n\n100 of 100!\n\n## Coverage\n\nfine\n";
        let once = completed(report, &score, &data);
        assert!(
            once.contains("## Score\n\n<!-- measured: begin -->\n**0.0 of 100**"),
            "{once}"
        );
        assert!(
            once.contains("100 of 100!") && once.contains("## Loop effectiveness"),
            "{once}"
        );
        let twice = completed(&once, &score, &data);
        assert_eq!(twice.matches(BEGIN).count(), 5);
        assert!(
            twice.contains("## What changed\n\n<!-- measured: begin -->\n1 difference\n"),
            "{twice}"
        );
        assert!(twice.contains("100 of 100!"), "{twice}");
    }
}
