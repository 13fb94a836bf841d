//! The required content of a requirements document: numbered requirements, each with a priority and criteria,
//! and user stories.

use super::criteria::{CriteriaFlaw, criteria, criteria_flaw, is_story};
use super::item::{Item, below, defined};
use super::{REQUIREMENT, duplicates, listed};
use crate::claim::heading::fit;
use crate::claim::json::alike;
use crate::claim::rules::{Problem, Rule};
use crate::claim::text::{Gap, defers, gap, is_english, particulars, without_ids, word_count, words};
use crate::words::has_word;

/// `MoSCoW`, and other words for the same.
const PRIORITIES: [(&str, &str); 26] = [
    ("must", "Must"),
    ("should", "Should"),
    ("could", "Could"),
    ("won't", "Won't"),
    ("won’t", "Won't"),
    ("wont", "Won't"),
    ("high", "Must"),
    ("medium", "Should"),
    ("low", "Could"),
    ("p0", "Must"),
    ("p1", "Must"),
    ("p2", "Should"),
    ("p3", "Could"),
    ("必须", "Must"),
    ("应该", "Should"),
    ("可以", "Could"),
    ("不做", "Won't"),
    ("muss", "Must"),
    ("soll", "Should"),
    ("kann", "Could"),
    ("debe", "Must"),
    ("debería", "Should"),
    ("doit", "Must"),
    ("devrait", "Should"),
    ("必須", "Must"),
    ("推奨", "Should"),
];
const PRIORITY: [&str; 8] = [
    "priority",
    "moscow",
    "优先级",
    "優先",
    "priorität",
    "prioridad",
    "priorité",
    "приоритет",
];

/// What is wrong; each problem goes on from the file's name.
pub(in crate::claim) fn problems(text: &str) -> Vec<Problem> {
    let mut items = defined(text, REQUIREMENT);
    // Text in a section of criteria or stories refers to requirements and defines none.
    items.retain(|item| {
        !item
            .under
            .iter()
            .any(|title| is_about_criteria(&title.to_lowercase()) || is_about_stories(title))
    });
    if items.is_empty() {
        return vec![Problem::new(
            Rule::Missing,
            "defines no requirement: begin each with its id, `FR-001` and up",
        )];
    }
    let elsewhere = below(text, is_about_criteria);
    let elsewhere = defined(&elsewhere, REQUIREMENT);
    let of_item = |item: &Item<'_>| {
        let own = criteria(item);
        own.or_else(|| {
            elsewhere
                .iter()
                .find(|other| other.id == item.id)
                .map(|other| other.text.replacen(other.id, "", 1))
        })
    };
    let ids = |wanted: &dyn Fn(&Item<'_>) -> bool| -> Vec<&str> {
        items
            .iter()
            .filter(|item| wanted(item))
            .map(|item| item.id)
            .collect()
    };
    let flawed = |flaw: CriteriaFlaw| {
        move |item: &Item<'_>| {
            of_item(item).is_some_and(|criteria| criteria_flaw(item, &criteria) == Some(flaw))
        }
    };
    let is_empty = |item: &Item<'_>| {
        let is_stated = item.text.lines().any(|line| {
            line.split(['.', '|', '\n'])
                .any(|part| gap(part) == Some(Gap::Placeholder))
        });
        is_stated && criteria(item).is_none_or(|criteria| gap(&criteria).is_none())
    };
    let bodies: Vec<String> = items.iter().map(|item| item.text.replace(item.id, "")).collect();
    let bodies: Vec<&str> = bodies.iter().map(String::as_str).collect();
    let criteria_words: Vec<Vec<String>> = items
        .iter()
        .filter_map(of_item)
        .map(|text| words(&text))
        .collect();
    let deferred = ids(&|item| item.text.split(['.', ';', '\n', '|']).any(defers));
    let most_deferred = deferred.len() * 2 > items.len();
    let unwanted = ids(&|item| priority(item) == Some("Won't"));
    let all_unwanted = unwanted.len() == items.len();
    [
        listed(
            Rule::Repeated,
            "defines more than once:",
            &duplicates(items.iter().map(|item| item.id)),
        ),
        listed(
            Rule::Missing,
            "has no acceptance criteria for",
            &ids(&|item| of_item(item).is_none()),
        ),
        listed(
            Rule::Placeholder,
            "has placeholders for the acceptance criteria of",
            &ids(&flawed(CriteriaFlaw::Placeholder)),
        ),
        listed(
            Rule::Vague,
            "has acceptance criteria that name nothing to observe for",
            &ids(&flawed(CriteriaFlaw::Vague)),
        ),
        listed(Rule::Gaps, "has a placeholder in", &ids(&is_empty)),
        listed(Rule::Gaps, "does not define yet", &deferred).filter(|_| most_deferred),
        listed(
            Rule::Missing,
            "has no priority (Must, Should, Could or Won't) for",
            &ids(&|item| priority(item).is_none()),
        ),
        alike(&bodies).map(|(rule, text)| Problem::new(rule, text)),
        same_criteria(&criteria_words),
        all_unwanted.then(|| {
            Problem::new(
                Rule::Unclear,
                "requires nothing: all requirements have the priority Won't",
            )
        }),
        stories_problem(text),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// `criteria`: the words of the criteria of each requirement.
fn same_criteria(criteria: &[Vec<String>]) -> Option<Problem> {
    let all_alike = criteria.len() > 1 && criteria.windows(2).all(|two| two[0] == two[1]);
    all_alike.then(|| {
        Problem::new(
            Rule::Similar,
            "has the same acceptance criteria for all requirements",
        )
    })
}

fn stories_problem(text: &str) -> Option<Problem> {
    let stories = below(text, is_about_stories);
    let body: Vec<&str> = stories.lines().filter(|line| !line.starts_with('#')).collect();
    let statement = body.join("\n");
    if statement.trim().is_empty()
        || body
            .iter()
            .all(|line| line.trim().is_empty() || gap(line).is_some())
    {
        return (!stories.is_empty()).then(|| Problem::new(Rule::Missing, FORM));
    }
    // Prose in an unknown language may be a story.
    let rule = if word_count(&statement) < 6 {
        Rule::Missing
    } else {
        Rule::Unclear
    };
    if !is_story(&statement) {
        return Some(Problem::new(rule, FORM));
    }
    let is_bare = is_english(&words(&statement)) && particulars(&without_ids(&statement)) == 0;
    is_bare.then(|| Problem::new(Rule::Vague, "has user stories that name nothing but ids"))
}

const FORM: &str = "has no user story of the form `As a ..., I want ..., so that ...`";

fn is_about_stories(title: &str) -> bool {
    fit(title, "User stories") > 0
}

/// The priority in the requirement's text or in a heading above it.
pub(super) fn priority(item: &Item<'_>) -> Option<&'static str> {
    let exactly = |text: &str| {
        let text = text.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        let text = text.strip_suffix(" have").unwrap_or(&text);
        PRIORITIES.iter().find(|(word, _)| *word == text)
    };
    // The first of them counts: a later one may be the word `must` in the requirement itself.
    let within = |text: &str| {
        let text = text.to_lowercase();
        let place = |word: &str| {
            let is_there = has_word(&text, word) || (!word.is_ascii() && text.contains(word));
            is_there.then(|| text.find(word)).flatten()
        };
        let found = PRIORITIES
            .iter()
            .filter_map(|known| Some((place(known.0)?, known)));
        found.min_by_key(|(at, _)| *at).map(|(_, known)| known)
    };
    let is_about_it = |line: &&str| {
        let line = line.to_lowercase();
        PRIORITY.iter().any(|word| line.contains(word))
    };
    let set_off = item
        .text
        .split(['(', ')', '[', ']', '*', '|', '`'])
        .find_map(exactly);
    let by_line = || item.text.lines().filter(is_about_it).find_map(within);
    let by_heading = || item.under.iter().rev().find_map(|title| within(title));
    let found = set_off.or_else(by_line).or_else(by_heading);
    found.map(|(_, quoted_path)| *quoted_path)
}

/// A heading, in lower case.
fn is_about_criteria(title: &str) -> bool {
    let named = [
        "acceptance",
        "akzeptanz",
        "abnahme",
        "验收",
        "受け入れ",
        "aceptación",
        "acceptation",
    ];
    named.iter().any(|word| title.contains(word)) && !title.contains("fr-")
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORIES: &str = "## User stories\nAs a shopper, I want to undo, so that I lose nothing. FR-001\n";

    fn proven(text: &str) -> Vec<String> {
        let problems = problems(text)
            .into_iter()
            .filter(|problem| problem.rule.refutes());
        problems.map(|problem| problem.text).collect()
    }

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
                &["defines no requirement: begin each with its id, `FR-001` and up"],
            ),
        ] {
            assert_eq!(proven(&format!("{text}{STORIES}")), expected, "{text}");
        }
        let no_story = "- FR-001 (Must) x. Acceptance: y\n## User stories\nnone yet\n";
        assert_eq!(
            proven(no_story),
            ["has no user story of the form `As a ..., I want ..., so that ...`"]
        );
    }
}
