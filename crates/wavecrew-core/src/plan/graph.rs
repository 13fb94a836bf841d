//! Levels and cycles of a dependency graph, on flat arrays. Knows indices, not tasks.
//! Never recurses: a chain may be a million tasks long.

use crate::id::TaskIx;
use std::collections::HashMap;

/// Lists of tasks, one per task, in one array.
#[derive(Clone, Debug, Default)]
pub(super) struct Lists {
    starts: Vec<u32>,
    items: Vec<TaskIx>,
}

impl Lists {
    pub fn with_capacity(tasks: usize) -> Self {
        let mut starts = Vec::with_capacity(tasks + 1);
        starts.push(0);
        Self {
            starts,
            items: Vec::with_capacity(tasks),
        }
    }

    pub fn push(&mut self, item: TaskIx) {
        self.items.push(item);
    }

    /// Ends the current list; the next `push` starts the next one.
    pub fn close(&mut self) {
        self.starts
            .push(u32::try_from(self.items.len()).expect("a 4 GiB table names fewer tasks"));
    }

    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    pub fn of(&self, task: TaskIx) -> &[TaskIx] {
        let at = task.index();
        &self.items[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    /// The reverse edges, each list in ascending order.
    pub fn reversed(&self) -> Self {
        let mut starts = vec![0; self.len() + 1];
        for item in &self.items {
            starts[item.index() + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let mut items = vec![TaskIx(0); self.items.len()];
        for task in all(self.len()) {
            for item in self.of(task) {
                let slot = &mut next[item.index()];
                items[*slot as usize] = task;
                *slot += 1;
            }
        }
        Self { starts, items }
    }
}

pub(super) fn all(tasks: usize) -> impl Iterator<Item = TaskIx> + use<> {
    (0..u32::try_from(tasks).expect("a 4 GiB table has fewer rows")).map(TaskIx)
}

/// The 1-based depth of every task, 0 for those in or behind a cycle.
pub(super) fn levels(deps: &Lists) -> Vec<u32> {
    levels_in_order(deps).unwrap_or_else(|| kahn(deps))
}

/// The same for dependencies by position.
pub(crate) fn levels_of(deps: &[Vec<usize>]) -> Vec<u32> {
    let mut lists = Lists::with_capacity(deps.len());
    let tasks: Vec<TaskIx> = all(deps.len()).collect();
    for of_task in deps {
        for dep in of_task {
            lists.push(tasks[*dep]);
        }
        lists.close();
    }
    levels(&lists)
}

/// Most tables list tasks after their dependencies: then one pass is enough.
fn levels_in_order(deps: &Lists) -> Option<Vec<u32>> {
    let mut level: Vec<u32> = Vec::with_capacity(deps.len());
    for task in all(deps.len()) {
        let mut last = 0;
        for dep in deps.of(task) {
            last = last.max(*level.get(dep.index())?);
        }
        level.push(last + 1);
    }
    Some(level)
}

/// Kahn's algorithm by levels.
fn kahn(deps: &Lists) -> Vec<u32> {
    let dependents = deps.reversed();
    let mut open: Vec<u32> = deps.starts.windows(2).map(|ends| ends[1] - ends[0]).collect();
    let mut level = vec![0; deps.len()];
    let mut ready: Vec<TaskIx> = all(deps.len()).filter(|t| open[t.index()] == 0).collect();
    let mut next = Vec::new();
    let mut depth = 0;
    while !ready.is_empty() {
        depth += 1;
        for task in ready.drain(..) {
            level[task.index()] = depth;
            for &dependent in dependents.of(task) {
                let open = &mut open[dependent.index()];
                *open -= 1;
                if *open == 0 {
                    next.push(dependent);
                }
            }
        }
        std::mem::swap(&mut ready, &mut next);
    }
    level
}

/// Tasks sorted by wave, then row, and where each wave ends.
pub(super) fn group_by_wave(wave: &[u32]) -> (Vec<TaskIx>, Vec<u32>) {
    let waves = wave.iter().max().map_or(0, |w| *w as usize);
    let mut starts = vec![0; waves + 1];
    for w in wave {
        starts[*w as usize] += 1;
    }
    for w in 1..starts.len() {
        starts[w] += starts[w - 1];
    }
    // Each wave's start moves along as its tasks come in, and ends where the next wave starts.
    let mut next: Vec<u32> = starts.clone();
    let mut by_wave = vec![TaskIx(0); wave.len()];
    for task in all(wave.len()) {
        let slot = &mut next[wave[task.index()] as usize - 1];
        by_wave[*slot as usize] = task;
        *slot += 1;
    }
    (by_wave, starts)
}

/// The strongly connected groups among tasks without a level. Tasks behind a cycle are in none.
pub(super) fn components(deps: &Lists, level: &[u32]) -> Vec<Vec<TaskIx>> {
    // Tarjan's strongly connected components with an explicit stack.
    const UNSEEN: u32 = 0;
    const DONE: u32 = u32::MAX;
    let mut order = vec![UNSEEN; deps.len()];
    let mut low = vec![0; deps.len()];
    let mut path: Vec<(TaskIx, usize)> = Vec::new();
    let mut open: Vec<TaskIx> = Vec::new();
    let mut components = Vec::new();
    let mut count = 0;
    for root in all(deps.len()).filter(|t| level[t.index()] == 0) {
        if order[root.index()] != UNSEEN {
            continue;
        }
        path.push((root, 0));
        while let Some(&mut (task, ref mut edge)) = path.last_mut() {
            let at = task.index();
            if *edge == 0 {
                count += 1;
                order[at] = count;
                low[at] = count;
                open.push(task);
            }
            let dep = deps.of(task).get(*edge).copied();
            *edge += 1;
            if let Some(dep) = dep {
                if level[dep.index()] == 0 && order[dep.index()] == UNSEEN {
                    path.push((dep, 0));
                } else if level[dep.index()] == 0 && order[dep.index()] != DONE {
                    low[at] = low[at].min(order[dep.index()]);
                }
                continue;
            }
            path.pop();
            if let Some((parent, _)) = path.last() {
                low[parent.index()] = low[parent.index()].min(low[at]);
            }
            if low[at] == order[at] {
                let start = open
                    .iter()
                    .rposition(|t| *t == task)
                    .expect("a task is open until its component is closed");
                let mut component = open.split_off(start);
                for task in &component {
                    order[task.index()] = DONE;
                }
                if component.len() > 1 {
                    component.sort_unstable();
                    components.push(component);
                }
            }
        }
    }
    components.sort_unstable_by_key(|component| component[0]);
    components
}

/// One cycle inside a component, each task followed by one it depends on.
pub(super) fn cycle_in(deps: &Lists, component: &[TaskIx]) -> Vec<TaskIx> {
    let mut walked = vec![component[0]];
    let mut place = HashMap::from([(component[0], 0)]);
    loop {
        let task = walked[walked.len() - 1];
        let next = deps.of(task).iter().find(|d| component.binary_search(d).is_ok());
        let next = *next.expect("every task of a component depends on another one of it");
        if let Some(&start) = place.get(&next) {
            return walked.split_off(start);
        }
        place.insert(next, walked.len());
        walked.push(next);
    }
}
