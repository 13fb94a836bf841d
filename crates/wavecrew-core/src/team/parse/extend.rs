//! Pipelines that include the tasks of others. Remembers each pipeline's own tasks, so that a mistake is
//! reported once, at its place.

use super::levels::levels;
use super::source::{Source, at, did_you_mean};
use crate::team::{PipelineTask, Rewire, Team};

/// A pipeline's own part, beside the tasks that it includes.
pub(super) struct Written {
    /// Index in the resolved tasks of the pipeline's first own task.
    pub first_own: usize,
    pub rewire: Vec<Rewire>,
    pub extends: Vec<String>,
    /// Whether every pipeline that it includes exists.
    pub complete: bool,
}

/// Gives every pipeline the full list of its tasks.
pub(super) fn resolve(team: &mut Team, source: &mut Source<'_>) -> Vec<Written> {
    let mut written = vec![];
    for p in 0..team.pipelines.len() {
        let (before, rest) = team.pipelines.split_at_mut(p);
        let pipeline = &mut rest[0];
        let extends = std::mem::take(&mut pipeline.extends);
        let rewire = std::mem::take(&mut pipeline.rewire);
        let mut tasks: Vec<PipelineTask> = vec![];
        let mut complete = true;
        for (e, name) in extends.iter().enumerate() {
            let Some(base) = before.iter().find(|base| base.name == *name) else {
                let help = did_you_mean(name, before.iter().map(|base| base.name.as_str()));
                let message = format!("no pipeline `{name}` stands above `{}`", pipeline.name);
                source.problem_at(at!["pipelines", p, "extends", e], message, help);
                complete = false;
                continue;
            };
            for task in &base.tasks {
                if !tasks.iter().any(|known| known.id == task.id) {
                    tasks.push(task.clone());
                }
            }
        }
        for (r, wire) in rewire.iter().enumerate() {
            if let Some(task) = tasks.iter_mut().find(|task| task.id == wire.id) {
                task.deps.clone_from(&wire.deps);
                task.context_from.clone_from(&wire.context_from);
            } else {
                let help = did_you_mean(&wire.id, tasks.iter().map(|task| task.id.as_str()));
                let message = format!("pipeline `{}` takes over no task `{}`", pipeline.name, wire.id);
                source.problem_at(at!["pipelines", p, "rewire", r, "id"], message, help);
            }
        }
        let first_own = tasks.len();
        tasks.append(&mut pipeline.tasks);
        pipeline.tasks = tasks;
        written.push(Written {
            first_own,
            rewire,
            extends,
            complete,
        });
    }
    written
}

/// Puts tasks that came from several places into the order in which they run.
pub(super) fn order(team: &mut Team, written: &[Written]) {
    for (pipeline, written) in team.pipelines.iter_mut().zip(written) {
        if written.extends.is_empty() {
            continue;
        }
        let levels = levels(&pipeline.tasks).expect("cycles were refused before");
        let mut tasks: Vec<_> = levels.into_iter().zip(pipeline.tasks.drain(..)).collect();
        tasks.sort_by_key(|(level, _)| *level);
        pipeline.tasks = tasks.into_iter().map(|(_, task)| task).collect();
    }
}
