//! Plans of several issues that touch the same files: their implementations wait for each other.

use super::{Expanded, Rows, normalised};
use crate::plan::Plan;
use std::collections::{BTreeMap, BTreeSet};

/// Two issues whose plans touch the same files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conflict {
    pub issues: [String; 2],
    pub files: Vec<String>,
}

/// The table in which tasks with the id prefix `chain` wait for earlier ones whose issues' plans touch the same files.
/// `files` are those of each plan that is there, by issue.
pub fn per_issue(
    plan: &Plan,
    issue_column: &str,
    chain: &str,
    files: &BTreeMap<String, Vec<String>>,
) -> Expanded<Vec<Conflict>> {
    let mut rows = Rows::of(plan);
    let own = |id: &str| id.strip_prefix(chain).is_some_and(|rest| rest.starts_with('-'));
    // In the order in which they run anyway, so that no cycle arises.
    let mut chained: Vec<_> = plan.tasks().filter(|task| own(plan.id(*task))).collect();
    chained.sort_by_key(|task| (plan.wave(*task), *task));
    let touched = |task| -> BTreeSet<String> {
        let issues = plan.cell(task, issue_column).split(';').map(str::trim);
        let files = issues.filter_map(|issue| files.get(issue)).flatten();
        files.map(|file| normalised(file)).collect()
    };
    let mut conflicts = Vec::new();
    for (n, &later) in chained.iter().enumerate() {
        let mine = touched(later);
        for &other in &chained[..n] {
            let both: Vec<String> = mine.intersection(&touched(other)).cloned().collect();
            if both.is_empty() {
                continue;
            }
            conflicts.push(Conflict {
                issues: [other, later].map(|task| plan.cell(task, issue_column).to_owned()),
                files: both,
            });
            let at = rows.find(plan.id(later)).expect("a row of the plan");
            let mut deps = rows.list(at, "deps");
            deps.push(plan.id(other).to_owned());
            rows.set_list(at, "deps", &deps);
        }
    }
    Expanded {
        sheet: rows.finish(),
        what: conflicts,
    }
}
