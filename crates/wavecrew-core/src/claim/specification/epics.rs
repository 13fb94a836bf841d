//! Checks an epics document: the number of epics and of their stories, and the stories of the first version.

use super::item::{below, defined, named};
use super::{EPIC, REQUIREMENT, STORY, has_acceptance, listed, twice};
use crate::team::Bounds;

/// The problems; each continues a sentence that starts with the file's name.
pub(in crate::claim) fn problems(text: &str, epics: Bounds, stories: Bounds) -> Vec<String> {
    let found = defined(text, EPIC);
    let mut problems = vec![];
    if !epics.hold(found.len()) {
        problems.push(format!(
            "defines {} epics, {epics} are wanted: begin each with its id, `EPIC-001` and on",
            found.len()
        ));
    }
    let with_stories: Vec<_> = found
        .iter()
        .map(|epic| (epic, defined(&epic.text, STORY)))
        .collect();
    for (epic, own) in &with_stories {
        if !stories.hold(own.len()) {
            problems.push(format!(
                "has {} stories in {}, {stories} are wanted: begin each with its id, `STORY-001` and on",
                own.len(),
                epic.id
            ));
        }
    }
    let all = || with_stories.iter().flat_map(|(_, own)| own);
    let without = |says: &dyn Fn(&str) -> bool| -> Vec<&str> {
        all()
            .filter(|story| !says(&story.text))
            .map(|story| story.id)
            .collect()
    };
    let unserving = with_stories
        .iter()
        .filter(|(epic, _)| named(&epic.text, REQUIREMENT).is_empty());
    let unserving: Vec<&str> = unserving.map(|(epic, _)| epic.id).collect();
    problems.extend(
        [
            listed(
                "defines more than once:",
                &twice(found.iter().map(|epic| epic.id)),
            ),
            listed("defines more than once:", &twice(all().map(|story| story.id))),
            listed("names no requirement (FR-001 and on) in", &unserving),
            listed("has no acceptance criteria for", &without(&has_acceptance)),
            listed("has no estimate for", &without(&has_estimate)),
        ]
        .into_iter()
        .flatten(),
    );
    let mvp = named(&below(text, |title| title.contains("mvp")), STORY);
    if mvp.is_empty() {
        problems.push("names no story (STORY-001 and on) in its MVP".to_owned());
    }
    let unknown = mvp
        .iter()
        .filter(|id| !all().any(|story| story.id == id.as_str()));
    let unknown: Vec<&str> = unknown.map(String::as_str).collect();
    problems.extend(listed("has stories in its MVP that no epic has:", &unknown));
    problems
}

fn has_estimate(text: &str) -> bool {
    let text = text.to_lowercase();
    ["estimate", "points", "size"]
        .iter()
        .any(|word| text.contains(word))
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
                text += &format!("- STORY-{n:03}: As a shopper ... Acceptance: back. Estimate: S\n");
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
                &["defines 1 epics, 2 to 8 are wanted: begin each with its id, `EPIC-001` and on"],
            ),
            (
                document(2, 2, "STORY-001"),
                &[
                    "has 2 stories in EPIC-001, 3 to 12 are wanted: begin each with its id, `STORY-001` and on",
                    "has 2 stories in EPIC-002, 3 to 12 are wanted: begin each with its id, `STORY-001` and on",
                ],
            ),
            (
                document(2, 3, "all of it"),
                &["names no story (STORY-001 and on) in its MVP"],
            ),
            (
                document(2, 3, "STORY-009"),
                &["has stories in its MVP that no epic has: STORY-009"],
            ),
            (
                document(2, 3, "STORY-001")
                    .replace("Estimate: S", "")
                    .replace("Acceptance: back.", "")
                    .replace("FR-002", "nothing"),
                &[
                    "names no requirement (FR-001 and on) in EPIC-002",
                    "has no acceptance criteria for STORY-001, STORY-002, STORY-003, STORY-004, STORY-005, STORY-006",
                    "has no estimate for STORY-001, STORY-002, STORY-003, STORY-004, STORY-005, STORY-006",
                ],
            ),
        ] {
            assert_eq!(problems(&text, EPICS, STORIES), expected, "{text}");
        }
    }
}
