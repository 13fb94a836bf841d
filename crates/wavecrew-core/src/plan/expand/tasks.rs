//! One row per task of a plan; tasks that touch the same files run one after the other.

use super::{Expanded, Rows, modules::module, normalised, row, unique};
use crate::plan::{Plan, levels_of};
use crate::team::{Expansion, PipelineTask, numbered, prefix_of};
use serde::Deserialize;
use std::collections::BTreeSet;

/// A task of a plan, from its file.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct PlanTask {
    pub id: String,
    pub title: String,
    pub description: String,
    #[serde(default, deserialize_with = "crate::claim::json::texts")]
    pub files: Vec<String>,
    #[serde(default, deserialize_with = "crate::claim::json::texts")]
    pub depends_on: Vec<String>,
    #[serde(default, deserialize_with = "crate::claim::json::texts")]
    pub convergence_criteria: Vec<String>,
}

/// How the size of a plan decides who works on it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Routing {
    /// `Low`, `Medium` or `High`, by the number of modules.
    pub complexity: &'static str,
    pub modules: BTreeSet<String>,
    /// The rows that do the work.
    pub rows: Vec<String>,
}

/// The table with one row per task of the plan in place of the placeholder `template`; for a small plan, with the
/// placeholder. Works on a table that was expanded before as on one that was not.
///
/// # Panics
/// When called with another kind of expansion.
pub fn per_plan_task(
    plan: &Plan,
    expansion: &Expansion,
    template: &PipelineTask,
    tasks: &[PlanTask],
) -> Result<Expanded<Routing>, String> {
    let Expansion::PerPlanTask {
        replaces,
        low_max_modules,
        medium_max_modules,
        design,
        ..
    } = expansion
    else {
        unreachable!("called for plans");
    };
    let levels = levels(tasks)?;
    let modules: BTreeSet<String> = tasks
        .iter()
        .flat_map(|task| &task.files)
        .filter_map(|f| module(f))
        .collect();
    let many = |most: u32| modules.len() > most as usize;
    let (complexity, count) = match (many(*low_max_modules), many(*medium_max_modules)) {
        (false, _) => ("Low", 1),
        (true, false) => ("Medium", tasks.len()),
        (true, true) => ("High", tasks.len()),
    };
    let Some(first) = plan.find(replaces) else {
        return Err(format!(
            "the table has no row `{replaces}` to put the tasks of the plan in"
        ));
    };
    let stand_in = |n: usize| numbered(replaces, n);
    let stand_ins: Vec<String> = (0..count).map(stand_in).collect();
    let design = design.as_deref();
    let with_design = design.filter(|_| complexity == "High");

    // Rows of an earlier expansion are removed first.
    let ours = |id: &str| is_numbered(id, replaces) || design.is_some_and(|design| design.id == id);
    let mut rows = Rows::of(plan);
    let strangers = |ids: Vec<String>| -> Vec<String> { ids.into_iter().filter(|id| !ours(id)).collect() };
    let place = rows.find(replaces).expect("found in the plan");
    // A design of an earlier expansion stands between the placeholder and what it waits for.
    let earlier = design.and_then(|design| rows.find(&design.id));
    let waited = earlier.map(|at| rows.list(at, "deps")).unwrap_or_default();
    let before = unique(&strangers([rows.list(place, "deps"), waited].concat()));
    let id_at = rows.at("id").expect("every table has it");
    rows.rows
        .retain(|row| row[id_at] == *replaces || !ours(&row[id_at]));
    let place = rows.find(replaces).expect("kept above");
    rows.rows.remove(place);

    let mut new = Vec::new();
    if let Some(design) = with_design {
        let mut design = design.clone();
        design.deps.clone_from(&before);
        new.push(cells(&design, &rows.header, &row(plan, first)));
    }
    let before: Vec<String> = match with_design {
        Some(design) => vec![design.id.clone()],
        None => before,
    };
    if count == 1 {
        let whole = PipelineTask {
            deps: before,
            ..template.clone()
        };
        new.push(cells(&whole, &rows.header, &row(plan, first)));
    } else {
        for (n, task) in tasks.iter().enumerate() {
            let waits = waits_for(n, tasks, &levels);
            let ids: Vec<String> = waits.iter().map(|m| stand_in(*m)).collect();
            let mut context = template.context_from.clone();
            context.extend(with_design.map(|design| design.id.clone()));
            context.extend(ids.iter().cloned());
            let own = PipelineTask {
                id: stand_in(n),
                title: task.title.clone(),
                description: describe(task),
                deps: unique(&[before.clone(), ids].concat()),
                context_from: context,
                ..template.clone()
            };
            new.push(cells(&own, &rows.header, &row(plan, first)));
        }
    }
    rows.rows.splice(place..place, new);
    relink(&mut rows, &ours, &stand_ins);
    Ok(Expanded {
        sheet: rows.finish(),
        what: Routing {
            complexity,
            modules,
            rows: stand_ins,
        },
    })
}

/// Dependents of the placeholder or its replacements now depend on all replacements.
fn relink(rows: &mut Rows, ours: &impl Fn(&str) -> bool, stand_ins: &[String]) {
    let id_at = rows.at("id").expect("every table has it");
    for at in 0..rows.rows.len() {
        if ours(&rows.rows[at][id_at]) {
            continue;
        }
        for column in ["deps", "context_from"] {
            let ids = rows.list(at, column);
            if ids.iter().any(|id| ours(id)) {
                let relinked = ids
                    .into_iter()
                    .flat_map(|id| if ours(&id) { stand_ins.to_vec() } else { vec![id] });
                let relinked: Vec<String> = relinked.collect();
                rows.set_list(at, column, &relinked);
            }
        }
    }
}

/// A row for a task; columns that it does not set are those of the row it stands in for.
fn cells(task: &PipelineTask, header: &[String], old: &[String]) -> Vec<String> {
    let cell = |(at, column): (usize, &String)| match column.as_str() {
        "id" => task.id.clone(),
        "title" => task.title.clone(),
        "description" => task.description.clone(),
        "role" => task.role.clone(),
        "deps" => task.deps.join(";"),
        "context_from" => task.context_from.join(";"),
        "exec_mode" => task.exec_mode.as_str().to_owned(),
        "status" => "pending".to_owned(),
        "wave" => String::new(),
        own => task.set.get(own).cloned().unwrap_or_else(|| old[at].clone()),
    };
    header.iter().enumerate().map(cell).collect()
}

/// Why a plan of these tasks is invalid, if it is.
pub fn plan_task_problem(tasks: &[PlanTask]) -> Option<String> {
    levels(tasks).err()
}

/// The dependency depth of each task.
fn levels(tasks: &[PlanTask]) -> Result<Vec<u32>, String> {
    let known: BTreeSet<&str> = tasks.iter().map(|task| task.id.as_str()).collect();
    if known.len() < tasks.len() {
        return Err("two tasks of the plan have the same id".to_owned());
    }
    for task in tasks {
        if let Some(unknown) = task.depends_on.iter().find(|id| !known.contains(id.as_str())) {
            return Err(format!(
                "{} of the plan depends on {unknown}, which is not in it",
                task.id
            ));
        }
    }
    let position = |id: &String| tasks.iter().position(|task| task.id == *id);
    let deps = |task: &PlanTask| task.depends_on.iter().filter_map(position).collect();
    let levels = levels_of(&tasks.iter().map(deps).collect::<Vec<_>>());
    let of_cycles = tasks.iter().zip(&levels).filter(|(_, level)| **level == 0);
    let stuck: BTreeSet<&str> = of_cycles.map(|(task, _)| task.id.as_str()).collect();
    if !stuck.is_empty() {
        let stuck = stuck.into_iter().collect::<Vec<_>>().join(", ");
        return Err(format!("tasks of the plan wait for each other: {stuck}"));
    }
    Ok(levels)
}

/// The dependencies of the n-th task: those it names, and earlier ones that touch its files. A dependent is deeper than
/// its dependencies, so no cycle arises.
fn waits_for(n: usize, tasks: &[PlanTask], levels: &[u32]) -> Vec<usize> {
    let files =
        |task: &PlanTask| -> BTreeSet<String> { task.files.iter().map(|file| normalised(file)).collect() };
    let own = files(&tasks[n]);
    let names = |m: usize| tasks[n].depends_on.contains(&tasks[m].id);
    let is_before = |m: usize| (levels[m], m) < (levels[n], n);
    let overlaps = |m: usize| !own.is_disjoint(&files(&tasks[m]));
    (0..tasks.len())
        .filter(|&m| names(m) || (is_before(m) && overlaps(m)))
        .collect()
}

fn describe(task: &PlanTask) -> String {
    let mut text = format!(
        "Implement {} of the plan (plan/{}.json), and nothing else: {}",
        task.id,
        task.id,
        task.description.trim()
    );
    if !task.files.is_empty() {
        text += &format!(" Files: {}.", task.files.join(", "));
    }
    if !task.convergence_criteria.is_empty() {
        text += &format!(" Done when: {}.", task.convergence_criteria.join("; "));
    }
    text
}

fn is_numbered(id: &str, like: &str) -> bool {
    id.strip_prefix(prefix_of(like))
        .and_then(|rest| rest.strip_prefix('-'))
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}
