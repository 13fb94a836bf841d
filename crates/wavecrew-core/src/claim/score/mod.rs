//! Scores of checkpoints and gates: whether they have reasons, and whether the figures of a report and of its document
//! agree.

mod figure;

pub(crate) use figure::figure;

use super::markdown::Outline;
use super::normal::usual_form;
use super::rules::{Problem, Rule, TruthKind};
use super::text::{gap, names_a_place, particulars, quoted};
use crate::id::TaskIx;
use crate::plan::Plan;
use crate::team::{GateKind, Team};
use figure::{Figure, figure_first, points_of};

/// Figures may differ by this share of the scale: people round.
const TOLERANCE: f64 = 0.03;
/// A mean may be this far below the score that is stated for it.
const MEAN_TOLERANCE: f64 = 0.1;
const REASONS: [&str; 6] = [
    "reasons",
    "reason",
    "rationale",
    "why",
    "explanation",
    "justification",
];
const VALUE_COLUMNS: [&str; 9] = [
    "value", "score", "points", "rating", "分值", "分数", "wert", "punkte", "valor",
];
const TOTALS: [&str; 12] = [
    "score",
    "total",
    "overall",
    "mean",
    "average",
    "总分",
    "得分",
    "gesamt",
    "punktzahl",
    "puntuación",
    "合計",
    "итого",
];

/// A score, its scale, and its verdict.
struct Given<'a> {
    score: f64,
    scale: f64,
    passes: bool,
    blocks: bool,
    dimensions: Vec<&'a str>,
}

/// What is wrong with the score that a task reports, compared with its document. The text of each problem
/// follows the document's name.
pub fn score_problems(
    team: &Team,
    plan: &Plan,
    task: TaskIx,
    reported: &[(String, String)],
    document: &str,
) -> Vec<Problem> {
    let Some(given) = given(team, plan, task, reported) else {
        return Vec::new();
    };
    let headings: Vec<String> = given.dimensions.iter().map(|name| (*name).to_owned()).collect();
    let text = usual_form(document, &headings);
    let outline = Outline::read(&text);
    let mut problems = if given.dimensions.is_empty() {
        checkpoint(&given, &text, reported)
    } else {
        dimensions(&given, &outline, reported)
    };
    problems.extend(written_total(&given, &text));
    problems.extend(written_verdict(&given, &text));
    TruthKind::named("score").keep(&mut problems);
    problems
}

fn given<'a>(team: &'a Team, plan: &Plan, task: TaskIx, reported: &[(String, String)]) -> Option<Given<'a>> {
    let number = |name: &str| {
        let (_, text) = reported
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        figure(text)
    };
    if let Some(checkpoint) = team.checkpoint(plan.role(task)) {
        let score = number("score")?.on(1.0);
        return Some(Given {
            score,
            scale: 1.0,
            passes: score >= checkpoint.pass,
            blocks: score < checkpoint.warn,
            dimensions: Vec::new(),
        });
    }
    team.gates.iter().find_map(|gate| {
        let GateKind::Score {
            after,
            pass,
            revise,
            dimensions,
            score_column,
            ..
        } = gate
        else {
            return None;
        };
        plan.id(task).strip_prefix(after.as_str())?.strip_prefix('-')?;
        let score = number(score_column.as_deref().unwrap_or("score"))
            .or_else(|| number("score"))?
            .on(100.0);
        Some(Given {
            score,
            scale: 100.0,
            passes: score >= *pass,
            blocks: score < *revise,
            dimensions: dimensions
                .iter()
                .map(|dimension| dimension.name.as_str())
                .collect(),
        })
    })
}

fn checkpoint(given: &Given<'_>, text: &str, reported: &[(String, String)]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let (values, statements) = checks(text);
    #[expect(clippy::cast_precision_loss, reason = "a document has few checks")]
    let mean = values.iter().map(|value| value.on(1.0)).sum::<f64>() / values.len().max(1) as f64;
    if values.len() > 1 && given.score > mean + MEAN_TOLERANCE {
        problems.push(Problem::new(
            Rule::Disagrees,
            format!(
                "has values with a mean of {mean:.2}, but the score is {}",
                given.score
            ),
        ));
    }
    let reasons = reported
        .iter()
        .filter(|(name, _)| REASONS.iter().any(|known| name.eq_ignore_ascii_case(known)));
    let reasons: Vec<&str> = reasons.map(|(_, text)| text.as_str()).collect();
    let statements = without_numbers(&format!("{statements}\n{}", reasons.join("\n")));
    if particulars(&without_words_of_scores(&statements)) < 2 {
        problems.push(Problem::new(
            Rule::Unreasoned,
            format!("gives no reasons for the score {}", given.score),
        ));
    } else if let Some(reason) = same_reason(text) {
        problems.push(Problem::new(
            Rule::Unreasoned,
            format!("gives one reason for all checks: {}", quoted(reason)),
        ));
    } else if given.passes && contradicts_score(&reasons) {
        problems.push(Problem::new(
            Rule::Unreasoned,
            format!(
                "gives only reasons against the score {}: {}",
                given.score,
                quoted(&reasons.join("; "))
            ),
        ));
    }
    problems
}

/// The reason that all checks of a table have, if there are several.
fn same_reason(text: &str) -> Option<&str> {
    let rows = text.lines().filter_map(|line| line.trim().strip_prefix('|'));
    let rows: Vec<Vec<&str>> = rows
        .map(|row| row.trim_end_matches('|').split('|').map(str::trim).collect())
        .collect();
    let reasons: Vec<&str> = rows
        .iter()
        .filter(|cells| cells.len() > 2 && cells.iter().any(|cell| figure(cell).is_some()))
        .filter_map(|cells| cells.last().copied())
        .collect();
    let first = *reasons.first()?;
    let is_text = first.split_whitespace().count() > 1 && figure(first).is_none();
    (is_text && reasons.len() > 1 && reasons.iter().all(|reason| *reason == first)).then_some(first)
}

/// Whether each of several reasons states that something is missing or wrong as a whole.
fn contradicts_score(reasons: &[&str]) -> bool {
    const OBJECTIONS: [&str; 20] = [
        "contradict",
        "is missing",
        "are missing",
        "missing from",
        "has no ",
        "have no ",
        "does not exist",
        "do not exist",
        "is empty",
        "are empty",
        "unusable",
        "incomplete",
        "is broken",
        "fehlt",
        "fehlen",
        "widersprech",
        "widerspricht",
        "缺少",
        "缺失",
        "矛盾",
    ];
    let statements: Vec<String> = reasons
        .iter()
        .flat_map(|reason| reason.split([';', '\n']))
        .map(|reason| reason.trim().to_lowercase())
        .filter(|reason| !reason.is_empty())
        .collect();
    statements.len() > 1
        && statements
            .iter()
            .all(|reason| OBJECTIONS.iter().any(|phrase| reason.contains(phrase)))
}

/// The values of the checks in a table or a list, and all other text.
fn checks(text: &str) -> (Vec<Figure>, String) {
    let (mut values, mut statements) = (Vec::new(), String::new());
    let mut column = None;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let bare = line.trim();
        if let Some(row) = bare.strip_prefix('|') {
            let cells: Vec<&str> = row.trim_end_matches('|').split('|').map(str::trim).collect();
            let named = cells
                .iter()
                .position(|cell| VALUE_COLUMNS.contains(&cell.to_lowercase().as_str()));
            if named.is_some() {
                column = named;
                continue;
            }
            if cells
                .iter()
                .all(|cell| cell.chars().all(|c| matches!(c, '-' | ':' | ' ')))
            {
                continue;
            }
            values.extend(column.and_then(|at| cells.get(at)).and_then(|cell| figure(cell)));
            let reasons = cells.iter().skip(1).filter(|cell| gap(cell).is_none());
            statements.extend(reasons.flat_map(|cell| [*cell, " "]));
        } else {
            column = None;
            let item = bare
                .strip_prefix("- ")
                .or(bare.strip_prefix("* "))
                .and_then(|item| item.split_once([':', '：']));
            let is_total = |label: &str| TOTALS.iter().any(|word| label.to_lowercase().contains(word));
            match item.filter(|(label, _)| !is_total(label)) {
                Some((_, rest)) => {
                    values.extend(figure_first(rest));
                    statements.push_str(rest);
                }
                None if gap(bare).is_none() => statements.push_str(bare),
                None => {}
            }
        }
        statements.push('\n');
    }
    (values, statements)
}

fn dimensions(given: &Given<'_>, outline: &Outline, reported: &[(String, String)]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut points = Vec::new();
    let mut bare = Vec::new();
    let mut places = 0;
    for name in &given.dimensions {
        let sections = outline.find(name);
        let Some(section) = sections.first() else {
            continue;
        };
        let body: Vec<&str> = section
            .blocks
            .iter()
            .map(|&at| outline.blocks[at].text.as_str())
            .collect();
        let body = body.join("\n");
        let written = points_of(&section.title).or_else(|| points_of(&body));
        if let Some(written) = written {
            let written = written.on(100.0);
            let given = reported
                .iter()
                .find(|(known, _)| known.eq_ignore_ascii_case(name))
                .and_then(|(_, text)| figure(text));
            if let Some(given) = given
                .map(|given| given.on(100.0))
                .filter(|given| (given - written).abs() > 100.0 * TOLERANCE)
            {
                problems.push(Problem::new(
                    Rule::Disagrees,
                    format!("gives {written} points for `{name}`, and {given} were reported"),
                ));
            }
            points.push(written);
        }
        if particulars(&without_numbers(&body)) == 0 {
            bare.push(*name);
        }
        let evidence = body.trim_start_matches(|c: char| !c.is_alphabetic() && !matches!(c, '`' | '"'));
        places += usize::from(names_a_place(evidence));
    }
    if points.len() == given.dimensions.len() && problems.is_empty() {
        #[expect(clippy::cast_precision_loss, reason = "a gate has few dimensions")]
        let mean = points.iter().sum::<f64>() / points.len() as f64;
        if (mean - given.score).abs() > 100.0 * TOLERANCE {
            problems.push(Problem::new(
                Rule::Disagrees,
                format!(
                    "gives points with a mean of {mean:.1}, but the score is {}",
                    given.score
                ),
            ));
        }
    }
    if !bare.is_empty() {
        problems.push(Problem::new(
            Rule::Unreasoned,
            format!("gives no evidence for {}", bare.join(", ")),
        ));
    } else if places == 0 && !points.is_empty() {
        problems.push(Problem::new(
            Rule::Unreasoned,
            "gives points, and names no place of a document, no id and no figure for any of them",
        ));
    }
    problems
}

/// A total in the document that differs from the score.
fn written_total(given: &Given<'_>, text: &str) -> Option<Problem> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('|'));
    let mut totals = lines.filter_map(|line| {
        let lower = line.to_lowercase();
        let (at, word) = TOTALS
            .iter()
            .filter_map(|word| lower.find(word).map(|at| (at, word)))
            .min()?;
        let rest = lower[at + word.len()..].trim_start_matches(|c: char| !c.is_alphanumeric());
        // `Score: 0.45`, `I score 0.85`, `Total: 45 of 100`; not `Score of the brief: 3 remarks`.
        let rest = ["score", "is", "of"].iter().fold(rest, |rest, word| {
            rest.strip_prefix(word)
                .map_or(rest, |rest| rest.trim_start_matches([':', ' ', '*', '=']))
        });
        rest.starts_with(|c: char| c.is_ascii_digit()).then_some(())?;
        Some((line, figure_first(rest)?.on(given.scale)))
    });
    let apart = |total: f64| (total - given.score).abs() > given.scale * TOLERANCE * 2.0;
    let (line, _) = totals.find(|(_, total)| apart(*total))?;
    Some(Problem::new(
        Rule::Disagrees,
        format!("states {}, but the score is {}", quoted(line), given.score),
    ))
}

/// A verdict in the document that does not follow from the score.
fn written_verdict(given: &Given<'_>, text: &str) -> Option<Problem> {
    const LABELS: [&str; 5] = [
        "verdict:",
        "recommendation:",
        "decision:",
        "conclusion:",
        "结论：",
    ];
    const NEGATIONS: [&str; 8] = [
        "block",
        "not ready",
        "reject",
        "fail",
        "no go",
        "no-go",
        "must not",
        "waste",
    ];
    const FOR: [&str; 5] = ["pass", "approve", "ready", "accept", "go"];
    let line = text.lines().find(|line| {
        LABELS
            .iter()
            .any(|label| line.to_lowercase().replace('*', "").contains(label))
    })?;
    let lower = line.to_lowercase();
    let after = lower.split_once([':', '：']).map_or("", |(_, after)| after);
    let first = after.split('.').next().unwrap_or_default();
    let against = NEGATIONS.iter().any(|word| first.contains(word));
    let in_favour = !against
        && FOR.iter().any(|word| {
            first
                .split_whitespace()
                .any(|own| own.trim_matches(|c: char| !c.is_alphanumeric()).starts_with(word))
        });
    ((against && given.passes) || (in_favour && given.blocks)).then(|| {
        Problem::new(
            Rule::Disagrees,
            format!("states {}, but the score is {}", quoted(line), given.score),
        )
    })
}

/// Without what can be said of every score.
fn without_words_of_scores(text: &str) -> String {
    const OF_SCORES: &str =
        " score scored scores point points threshold reached checkpoint checked checks total maximum ";
    let is_own = |word: &&str| !OF_SCORES.contains(&format!(" {} ", word.to_lowercase()));
    let words = text.split(|c: char| c.is_whitespace() || ".,;:|".contains(c));
    words.filter(is_own).collect::<Vec<_>>().join(" ")
}

fn without_numbers(text: &str) -> String {
    text.replace(|c: char| c.is_ascii_digit(), " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons() {
        assert!(contradicts_score(&[
            "the brief has no goals; most documents are missing"
        ]));
        assert!(!contradicts_score(&[
            "the brief has no goals; FR-002 says id in place of number"
        ]));
        assert!(!contradicts_score(&["the brief is missing"]));
    }
}
