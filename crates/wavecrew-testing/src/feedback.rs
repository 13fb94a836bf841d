//! The feedback to a worker after a run, most useful first: failing tests with message and code, uncovered lines with
//! their source, surviving mutants, tests that add nothing, earlier rounds. Also `results/feedback-{layer}.md`.

use std::fs;
use std::path::Path;

use wavecrew_measure::{CoverageStatus, FileCoverage, LineRange};
use wavecrew_syntax::{Grammar, tests};

use crate::check::Case;
use crate::coverage_figures::percent;
use crate::environment::{EnvironmentError, TestEnvironment};
use crate::result::RunResult;
use crate::rounds;
use crate::select::{Dropped, find};
use wavecrew_session::SessionPaths;

/// Characters of one failure's message.
const MESSAGE: usize = 1500;
/// Characters of one test's source.
const SOURCE: usize = 1500;
/// Lines of source around uncovered lines.
const AROUND: u32 = 2;
const FAILURES: usize = 12;
const UNCOVERED_LINES: usize = 250;
const SURVIVORS: usize = 10;

pub fn write(
    environment: &TestEnvironment,
    case: &Case<'_>,
    folder: &Path,
    result: &RunResult,
) -> Result<String, EnvironmentError> {
    let mut text = summary(case, result);
    failures(&mut text, folder, result);
    dropped_before(&mut text, case);
    uncovered(&mut text, environment, result);
    survivors(&mut text, result, environment.scope.min_effectiveness);
    redundant(&mut text, result);
    history(&mut text, case);
    fs::write(SessionPaths::at(case.session).feedback(case.layer), &text)?;
    Ok(text)
}

fn summary(case: &Case<'_>, result: &RunResult) -> String {
    let covered = result
        .coverage_achieved
        .as_deref()
        .map_or("unknown (no coverage tool)".to_owned(), |covered| {
            format!("{covered} % of the lines in scope, target {} %", case.target)
        });
    format!(
        "# Measured run of {}\n\n{} of {} tests pass (pass rate {}; 0.95 is needed). Coverage by passing tests: {covered}.\n",
        case.layer, result.delivered.passed, result.delivered.tests, result.delivered.pass_rate
    )
}

fn failures(text: &mut String, folder: &Path, result: &RunResult) {
    let count = result.faulty().count();
    if count == 0 {
        return;
    }
    text.push_str("\n## Repair these tests first\n");
    for test in result.faulty().take(FAILURES) {
        text.push_str(&format!("\n### `{}` {}\n\n", test.id, test.why.description()));
        if !test.message.is_empty() {
            text.push_str(&fenced("text", &cut(&test.message, MESSAGE)));
        }
        if let Some(source) = source_of(folder, test) {
            let language = Path::new(&test.id.file)
                .extension()
                .unwrap_or_default()
                .to_string_lossy();
            text.push_str(&fenced(&language, &cut(&source, SOURCE)));
        }
    }
    if count > FAILURES {
        text.push_str(&format!("\n... and {} more\n", count - FAILURES));
    }
}

/// Tests that were dropped before the run, because they could not prove anything.
fn dropped_before(text: &mut String, case: &Case<'_>) {
    let dropped = rounds::dropped(case.session, case.layer);
    if dropped.is_empty() {
        return;
    }
    let folder = SessionPaths::relative().dropped_tests(case.layer);
    text.push_str(&format!(
        "\n## Tests that were dropped before the run\n\nTheir files are in `{}` as they were delivered. Correct them and deliver them again:\n\n",
        folder.display()
    ));
    for test in dropped {
        let message = cut(&test.message, MESSAGE / 5);
        let message = if message.is_empty() {
            message
        } else {
            format!(": {message}")
        };
        text.push_str(&format!("- `{}` {}{message}\n", test.id, test.why.description()));
    }
}

fn redundant(text: &mut String, result: &RunResult) {
    if result.redundant().next().is_none() {
        return;
    }
    text.push_str(
        "\n## Tests that add nothing\n\nOther tests run the same code and kill the same mutants, so these are dropped. \
         Make them check something else, or delete them:\n\n",
    );
    for test in result.redundant() {
        text.push_str(&format!("- `{}`\n", test.id));
    }
}

fn source_of(folder: &Path, test: &Dropped) -> Option<String> {
    let path = folder.join(&test.id.file);
    let source = fs::read_to_string(&path).ok()?;
    let shapes = tests(Grammar::of(&path)?, &source);
    let shape = find(&shapes, &test.id.name)?;
    let lines = source.lines().skip(shape.lines.first as usize - 1);
    let count = (shape.lines.last + 1 - shape.lines.first) as usize;
    Some(lines.take(count).collect::<Vec<_>>().join("\n"))
}

fn uncovered(text: &mut String, environment: &TestEnvironment, result: &RunResult) {
    let Some(covered) = &result.coverage else { return };
    let mut files: Vec<&FileCoverage> = covered
        .files
        .iter()
        .filter(|file| file.status != CoverageStatus::Excluded && !file.uncovered.is_empty())
        .collect();
    if files.is_empty() {
        return;
    }
    files.sort_by_key(|file| std::cmp::Reverse(file.lines.total - file.lines.covered));
    text.push_str("\n## Lines that no passing test runs\n");
    let mut left = UNCOVERED_LINES;
    for file in files {
        text.push_str(&format!(
            "\n### `{}`: {} % covered",
            file.path,
            percent(file.lines)
        ));
        text.push_str(match file.status {
            CoverageStatus::NotLoaded => ", no passing test loads it\n\n",
            CoverageStatus::Broken => ", it does not parse\n\n",
            CoverageStatus::Measured | CoverageStatus::Excluded => "\n\n",
        });
        if left == 0 {
            continue;
        }
        let source =
            String::from_utf8_lossy(&fs::read(environment.tree().join(&file.path)).unwrap_or_default())
                .into_owned();
        let language = Path::new(&file.path)
            .extension()
            .unwrap_or_default()
            .to_string_lossy();
        let shown = excerpt(&source, &file.uncovered, &file.missed, &mut left);
        text.push_str(&fenced(&language, &shown));
    }
}

/// Uncovered ranges with the lines around them; `>` marks what no test ran.
fn excerpt(source: &str, ranges: &[LineRange], missed: &[u32], left: &mut usize) -> String {
    let lines: Vec<&str> = source.lines().collect();
    let mut out = String::new();
    let mut shown_to = 0;
    for range in ranges {
        let first = range.first.saturating_sub(AROUND).max(shown_to + 1).max(1);
        let last = (range.last + AROUND).min(u32::try_from(lines.len()).unwrap_or(u32::MAX));
        if shown_to > 0 && first > shown_to + 1 {
            out.push_str("  ...\n");
        }
        for number in first..=last {
            if *left == 0 {
                out.push_str("  ...\n");
                return out;
            }
            *left -= 1;
            let mark = if missed.contains(&number) { '>' } else { ' ' };
            out.push_str(&format!("{mark} {number:>4} {}\n", lines[number as usize - 1]));
        }
        shown_to = shown_to.max(last);
    }
    out
}

fn survivors(text: &mut String, result: &RunResult, min_effectiveness: u8) {
    let Some(killed) = result
        .mutation
        .as_ref()
        .filter(|killed| !killed.survivors.is_empty())
    else {
        return;
    };
    text.push_str(&format!(
        "\n## Surviving mutants\n\n{} of {} mutants are killed, {min_effectiveness} % are needed. A good assertion would kill these:\n\n",
        killed.killed, killed.total
    ));
    for survivor in killed.survivors.iter().take(SURVIVORS) {
        text.push_str(&format!(
            "- `{}` line {}: {}\n",
            survivor.file, survivor.line, survivor.description
        ));
    }
}

/// The results of earlier rounds.
fn history(text: &mut String, case: &Case<'_>) {
    let mut lines = String::new();
    let history = rounds::history(case.session, case.layer, case.task, case.attempt);
    for (nth, run) in (1..).zip(history) {
        let covered = run.coverage_achieved.unwrap_or_else(|| "unknown".to_owned());
        lines.push_str(&format!(
            "- run {nth}: pass rate {}, coverage {covered} %, {} tests\n",
            run.delivered.pass_rate, run.delivered.tests
        ));
        for test in run.dropped.iter().take(5) {
            lines.push_str(&format!("  - `{}` {}\n", test.id, test.why.description()));
        }
    }
    if !lines.is_empty() {
        text.push_str("\n## What was tried before\n\n");
        text.push_str(&lines);
    }
}

/// A code block whose fence does not occur in its content.
fn fenced(language: &str, content: &str) -> String {
    let mut fence = "```".to_owned();
    while content.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}{language}\n{}\n{fence}\n", content.trim_end())
}

/// Beginning and end of a long text: frameworks print the cause at one of them.
fn cut(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let chars: Vec<char> = text.chars().collect();
    let half = limit / 2;
    let head: String = chars[..half].iter().collect();
    let tail: String = chars[chars.len() - half..].iter().collect();
    format!("{head}\n[...]\n{tail}")
}
