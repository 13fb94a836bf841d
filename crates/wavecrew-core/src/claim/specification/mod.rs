//! Documents of a specification, read by the ids in them: requirements (`FR-001`), epics (`EPIC-001`) and
//! their stories (`STORY-001`). Finds missing parts, criteria that name nothing, and broken links between
//! them.

mod criteria;
mod epics;
mod item;
mod requirements;
mod trace;

pub(super) use epics::problems as epics_problems;
pub(super) use requirements::problems as requirements_problems;
pub use trace::{PlannedTask, Trace, coverage_problems};

use super::rules::{Problem, Rule};
use crate::view::first_few;
use std::collections::BTreeSet;

const REQUIREMENT: &str = "FR";
const EPIC: &str = "EPIC";
const STORY: &str = "STORY";
/// The maximum length of lists for workers; further items are counted.
const LISTED: usize = 12;

/// `what FR-001, FR-002`, if there are any.
fn listed(rule: Rule, what: &str, ids: &[&str]) -> Option<Problem> {
    list(what, ids).map(|text| Problem::new(rule, text))
}

fn list(what: &str, ids: &[&str]) -> Option<String> {
    (!ids.is_empty()).then(|| format!("{what} {}", first_few(ids, LISTED)))
}

/// Ids that are defined more than once.
fn duplicates<'a>(ids: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    let duplicates: BTreeSet<&str> = ids.filter(|id| !seen.insert(*id)).collect();
    duplicates.into_iter().collect()
}
