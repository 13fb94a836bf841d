//! Levels of a pipeline, and the cycles that a team file must not have.

use crate::plan::levels_of;
use crate::team::PipelineTask;

/// The level of each task from 1, or the ids of one cycle. Unknown dependencies are ignored: they are reported
/// on their own.
pub(in crate::team) fn levels(tasks: &[PipelineTask]) -> Result<Vec<u32>, Vec<String>> {
    let position = |id: &String| tasks.iter().position(|task| task.id == *id);
    let deps: Vec<Vec<usize>> = tasks
        .iter()
        .map(|t| t.deps.iter().filter_map(position).collect())
        .collect();
    let level = levels_of(&deps);
    match level.iter().position(|l| *l == 0) {
        None => Ok(level),
        Some(stuck) => Err(cycle(stuck, &deps, &level)
            .into_iter()
            .map(|t| tasks[t].id.clone())
            .collect()),
    }
}

/// Follows dependencies without a level until one comes up again.
fn cycle(start: usize, deps: &[Vec<usize>], level: &[u32]) -> Vec<usize> {
    let mut path = vec![start];
    loop {
        let here = path[path.len() - 1];
        let next = deps[here].iter().find(|dep| level[**dep] == 0);
        let next = *next.expect("a task without a level has a dependency without one");
        if let Some(seen) = path.iter().position(|task| *task == next) {
            return path.split_off(seen);
        }
        path.push(next);
    }
}
