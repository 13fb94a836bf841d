//! Pipelines: ids, roles, dependencies, values of the team's columns; and how a pipeline is chosen and expanded.

use super::columns::value_problem;
use super::{Check, did_you_mean};
use crate::id::check_task_id;
use crate::team::parse::extend::Written;
use crate::team::parse::levels::levels;
use crate::team::parse::source::{Step, at};
use crate::team::{ColumnKind, Expansion, Pipeline, PipelineFlag, PipelineTask, Scope};

impl Check<'_, '_, '_> {
    pub(super) fn pipelines(&mut self, written: &[Written]) {
        let team = self.team;
        self.unique(
            "pipelines",
            "pipeline",
            "name",
            team.pipelines.iter().map(|p| p.name.as_str()),
        );
        let mut cyclic: Vec<&str> = vec![];
        for (p, (pipeline, written)) in team.pipelines.iter().zip(written).enumerate() {
            if pipeline.tasks.is_empty() {
                self.problem(
                    at!["pipelines", p],
                    format!("pipeline `{}` has no tasks", pipeline.name),
                    None,
                );
            }
            for (t, task) in pipeline.tasks.iter().enumerate().skip(written.first_own) {
                let own = t - written.first_own;
                if pipeline.tasks[..t].iter().any(|known| known.id == task.id) {
                    let message = format!("task `{}` is in pipeline `{}` twice", task.id, pipeline.name);
                    self.problem(at!["pipelines", p, "tasks", own, "id"], message, None);
                }
                self.task(at!["pipelines", p, "tasks", own], task);
                if written.complete {
                    self.links(at!["pipelines", p, "tasks", own], pipeline, task);
                }
            }
            for (r, wire) in written.rewire.iter().enumerate() {
                if let Some(task) = pipeline.task(&wire.id) {
                    self.links(at!["pipelines", p, "rewire", r], pipeline, task);
                }
            }
            // A cycle in an included pipeline is reported there; if an included pipeline is missing,
            // dependencies may be missing too.
            if !written.complete || written.extends.iter().any(|base| cyclic.contains(&base.as_str())) {
                cyclic.push(&pipeline.name);
                continue;
            }
            match levels(&pipeline.tasks) {
                Ok(levels) => self.context_is_earlier(p, pipeline, written, &levels),
                Err(cycle) => {
                    cyclic.push(&pipeline.name);
                    // A task that depends on itself was already reported.
                    if cycle.len() == 1 {
                        continue;
                    }
                    let message = format!(
                        "tasks of pipeline `{}` wait for each other: {}",
                        pipeline.name,
                        cycle.join(" -> ")
                    );
                    let path = deps_of(p, pipeline, written, &cycle[0]);
                    self.problem(
                        &path,
                        message,
                        Some("take one of these dependencies out".to_owned()),
                    );
                }
            }
        }
    }

    fn task(&mut self, here: &[Step<'_>], task: &PipelineTask) {
        let team = self.team;
        let id = task.id.as_str();
        if let Err(why) = check_task_id(id) {
            self.problem(
                &under(here, "id"),
                format!("a task cannot have the id `{id}`: {why}"),
                None,
            );
        }
        self.known_role(&under(here, "role"), &task.role, &format!("task `{id}`"));
        let claimed = team.role(&task.role).is_none_or(|role| role.claims(id).is_some());
        if let Some(owner) = team.role_for_prefix(id).filter(|_| !claimed) {
            let message = format!(
                "the id of task `{id}` belongs to role `{}`, not `{}`",
                owner.name, task.role
            );
            self.problem(&under(here, "id"), message, None);
        }
        for (key, text) in [("title", &task.title), ("description", &task.description)] {
            if text.trim().is_empty() {
                self.problem(&under(here, key), format!("task `{id}` has an empty {key}"), None);
            }
        }
        for name in task.set.keys() {
            let path = [here, &["set".into(), name.as_str().into()]].concat();
            self.known_column(&path, name, Some(ColumnKind::Input), &format!("task `{id}`"));
        }
        for column in team.input_columns() {
            let value = task.set.get(&column.name).map_or("", String::as_str);
            if let Some((message, help)) = value_problem(column, value) {
                let path = [here, &["set".into(), column.name.as_str().into()]].concat();
                self.problem(&path, format!("task `{id}`: {message}"), help);
            }
        }
    }

    /// `deps` and `context_from` name other tasks of the pipeline.
    fn links(&mut self, here: &[Step<'_>], pipeline: &Pipeline, task: &PipelineTask) {
        for (key, ids) in [("deps", &task.deps), ("context_from", &task.context_from)] {
            for (d, dep) in ids.iter().enumerate() {
                let path = [here, &[key.into(), d.into()]].concat();
                if *dep == task.id {
                    self.problem(&path, format!("task `{dep}` names itself in `{key}`"), None);
                } else if pipeline.task(dep).is_none() {
                    let others = pipeline
                        .tasks
                        .iter()
                        .map(|t| t.id.as_str())
                        .filter(|id| *id != task.id);
                    let message = format!(
                        "`{key}` of task `{}` names `{dep}`, which is not in pipeline `{}`",
                        task.id, pipeline.name
                    );
                    self.problem(&path, message, did_you_mean(dep, others));
                }
            }
        }
    }

    fn context_is_earlier(&mut self, p: usize, pipeline: &Pipeline, written: &Written, levels: &[u32]) {
        for (task, level) in pipeline.tasks.iter().zip(levels) {
            for (i, from) in task.context_from.iter().enumerate() {
                let source = pipeline
                    .tasks
                    .iter()
                    .position(|t| t.id == *from && t.id != task.id);
                if source.is_some_and(|s| levels[s] >= *level) {
                    let message = format!(
                        "task `{}` takes context from `{from}`, which does not run before it",
                        task.id
                    );
                    let mut path = deps_of(p, pipeline, written, &task.id);
                    path.pop();
                    path.extend(["context_from".into(), Step::Index(i)]);
                    self.problem(
                        &path,
                        message,
                        Some("make it depend on that task, directly or not".to_owned()),
                    );
                }
            }
        }
    }

    pub(super) fn choices(&mut self) {
        let team = self.team;
        match &team.scope {
            None => {}
            Some(Scope::Fixed { pipeline }) => {
                self.known_pipeline(at!["scope", "pipeline"], pipeline, "`scope`");
            }
            Some(Scope::Changes { steps, otherwise }) => {
                for (s, step) in steps.iter().enumerate() {
                    self.known_pipeline(at!["scope", "steps", s, "pipeline"], &step.pipeline, "`scope`");
                    let smaller = |before: &&crate::team::ChangeStep| {
                        step.max_files <= before.max_files && step.max_modules <= before.max_modules
                    };
                    if let Some(before) = steps[..s].iter().find(smaller) {
                        let message = format!(
                            "`{}` is never chosen: `{}` above it takes all of its changes",
                            step.pipeline, before.pipeline
                        );
                        self.problem(
                            at!["scope", "steps", s],
                            message,
                            Some("put the smaller step first".to_owned()),
                        );
                    }
                }
                self.known_pipeline(at!["scope", "otherwise"], otherwise, "`scope`");
            }
            Some(Scope::Words {
                choices,
                otherwise,
                complexity,
            }) => {
                for (c, choice) in choices.iter().enumerate() {
                    self.known_pipeline(
                        at!["scope", "choices", c, "pipeline"],
                        &choice.pipeline,
                        "`scope`",
                    );
                    if choice.words.is_empty() {
                        let message = format!("no word leads to `{}`", choice.pipeline);
                        self.problem(at!["scope", "choices", c], message, None);
                    }
                }
                self.known_pipeline(at!["scope", "otherwise"], otherwise, "`scope`");
                if complexity.as_ref().is_some_and(|c| c.low_max >= c.medium_max) {
                    let message = "`low_max` must be below `medium_max`";
                    self.problem(at!["scope", "complexity", "low_max"], message, None);
                }
            }
        }
        self.expansions();
        for (s, switch) in team.switches.iter().enumerate() {
            match switch {
                PipelineFlag::RemoveRole { role, .. } => {
                    self.known_role(at!["switches", s, "role"], role, "the switch");
                }
            }
        }
    }

    fn expansions(&mut self) {
        let team = self.team;
        for (e, expansion) in team.expansion.iter().enumerate() {
            match expansion {
                Expansion::PerIssue {
                    issue_column,
                    chain,
                    plan,
                } => {
                    let path = at!["expansion", e, "issue_column"];
                    self.known_column(path, issue_column, Some(ColumnKind::Input), "the expansion");
                    self.known_prefix(at!["expansion", e, "chain"], chain, "the expansion");
                    if let Some(plan) = plan {
                        self.placeholders(at!["expansion", e, "plan"], plan, &["issue_id"], "the expansion");
                    }
                }
                Expansion::PerPlanTask {
                    after,
                    replaces,
                    low_max_modules,
                    medium_max_modules,
                    design,
                    ..
                } => {
                    for (key, id) in [("after", after), ("replaces", replaces)] {
                        if team.pipelines.iter().all(|p| p.task(id).is_none()) {
                            let known = team
                                .pipelines
                                .iter()
                                .flat_map(|p| p.tasks.iter().map(|t| t.id.as_str()));
                            let message =
                                format!("the expansion names the task `{id}`, which is in no pipeline");
                            self.problem(at!["expansion", e, key], message, did_you_mean(id, known));
                        }
                    }
                    if low_max_modules >= medium_max_modules {
                        let message = "`low_max_modules` must be below `medium_max_modules`";
                        self.problem(at!["expansion", e, "low_max_modules"], message, None);
                    }
                    if let Some(design) = design {
                        self.task(at!["expansion", e, "design"], design);
                    }
                }
            }
        }
    }
}

fn under<'s>(here: &[Step<'s>], key: &'s str) -> Vec<Step<'s>> {
    [here, &[key.into()]].concat()
}

/// Where the dependencies of a task are written: at the task, or where they were rewired.
fn deps_of<'s>(p: usize, pipeline: &Pipeline, written: &Written, id: &str) -> Vec<Step<'s>> {
    if let Some(r) = written.rewire.iter().position(|wire| wire.id == id) {
        return at!["pipelines", p, "rewire", r, "deps"].to_vec();
    }
    match pipeline.tasks.iter().position(|task| task.id == id) {
        Some(t) if t >= written.first_own => {
            at!["pipelines", p, "tasks", t - written.first_own, "deps"].to_vec()
        }
        _ => at!["pipelines", p, "extends", "deps"].to_vec(),
    }
}
