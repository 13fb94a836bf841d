//! The required content of an epics document: the number of epics and of their stories, and an MVP.

use super::criteria::{CriteriaFlaw, criteria, criteria_flaw, estimate};
use super::item::{Item, below, defined, named};
use super::{EPIC, REQUIREMENT, STORY, duplicates, listed};
use crate::claim::heading::fit;
use crate::claim::json::alike;
use crate::claim::rules::{Problem, Rule};
use crate::claim::text::gap;
use crate::team::Bounds;
use std::collections::BTreeSet;

/// What is wrong; each problem goes on from the file's name.
pub(in crate::claim) fn problems(text: &str, epics: Bounds, stories: Bounds) -> Vec<Problem> {
    let is_mvp = |item: &Item<'_>| item.under.iter().any(|title| fit(title, "MVP") > 0);
    let mut found = defined(text, EPIC);
    found.retain(|item| !is_mvp(item));
    let mut every = defined(text, STORY);
    every.retain(|item| !is_mvp(item));
    let mut problems = vec![];
    if !epics.hold(found.len()) {
        problems.push(Problem::new(
            Rule::Missing,
            format!(
                "defines {} epics, {epics} are required: begin each with its id, `EPIC-001` and up",
                found.len()
            ),
        ));
    }
    // Stories are below their epic, or name it.
    let grouped: Vec<(&Item<'_>, Vec<&Item<'_>>)> = found
        .iter()
        .map(|epic| {
            let inside: BTreeSet<String> = defined(&epic.text, STORY)
                .iter()
                .map(|story| story.id.to_owned())
                .collect();
            let own = every.iter().filter(|story| {
                inside.contains(story.id)
                    || (named(&story.text, EPIC).contains(epic.id) && !within_other(&found, epic, story))
            });
            (epic, own.collect())
        })
        .collect();
    for (epic, own) in &grouped {
        if !stories.hold(own.len()) {
            problems.push(Problem::new(
                Rule::Missing,
                format!(
                    "has {} stories in {}, {stories} are required: begin each with its id, `STORY-001` and up",
                    own.len(),
                    epic.id
                ),
            ));
        }
    }
    let all = || grouped.iter().flat_map(|(_, own)| own.iter().copied());
    let unserving = grouped.iter().filter(|(epic, own)| {
        named(&epic.text, REQUIREMENT).is_empty()
            && own.iter().all(|story| named(&story.text, REQUIREMENT).is_empty())
    });
    let unserving: Vec<&str> = unserving.map(|(epic, _)| epic.id).collect();
    problems.extend(listed(
        Rule::Repeated,
        "defines more than once:",
        &duplicates(found.iter().map(|epic| epic.id)),
    ));
    problems.extend(listed(
        Rule::Missing,
        "names no requirement (FR-001 and up) in",
        &unserving,
    ));
    problems.extend(story_problems(&all().collect::<Vec<_>>()));
    problems.extend(listed(
        Rule::Disagrees,
        "has epics that wait for each other:",
        &in_circles(&found),
    ));
    let mvp = named(&below(text, |title| fit(title, "MVP") > 0), STORY);
    if mvp.is_empty() {
        problems.push(Problem::new(
            Rule::Missing,
            "names no story (STORY-001 and up) in its MVP",
        ));
    }
    let unknown = mvp
        .iter()
        .filter(|id| !all().any(|story| story.id == id.as_str()));
    let unknown: Vec<&str> = unknown.map(String::as_str).collect();
    problems.extend(listed(
        Rule::Disagrees,
        "has stories in its MVP that no epic has:",
        &unknown,
    ));
    problems
}

/// Words for the dependencies of an epic.
const WAITS: [&str; 8] = [
    "depend",
    "blocked by",
    "hängt",
    "abhängig",
    "dépend",
    "依赖",
    "依存",
    "зависит",
];

/// Epics that depend on themselves through others.
fn in_circles<'a>(epics: &[Item<'a>]) -> Vec<&'a str> {
    let waits: Vec<(&str, BTreeSet<String>)> = epics
        .iter()
        .map(|epic| {
            // The text of stories does not count.
            let lines = epic.text.lines().take_while(|line| named(line, STORY).is_empty());
            let after = lines.flat_map(|line| {
                let lower = line.to_lowercase();
                let at = WAITS.iter().filter_map(|word| lower.find(word)).min();
                let rest = at.and_then(|at| line.get(at..)).unwrap_or_default();
                named(rest.split(['.', '。']).next().unwrap_or_default(), EPIC)
            });
            (epic.id, after.collect())
        })
        .collect();
    let reaches_itself = |id: &str| {
        let mut reached: BTreeSet<&str> = BTreeSet::new();
        let mut next = vec![id];
        while let Some(from) = next.pop() {
            let on = waits.iter().find(|(known, _)| *known == from);
            for to in on.into_iter().flat_map(|(_, on)| on) {
                if to == id {
                    return true;
                }
                if reached.insert(to) {
                    next.push(to);
                }
            }
        }
        false
    };
    epics
        .iter()
        .map(|epic| epic.id)
        .filter(|id| reaches_itself(id))
        .collect()
}

fn story_problems(stories: &[&Item<'_>]) -> Vec<Problem> {
    let of = |wanted: &dyn Fn(&Item<'_>) -> bool| -> Vec<&str> {
        let found = stories.iter().filter(|story| wanted(story));
        found.map(|story| story.id).collect()
    };
    let flawed = |flaw: CriteriaFlaw| {
        move |story: &Item<'_>| criteria(story).is_some_and(|text| criteria_flaw(story, &text) == Some(flaw))
    };
    let bodies: Vec<String> = stories
        .iter()
        .map(|story| story.text.replace(story.id, ""))
        .collect();
    let bodies: Vec<&str> = bodies.iter().map(String::as_str).collect();
    [
        listed(
            Rule::Repeated,
            "defines more than once:",
            &duplicates(stories.iter().map(|story| story.id)),
        ),
        listed(
            Rule::Missing,
            "has no acceptance criteria for",
            &of(&|story| criteria(story).is_none()),
        ),
        listed(
            Rule::Placeholder,
            "has placeholders for the acceptance criteria of",
            &of(&flawed(CriteriaFlaw::Placeholder)),
        ),
        listed(
            Rule::Vague,
            "has acceptance criteria that name nothing to observe for",
            &of(&flawed(CriteriaFlaw::Vague)),
        ),
        listed(
            Rule::Missing,
            "has no estimate for",
            &of(&|story| estimate(story).is_none()),
        ),
        listed(
            Rule::Placeholder,
            "has placeholders for the estimates of",
            &of(&|story| estimate(story).is_some_and(|text| gap(text).is_some())),
        ),
        alike(&bodies).map(|(rule, text)| Problem::new(rule, text)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Whether the story is below an epic other than this one.
fn within_other(epics: &[Item<'_>], own: &Item<'_>, story: &Item<'_>) -> bool {
    let others = epics.iter().filter(|epic| epic.id != own.id);
    others.into_iter().any(|epic| {
        defined(&epic.text, STORY)
            .iter()
            .any(|known| known.id == story.id)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const EPICS: Bounds = Bounds { min: 2, max: 8 };
    const STORIES: Bounds = Bounds { min: 3, max: 12 };

    fn document(epics: usize, stories: usize, mvp: &str) -> String {
        let mut text = "# Epics\n".to_owned();
        let mut n = 0;
        for epic in 1..=epics {
            text += &format!("## EPIC-{epic:03}: One\nDelivers FR-{epic:03}.\n");
            for _ in 0..stories {
                n += 1;
                text += &format!("- STORY-{n:03}: As a shopper I want {n}. Acceptance: back. Estimate: S\n");
            }
        }
        text + "## MVP\n" + mvp
    }

    #[test]
    fn epics() {
        for (text, expected) in [
            (document(2, 3, "STORY-001"), &[][..]),
            (document(8, 12, "- STORY-001\n- STORY-096\n"), &[]),
            (
                document(1, 3, "STORY-001"),
                &["defines 1 epics, 2 to 8 are required: begin each with its id, `EPIC-001` and up"],
            ),
            (
                document(2, 2, "STORY-001"),
                &[
                    "has 2 stories in EPIC-001, 3 to 12 are required: begin each with its id, `STORY-001` and up",
                    "has 2 stories in EPIC-002, 3 to 12 are required: begin each with its id, `STORY-001` and up",
                ],
            ),
            (
                document(2, 3, "all of it"),
                &["names no story (STORY-001 and up) in its MVP"],
            ),
            (
                document(2, 3, "STORY-009"),
                &["has stories in its MVP that no epic has: STORY-009"],
            ),
            (
                document(2, 3, "STORY-001")
                    .replace("Delivers FR-001.", "Delivers FR-001. Depends on EPIC-002.")
                    .replace("Delivers FR-002.", "Delivers FR-002. Depends on EPIC-001."),
                &["has epics that wait for each other: EPIC-001, EPIC-002"],
            ),
            (
                document(2, 3, "STORY-001")
                    .replace("Delivers FR-002.", "Delivers FR-002. Depends on EPIC-001."),
                &[],
            ),
            (
                document(2, 3, "STORY-001")
                    .replace("Estimate: S", "")
                    .replace("Acceptance: back.", "")
                    .replace("FR-002", "nothing"),
                &[
                    "names no requirement (FR-001 and up) in EPIC-002",
                    "has no acceptance criteria for STORY-001, STORY-002, STORY-003, STORY-004, STORY-005, STORY-006",
                    "has no estimate for STORY-001, STORY-002, STORY-003, STORY-004, STORY-005, STORY-006",
                ],
            ),
        ] {
            let proven = problems(&text, EPICS, STORIES)
                .into_iter()
                .filter(|problem| problem.rule.refutes() && problem.rule != Rule::Repeated);
            let proven: Vec<String> = proven.map(|problem| problem.text).collect();
            assert_eq!(proven, expected, "{text}");
        }
    }
}
