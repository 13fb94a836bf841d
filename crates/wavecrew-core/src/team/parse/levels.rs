//! Levels of a pipeline, for the checks of a team file. Plans of any size are levelled elsewhere; a pipeline has a
//! handful of tasks.

use crate::team::PipelineTask;

/// The level of each task from 1, or the ids of one cycle. Unknown dependencies are ignored: they are reported
/// on their own.
pub(super) fn levels(tasks: &[PipelineTask]) -> Result<Vec<usize>, Vec<String>> {
    let position = |id: &String| tasks.iter().position(|task| task.id == *id);
    let deps: Vec<Vec<usize>> = tasks
        .iter()
        .map(|t| t.deps.iter().filter_map(position).collect())
        .collect();
    let mut level = vec![0; tasks.len()];
    // Each pass settles at least one level, so as many passes as tasks settle everything that can be.
    for _ in tasks {
        for task in 0..tasks.len() {
            if level[task] == 0 && deps[task].iter().all(|dep| level[*dep] > 0) {
                level[task] = 1 + deps[task].iter().map(|dep| level[*dep]).max().unwrap_or(0);
            }
        }
    }
    match level.iter().position(|l| *l == 0) {
        None => Ok(level),
        Some(stuck) => Err(cycle(stuck, &deps, &level)
            .into_iter()
            .map(|t| tasks[t].id.clone())
            .collect()),
    }
}

/// Follows unsettled dependencies until one comes up again.
fn cycle(start: usize, deps: &[Vec<usize>], level: &[usize]) -> Vec<usize> {
    let mut path = vec![start];
    loop {
        let here = path[path.len() - 1];
        let next = deps[here].iter().find(|dep| level[**dep] == 0);
        let next = *next.expect("an unsettled task has an unsettled dependency");
        if let Some(seen) = path.iter().position(|task| *task == next) {
            return path.split_off(seen);
        }
        path.push(next);
    }
}
