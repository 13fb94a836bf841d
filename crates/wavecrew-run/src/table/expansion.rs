//! Plan expansion: a result adds one row per task of a plan, or makes rows wait whose plans touch the same files.

use crate::event_loop::Driver;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use wavecrew_core::claim::{Pattern, touched_files};
use wavecrew_core::engine::{Input, Notice};
use wavecrew_core::id::TaskIx;
use wavecrew_core::plan::{Conflict, Plan, PlanTask, Routing, per_issue, per_plan_task, seal};
use wavecrew_core::sanitise::sanitise;
use wavecrew_core::sheet::{Patch, Sheet};
use wavecrew_core::team::{Expansion, Team};
use wavecrew_core::view::count;
use wavecrew_session::bus::COORDINATOR;
use wavecrew_session::{Discovery, Message};

type Change = Option<(Patch, Box<Plan>)>;

impl Driver<'_> {
    pub(crate) fn expand_plan(&mut self, task: TaskIx) {
        let ledger = self.engine.ledger();
        let (team, id) = (ledger.team.clone(), ledger.plan().id(task).to_owned());
        let wanted = team.expansion.iter().find(|expansion| match expansion {
            Expansion::PerPlanTask { after, .. } => *after == id,
            Expansion::PerIssue { .. } => true,
        });
        let change = match wanted {
            Some(expansion @ Expansion::PerPlanTask { .. }) => self.add_plan_rows(expansion),
            Some(Expansion::PerIssue {
                issue_column,
                chain,
                plan: Some(solution),
            }) => self.separate_conflicts(issue_column, chain, solution),
            None | Some(Expansion::PerIssue { plan: None, .. }) => Ok(None),
        };
        self.inputs.push_back(Input::Expanded { task: id, change });
    }

    /// Adds one row per task of the plan, or one for all of it.
    fn add_plan_rows(&mut self, expansion: &Expansion) -> Result<Change, String> {
        let Expansion::PerPlanTask {
            replaces, plan_tasks, ..
        } = expansion
        else {
            return Ok(None);
        };
        let ledger = self.engine.ledger();
        let pipelines = ledger.team.pipelines.iter();
        let chosen = pipelines.filter(|known| Some(&known.name) == self.session.info.pipeline.as_ref());
        let request = &self.session.info.request;
        let template = chosen
            .chain(&ledger.team.pipelines)
            .find_map(|pipeline| pipeline.for_request(request).task(replaces).cloned());
        let Some(template) = template else {
            return Ok(None);
        };
        let tasks = plan_tasks_in(self.session.dir.path(), plan_tasks)?;
        let expanded = per_plan_task(ledger.plan(), expansion, &template, &tasks)?;
        let change = self.change_to(&expanded.sheet)?;
        let Routing {
            complexity,
            modules,
            rows,
        } = expanded.what;
        let modules: Vec<&str> = modules.iter().map(String::as_str).collect();
        let summary = format!(
            "complexity {complexity}: {} ({}), done by {}",
            count(modules.len(), "module"),
            modules.join(", "),
            rows.join(", ")
        );
        self.announce_expansion("complexity_routed", &summary);
        Ok(change)
    }

    /// Makes implementations wait for each other if their plans touch the same files, and announces it.
    fn separate_conflicts(
        &mut self,
        issue_column: &str,
        chain: &str,
        solution: &str,
    ) -> Result<Change, String> {
        let ledger = self.engine.ledger();
        let plan = ledger.plan();
        let mut files = BTreeMap::new();
        for task in plan.tasks() {
            for issue in plan.cell(task, issue_column).split(';').map(str::trim) {
                if let Some(plan) = solution_of(self.session.dir.path(), solution, issue) {
                    files.insert(issue.to_owned(), touched_files(&plan));
                }
            }
        }
        let expanded = per_issue(plan, issue_column, chain, &files);
        let change = self.change_to(&expanded.sheet)?;
        if change.is_some() {
            for conflict in &expanded.what {
                self.announce_conflict(conflict);
            }
        }
        Ok(change)
    }

    fn announce_conflict(&mut self, conflict: &Conflict) {
        let Conflict { issues, files } = conflict;
        let discovery = Discovery {
            ts: self.clock.now().to_string(),
            worker: COORDINATOR.to_owned(),
            kind: "conflict_warning".to_owned(),
            data: json!({ "issue_ids": issues, "overlapping_files": files }),
            attempt: None,
            extra: serde_json::Map::new(),
        };
        // A board that cannot be written does not stop the run, because the rows have the same information.
        let _ = self.session.dir.board().append(&discovery);
        let summary = format!(
            "{} touch the same files: {}",
            issues.join(" and "),
            files.join(", ")
        );
        self.announce_expansion("conflict_detected", &summary);
    }

    fn announce_expansion(&mut self, kind: &str, summary: &str) {
        let message = Message::new(&self.clock.now().to_string(), COORDINATOR, kind, summary);
        let _ = self.session.dir.bus().post(message);
        self.context.reporter.notice(&Notice::Note(summary.to_owned()));
    }

    /// The change from the current table to another one, if they differ.
    fn change_to(&self, sheet: &Sheet) -> Result<Change, String> {
        let ledger = self.engine.ledger();
        let current = ledger.plan().sheet();
        let mut patch = current.diff(sheet, &["wave"]);
        // The texts come from workers.
        let values = patch.changed.iter_mut().map(|cell| &mut cell.value);
        for text in values.chain(patch.added.iter_mut().flat_map(|row| &mut row.cells)) {
            *text = sanitise(text.as_bytes());
        }
        if patch.is_empty() {
            return Ok(None);
        }
        match seal(current.apply(&patch), &ledger.team) {
            Ok((plan, _)) => Ok(Some((patch, Box::new(plan)))),
            Err(problems) => {
                let problems: Vec<&str> = problems.iter().map(|p| p.message.as_str()).collect();
                Err(format!(
                    "the rows of the plan are not valid: {}",
                    problems.join("; ")
                ))
            }
        }
    }
}

/// The title in the plan of an issue, for its commit message.
pub(crate) fn planned_title(session: &Path, team: &Team, plan: &Plan, task: TaskIx) -> Option<String> {
    let title = |expansion: &Expansion| match expansion {
        Expansion::PerIssue {
            issue_column,
            plan: Some(solution),
            ..
        } => {
            let found = solution_of(session, solution, plan.cell(task, issue_column).trim())?;
            let title = found.pointer("/solution/title")?.as_str()?;
            Some(wavecrew_core::view::one_line(title)).filter(|title| !title.is_empty())
        }
        Expansion::PerIssue { plan: None, .. } | Expansion::PerPlanTask { .. } => None,
    };
    team.expansion.iter().find_map(title)
}

/// The plan of an issue, if it exists.
fn solution_of(session: &Path, template: &str, issue: &str) -> Option<Value> {
    let text = fs::read(session.join(template.replace("{issue_id}", issue))).ok()?;
    serde_json::from_slice(&text).ok()
}

/// The tasks of a plan, in the order of their files' names.
pub(crate) fn plan_tasks_in(session: &Path, pattern: &str) -> Result<Vec<PlanTask>, String> {
    let mut tasks = Vec::new();
    for (name, text) in matching_files(session, pattern) {
        let task = serde_json::from_str(&text).map_err(|error| format!("{name} is not valid: {error}"))?;
        tasks.push(task);
    }
    if tasks.is_empty() {
        return Err(format!("no file matches {pattern}"));
    }
    Ok(tasks)
}

/// Text files directly in the pattern's folder that match it: their paths in the session folder, and their content.
pub(crate) fn matching_files(session: &Path, pattern: &str) -> Vec<(String, String)> {
    let Ok(pattern) = Pattern::parse(pattern) else {
        return Vec::new();
    };
    let base = pattern.base();
    let Ok(entries) = fs::read_dir(session.join(&base)) else {
        return Vec::new();
    };
    let mut found: Vec<(String, String)> = entries
        .flatten()
        .filter_map(|entry| {
            let name = format!("{base}/{}", entry.file_name().to_str()?);
            let text = pattern
                .matches(&name)
                .then(|| fs::read_to_string(entry.path()).ok())??;
            Some((name, text))
        })
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_read_in_order_and_a_broken_one_is_named() {
        let session = tempfile::tempdir().unwrap();
        let folder = session.path().join("plan");
        fs::create_dir(&folder).unwrap();
        let read = || plan_tasks_in(session.path(), "plan/TASK-*.json");
        assert_eq!(read().unwrap_err(), "no file matches plan/TASK-*.json");
        for n in [2, 1] {
            let text = format!(r#"{{"id":"TASK-00{n}","title":"t","description":"d","files":["f{n}"]}}"#);
            fs::write(folder.join(format!("TASK-00{n}.json")), text).unwrap();
        }
        fs::write(folder.join("plan.json"), "{}").unwrap();
        let ids: Vec<String> = read().unwrap().into_iter().map(|task| task.id).collect();
        assert_eq!(ids, ["TASK-001", "TASK-002"]);
        fs::write(folder.join("TASK-003.json"), "{}").unwrap();
        assert!(
            read()
                .unwrap_err()
                .starts_with("plan/TASK-003.json is not valid: missing field")
        );
    }
}
