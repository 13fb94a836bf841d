//! The trace from requirements to epics to tasks of the plan, and its gaps.

use super::item::{Item, defined, named};
use super::requirements::priority;
use super::{EPIC, REQUIREMENT, STORY};
use crate::claim::normal::usual_ids;
use crate::claim::rules::{Problem, Rule};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// A task of the plan, and the text that describes it.
pub struct PlannedTask<'a> {
    pub id: &'a str,
    pub text: &'a str,
}

/// The links from requirements to epics to tasks, computed from the ids in the documents.
#[derive(Debug, PartialEq, Eq)]
pub struct Trace {
    requirements: Vec<TracedRequirement>,
    epics: Vec<TracedEpic>,
    planned: bool,
}

#[derive(Debug, PartialEq, Eq)]
struct TracedRequirement {
    id: String,
    priority: &'static str,
    epics: Vec<String>,
    tasks: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
struct TracedEpic {
    id: String,
    requirements: BTreeSet<String>,
    tasks: Vec<String>,
}

impl Trace {
    /// Reads the documents; `None` when no requirement is defined.
    pub fn of(requirements: &str, epics: &str, tasks: &[PlannedTask<'_>]) -> Option<Self> {
        let (requirements, epics) = (&usual_ids(requirements), &usual_ids(epics));
        let wanted = defined(requirements, REQUIREMENT);
        if wanted.is_empty() {
            return None;
        }
        let epics: Vec<TracedEpic> = defined(epics, EPIC)
            .iter()
            .map(|epic| {
                let mut requirements = named(&epic.text, REQUIREMENT);
                let elsewhere = stories_of(epics, epic.id);
                requirements.extend(elsewhere.iter().flat_map(|story| named(&story.text, REQUIREMENT)));
                let stories: BTreeSet<String> = defined(&epic.text, STORY)
                    .iter()
                    .map(|story| story.id.to_owned())
                    .collect();
                let reaches = |task: &&PlannedTask<'_>| {
                    named(task.text, EPIC).contains(epic.id)
                        || !stories.is_disjoint(&named(task.text, STORY))
                        || !requirements.is_disjoint(&named(task.text, REQUIREMENT))
                };
                TracedEpic {
                    id: epic.id.to_owned(),
                    tasks: ids(tasks.iter().filter(reaches)),
                    requirements,
                }
            })
            .collect();
        let mut seen = BTreeSet::new();
        let requirements = wanted
            .iter()
            .filter(|item| seen.insert(item.id))
            .map(|item| TracedRequirement {
                id: item.id.to_owned(),
                priority: priority(item).unwrap_or(""),
                epics: epics
                    .iter()
                    .filter(|epic| epic.requirements.contains(item.id))
                    .map(|epic| epic.id.clone())
                    .collect(),
                tasks: ids(tasks
                    .iter()
                    .filter(|task| named(task.text, REQUIREMENT).contains(item.id))),
            });
        Some(Self {
            requirements: requirements.collect(),
            planned: !tasks.is_empty(),
            epics,
        })
    }

    /// Requirements and epics that lead nowhere. Requirements with priority "Won't" are not gaps.
    pub fn gaps(&self) -> Vec<String> {
        let wanted = self
            .requirements
            .iter()
            .filter(|traced| traced.priority != "Won't");
        let lost = wanted.filter(|traced| traced.epics.is_empty());
        let mut gaps: Vec<String> = lost
            .map(|traced| format!("{} is in no epic", traced.id))
            .collect();
        if self.planned {
            let unplanned = self.epics.iter().filter(|epic| epic.tasks.is_empty());
            gaps.extend(unplanned.map(|epic| format!("{} is in no task of the plan", epic.id)));
        }
        gaps
    }

    /// The matrix as a section of the report.
    pub fn markdown(&self) -> String {
        let mut text = "\n## Traceability\n\n| Requirement | Priority | Epics | Plan tasks |\n| --- | --- | --- | --- |\n"
            .to_owned();
        let list = |ids: &[String]| {
            if ids.is_empty() {
                "–".to_owned()
            } else {
                ids.join(", ")
            }
        };
        for traced in &self.requirements {
            let TracedRequirement {
                id,
                priority,
                epics,
                tasks,
            } = traced;
            let _ = writeln!(text, "| {id} | {priority} | {} | {} |", list(epics), list(tasks));
        }
        if self.planned && !self.epics.is_empty() {
            text.push_str("\n| Epic | Plan tasks |\n| --- | --- |\n");
            for epic in &self.epics {
                let _ = writeln!(text, "| {} | {} |", epic.id, list(&epic.tasks));
            }
        }
        let gaps = self.gaps();
        text.push('\n');
        if gaps.is_empty() {
            text.push_str("No gaps.\n");
        }
        for gap in gaps {
            let _ = writeln!(text, "- Warning: {gap}");
        }
        text
    }
}

/// Stories outside their epic that name it.
fn stories_of<'a>(epics: &'a str, id: &str) -> Vec<Item<'a>> {
    let mut stories = defined(epics, STORY);
    stories.retain(|story| named(&story.text, EPIC).contains(id));
    stories
}

/// Requirements that no epic covers, and ids in epics that no requirement has. The text of each problem
/// follows the name of the epics file.
pub fn coverage_problems(requirements: &str, epics: &str) -> Vec<Problem> {
    let Some(trace) = Trace::of(requirements, epics, &[]) else {
        return Vec::new();
    };
    let lost = trace.requirements.iter().filter(|traced| traced.epics.is_empty());
    let must: Vec<&str> = lost
        .filter(|traced| traced.priority == "Must")
        .map(|traced| traced.id.as_str())
        .collect();
    let known: BTreeSet<&str> = trace
        .requirements
        .iter()
        .map(|traced| traced.id.as_str())
        .collect();
    let named: BTreeSet<&str> = trace
        .epics
        .iter()
        .flat_map(|epic| &epic.requirements)
        .map(String::as_str)
        .collect();
    let unknown: Vec<&str> = named.difference(&known).copied().collect();
    let mut problems = Vec::new();
    if !must.is_empty() {
        problems.push(Problem::new(
            Rule::Uncovered,
            format!(
                "has no epic for {}, which is a Must in the requirements",
                must.join(", ")
            ),
        ));
    }
    if !unknown.is_empty() {
        problems.push(Problem::new(
            Rule::Uncovered,
            format!(
                "names {}, which the requirements do not define",
                unknown.join(", ")
            ),
        ));
    }
    problems
}

fn ids<'a>(tasks: impl Iterator<Item = &'a PlannedTask<'a>>) -> Vec<String> {
    tasks.map(|task| task.id.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUIREMENTS: &str =
        "- FR-001 (Must) a\n- FR-002 (Should) b\n- FR-003 (Won't) c\n- FR-004 (Must) d\n";
    const EPICS: &str =
        "## EPIC-001\nFR-001\n- STORY-001 x\n## EPIC-002\nFR-002\n- STORY-002 y\n## EPIC-003\nFR-001\n";

    #[test]
    fn ways_and_gaps() {
        let tasks = [
            PlannedTask {
                id: "TASK-001",
                text: r#"{"requirements":["FR-001"]}"#,
            },
            PlannedTask {
                id: "TASK-002",
                text: r#"{"description":"STORY-002"}"#,
            },
        ];
        let trace = Trace::of(REQUIREMENTS, EPICS, &tasks).unwrap();
        assert_eq!(trace.gaps(), ["FR-004 is in no epic"]);
        insta::assert_snapshot!(trace.markdown(), @r"
        ## Traceability

        | Requirement | Priority | Epics | Plan tasks |
        | --- | --- | --- | --- |
        | FR-001 | Must | EPIC-001, EPIC-003 | TASK-001 |
        | FR-002 | Should | EPIC-002 | – |
        | FR-003 | Won't | – | – |
        | FR-004 | Must | – | – |

        | Epic | Plan tasks |
        | --- | --- |
        | EPIC-001 | TASK-001 |
        | EPIC-002 | TASK-002 |
        | EPIC-003 | TASK-001 |

        - Warning: FR-004 is in no epic
        ");
        let unplanned = Trace::of(REQUIREMENTS, EPICS, &tasks[..1]).unwrap();
        assert_eq!(
            unplanned.gaps(),
            ["FR-004 is in no epic", "EPIC-002 is in no task of the plan"]
        );
        let spec_only = Trace::of(REQUIREMENTS, EPICS, &[]).unwrap();
        assert_eq!(spec_only.gaps(), ["FR-004 is in no epic"]);
        assert!(!spec_only.markdown().contains("| Epic |"));
        assert_eq!(Trace::of("nothing", EPICS, &[]), None);
    }
}
