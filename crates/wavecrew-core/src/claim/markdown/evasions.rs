//! Documents that have all their sections and leave open what they are about.

use super::{Block, Outline};
use crate::claim::heading::fit;
use crate::claim::rules::{Problem, Rule};
use crate::claim::text::{names_a_place, only_asks, only_defers, only_hopes, quoted};

/// Sections that leave their content open: two that only ask, one that only defers, goals that only hope.
pub(super) fn evasions(parts: &[(&str, Vec<&Block>)]) -> Vec<Problem> {
    let texts: Vec<(&str, String)> = parts
        .iter()
        .filter(|(wanted, _)| !wanted.is_empty())
        .map(|(wanted, blocks)| {
            let contents = blocks.iter().filter(|block| block.has_content());
            let texts: Vec<&str> = contents.map(|block| block.text.as_str()).collect();
            (*wanted, texts.join("\n"))
        })
        .collect();
    let mut problems = Vec::new();
    let asking: Vec<&(&str, String)> = texts.iter().filter(|(_, text)| only_asks(text)).collect();
    if let [(wanted, text), _, ..] = asking.as_slice() {
        problems.push(Problem::new(
            Rule::Thin,
            format!(
                "only asks questions under {} headings; under `{wanted}`: {}",
                asking.len(),
                quoted(text)
            ),
        ));
    }
    let teaching: Vec<&(&str, String)> = texts.iter().filter(|(_, text)| teaches(text)).collect();
    if let [(wanted, text), _, _, ..] = teaching.as_slice() {
        problems.push(Problem::new(
            Rule::Thin,
            format!(
                "describes what such a document contains instead of its content, under `{wanted}`: {}",
                quoted(text)
            ),
        ));
    }
    for (wanted, text) in &texts {
        if only_defers(text) {
            let text = format!("postpones the content of `{wanted}`: {}", quoted(text));
            problems.push(Problem::new(Rule::Gaps, text));
        } else if fit(wanted, "Goals") > 0 && only_hopes(text) {
            let text = format!("has goals that any result would meet: {}", quoted(text));
            problems.push(Problem::new(Rule::Thin, text));
        }
    }
    problems
}

/// Whether a text is about documents of its kind, as in `good goals are specific, measurable`.
fn teaches(text: &str) -> bool {
    const PHRASES: [&str; 14] = [
        "a vision says",
        "a vision describes",
        "vision statement",
        "vision should",
        "problem statement",
        "problem section",
        "users are best described",
        "should be described",
        "personas with",
        "target group should",
        "good goals",
        "goals should be",
        "specific, measurable",
        "this section",
    ];
    let lower = text.to_lowercase();
    PHRASES.iter().any(|phrase| lower.contains(phrase)) && !names_a_place(text)
}

/// Whether a document about the parts of a program has phrases that fit every program, and names nothing that could be
/// looked up.
pub(super) fn without_places(outline: &Outline, headings: &[String]) -> Option<Problem> {
    const PHRASES: [&str; 13] = [
        "presentation layer",
        "business layer",
        "data layer",
        "well-defined interface",
        "best practices",
        "modern and proven",
        "proven stack",
        "industry standard",
        "seamlessly",
        "appropriate structure",
        "scalability",
        "maintainability",
        "loosely coupled",
    ];
    let contents: Vec<&Block> = outline
        .blocks
        .iter()
        .filter(|block| block.has_content())
        .collect();
    let text: Vec<&str> = contents.iter().map(|block| block.text.as_str()).collect();
    let text = text.join("\n");
    let lower = text.to_lowercase();
    let is_bare = headings.iter().any(|wanted| fit(wanted, "Components") > 0)
        && !contents.iter().any(|block| block.is_code)
        && !names_a_place(&text)
        && PHRASES.iter().filter(|phrase| lower.contains(*phrase)).count() > 3;
    is_bare.then(|| {
        let text = "names no file, no id, no figure and no example in any section";
        Problem::new(Rule::Thin, text)
    })
}
