//! Checks a requirements document: numbered requirements, each with a priority and acceptance criteria, and user stories.

use super::item::{Item, below, cells, defined, has_word, named};
use super::{REQUIREMENT, has_acceptance, listed, twice};
use std::collections::BTreeSet;

/// `MoSCoW`.
const PRIORITIES: [(&str, &str); 5] = [
    ("must", "Must"),
    ("should", "Should"),
    ("could", "Could"),
    ("won't", "Won't"),
    ("won’t", "Won't"),
];

/// The problems; each continues a sentence that starts with the file's name.
pub(in crate::claim) fn problems(text: &str) -> Vec<String> {
    let mut items = defined(text, REQUIREMENT);
    // A section of acceptance criteria names requirements, but defines none.
    items.retain(|item| {
        !item
            .under
            .iter()
            .any(|title| is_about_criteria(&title.to_lowercase()))
    });
    if items.is_empty() {
        return vec!["defines no requirement: begin each with its id, `FR-001` and on".to_owned()];
    }
    let elsewhere = accepted_elsewhere(text);
    let ids = |wanted: &dyn Fn(&Item<'_>) -> bool| -> Vec<&str> {
        items
            .iter()
            .filter(|item| wanted(item))
            .map(|item| item.id)
            .collect()
    };
    let stories = below(text, |title| {
        title.contains("user stories") || title.contains("user story")
    });
    let stories = stories.to_lowercase();
    let no_story = !stories.is_empty() && !["as a ", "as an ", "as the "].iter().any(|s| stories.contains(s));
    [
        listed(
            "defines more than once:",
            &twice(items.iter().map(|item| item.id)),
        ),
        listed(
            "has no acceptance criteria for",
            &ids(&|item| !is_accepted(item) && !elsewhere.contains(item.id)),
        ),
        listed(
            "has no priority (Must, Should, Could or Won't) for",
            &ids(&|item| priority(item).is_none()),
        ),
        no_story.then(|| "has no user story of the form `As a ..., I want ..., so that ...`".to_owned()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The priority in the requirement's text, or in the headings above it.
pub(super) fn priority(item: &Item<'_>) -> Option<&'static str> {
    let exactly = |text: &str| {
        let text = text.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        let text = text.strip_suffix(" have").unwrap_or(&text);
        PRIORITIES.iter().find(|(word, _)| *word == text)
    };
    let within = |text: &str| {
        let text = text.to_lowercase();
        PRIORITIES.iter().find(|(word, _)| has_word(&text, word))
    };
    let is_about_it = |line: &&str| {
        let line = line.to_lowercase();
        line.contains("priority") || line.contains("moscow")
    };
    let set_off = item
        .text
        .split(['(', ')', '[', ']', '*', '|', '`'])
        .find_map(exactly);
    let by_line = || item.text.lines().filter(is_about_it).find_map(within);
    let by_heading = || item.under.iter().rev().find_map(|title| within(title));
    let found = set_off.or_else(by_line).or_else(by_heading);
    found.map(|(_, priority)| *priority)
}

fn is_accepted(item: &Item<'_>) -> bool {
    let column = item
        .columns
        .iter()
        .position(|name| name.to_lowercase().contains("accept"));
    match column {
        Some(column) => cells(&item.text).nth(column).is_some_and(|cell| !cell.is_empty()),
        None => has_acceptance(&item.text),
    }
}

/// Requirements whose criteria are in a separate section.
fn accepted_elsewhere(text: &str) -> BTreeSet<String> {
    let section = below(text, is_about_criteria);
    named(&section, REQUIREMENT)
}

/// `title` is in lower case.
fn is_about_criteria(title: &str) -> bool {
    title.contains("acceptance") && !title.contains("fr-")
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORIES: &str = "## User stories\nAs a shopper, I want to undo, so that I lose nothing. FR-001\n";

    #[test]
    fn requirements() {
        for (text, expected) in [
            (
                "### FR-001: Undo\nPriority: must\nAcceptance: it is back.\n",
                &[][..],
            ),
            (
                "- FR-001 (Must) The app must undo. Given a list, when undone, then it is back.\n",
                &[],
            ),
            (
                "| Id | Priority | Acceptance criteria |\n|--|--|--|\n| FR-001 | **Could** | it is back |\n",
                &[],
            ),
            ("## Must have\n- FR-001: undo. Acceptance: back\n", &[]),
            (
                "- FR-001 [Won't] undo\n## Acceptance criteria\n- FR-001: back\n",
                &[],
            ),
            (
                "- FR-001: The app must undo.\n- FR-002 (Must) redo\n- FR-002 (Must) again\n",
                &[
                    "defines more than once: FR-002",
                    "has no acceptance criteria for FR-001, FR-002, FR-002",
                    "has no priority (Must, Should, Could or Won't) for FR-001",
                ],
            ),
            (
                "| Id | Priority | Acceptance |\n|--|--|--|\n| FR-001 | Must | |\n",
                &["has no acceptance criteria for FR-001"],
            ),
            (
                "nothing\n",
                &["defines no requirement: begin each with its id, `FR-001` and on"],
            ),
        ] {
            assert_eq!(problems(&format!("{text}{STORIES}")), expected, "{text}");
        }
        let no_story = "- FR-001 (Must) x. Acceptance: y\n## User stories\nnone yet\n";
        assert_eq!(
            problems(no_story),
            ["has no user story of the form `As a ..., I want ..., so that ...`"]
        );
    }
}
