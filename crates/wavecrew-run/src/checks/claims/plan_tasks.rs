//! Checks plans: the dependencies of the tasks have no cycle, and the tasks are those that the plan lists.

use crate::table::expansion::plan_tasks_in;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use wavecrew_core::claim::{ClaimCheck, Pattern, plan_problems, quoted_path};
use wavecrew_core::plan::{PlanTask, plan_task_problem};
use wavecrew_core::team::{Expansion, Team};

/// Checks the plan of a task from which rows are made.
pub(super) fn check(session_dir: &Path, team: &Team, id: &str, findings: &mut ClaimCheck) {
    for expansion in &team.expansion {
        let Expansion::PerPlanTask {
            after, plan_tasks, ..
        } = expansion
        else {
            continue;
        };
        if after != id {
            continue;
        }
        findings.count_check();
        match plan_tasks_in(session_dir, plan_tasks) {
            Ok(tasks) => {
                let unlisted = unlisted(session_dir, plan_tasks, &tasks);
                for problem in plan_task_problem(&tasks).into_iter().chain(unlisted) {
                    findings.add_fixable(problem);
                }
                for problem in plan_problems(&tasks) {
                    findings.add("", &problem);
                }
            }
            Err(problem) => findings.add_fixable(problem),
        }
    }
}

/// Tasks that the plan lists but that have no file, and files of tasks that it does not list: an earlier plan may leave some.
fn unlisted(session_dir: &Path, plan_tasks: &str, tasks: &[PlanTask]) -> Vec<String> {
    let Ok(pattern) = Pattern::parse(plan_tasks) else {
        return Vec::new();
    };
    let plan = format!("{}/plan.json", pattern.base());
    let text = fs::read(session_dir.join(&plan)).unwrap_or_default();
    let Ok(value) = serde_json::from_slice::<Value>(&text) else {
        return Vec::new();
    };
    let id = |entry: &Value| {
        let id = entry.as_str().or_else(|| entry.get("id")?.as_str())?;
        let file = format!("{}/{id}.json", pattern.base());
        pattern.matches(&file).then(|| id.to_owned())
    };
    let entries = value["tasks"].as_array().map(Vec::as_slice).unwrap_or_default();
    // A list without ids does not refer to files.
    let Some(listed) = entries.iter().map(id).collect::<Option<BTreeSet<String>>>() else {
        return Vec::new();
    };
    let there: BTreeSet<String> = tasks.iter().map(|task| task.id.clone()).collect();
    let plan = quoted_path(&plan);
    let without_file = listed
        .difference(&there)
        .map(|id| format!("{plan} lists {}, which has no file", quoted_path(id)));
    let not_listed = there.difference(&listed).map(|id| {
        let id = quoted_path(id);
        format!("task {id} has a file, but {plan} does not list it: list it, or remove the file")
    });
    without_file.chain(not_listed).collect()
}
