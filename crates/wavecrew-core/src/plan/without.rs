//! A plan without some of its tasks: their dependents inherit their dependencies.

use super::Plan;
use super::graph::{Lists, all, group_by_wave, levels};
use crate::id::TaskIx;
use crate::sheet::{Sheet, SheetBuilder};
use std::sync::OnceLock;

impl Plan {
    /// The plan without these tasks. Dependents inherit what a removed task depended on, however many were removed
    /// in a row, and a removed task leaves every `context_from`.
    ///
    /// A task still runs after those whose findings it receives: where only a removed task ensured that, the source becomes
    /// a dependency.
    #[must_use]
    pub fn without(&self, removed: &[TaskIx]) -> Plan {
        let mut gone = vec![false; self.len()];
        for task in removed {
            gone[task.index()] = true;
        }
        self.without_where(|task| gone[task.index()])
    }

    /// The plan without the tasks that `gone` picks.
    #[must_use]
    pub fn without_where(&self, gone: impl Fn(TaskIx) -> bool) -> Plan {
        let kept: Vec<TaskIx> = self.tasks().filter(|t| !gone(*t)).collect();
        let inherited = self.inherit(&gone);
        let context = |task: TaskIx| self.context(task).iter().copied().filter(|c| !gone(*c));
        let join = |tasks: &mut dyn Iterator<Item = TaskIx>| -> String {
            tasks.map(|t| self.id(t)).collect::<Vec<_>>().join(";")
        };
        let header = self.sheet.header().to_vec();
        let mut sheet = SheetBuilder::new(header);
        for &task in &kept {
            let deps = join(&mut inherited[task.index()].iter().copied());
            let sources = join(&mut context(task));
            let same_deps = inherited[task.index()] == self.deps(task);
            let same_sources = context(task).eq(self.context(task).iter().copied());
            let cells = self.sheet.row(task.index()).enumerate().map(|(column, cell)| {
                if Some(column) == self.places.deps && !same_deps {
                    &deps
                } else if Some(column) == self.places.context_from && !same_sources {
                    &sources
                } else {
                    cell
                }
            });
            sheet.row(self.line(task), cells);
        }
        let place = places_after(self.len(), &kept);
        let relink = |of: &dyn Fn(TaskIx) -> Vec<TaskIx>| {
            let mut lists = Lists::with_capacity(kept.len());
            for &task in &kept {
                for item in of(task) {
                    lists.push(place[item.index()]);
                }
                lists.close();
            }
            lists
        };
        let deps = relink(&|task| inherited[task.index()].clone());
        let context = relink(&|task| context(task).collect());
        self.rebuilt(sheet.finish(), &kept, deps, context)
    }

    /// The dependencies of every task, with those of removed tasks inherited.
    fn inherit(&self, gone: &impl Fn(TaskIx) -> bool) -> Vec<Vec<TaskIx>> {
        let mut inherited: Vec<Vec<TaskIx>> = vec![Vec::new(); self.len()];
        let mut wave = vec![0; self.len()];
        let mut seen_by: Vec<Option<TaskIx>> = vec![None; self.len()];
        // By wave, so that dependencies come first.
        for &task in &self.by_wave {
            let mut deps = Vec::new();
            for &dep in self.deps(task) {
                let handed_on = if gone(dep) {
                    inherited[dep.index()].as_slice()
                } else {
                    &[dep]
                };
                for &dep in handed_on {
                    if seen_by[dep.index()].replace(task) != Some(task) {
                        deps.push(dep);
                    }
                }
            }
            let mut depth = deps.iter().map(|d| wave[d.index()]).max().unwrap_or(0);
            if !gone(task) {
                for &source in self.context(task) {
                    if !gone(source) && wave[source.index()] > depth {
                        deps.push(source);
                        depth = wave[source.index()];
                    }
                }
            }
            wave[task.index()] = depth + 1;
            inherited[task.index()] = deps;
        }
        inherited
    }

    fn rebuilt(&self, sheet: Sheet, kept: &[TaskIx], deps: Lists, context: Lists) -> Plan {
        let wave = levels(&deps);
        let by_id = all(kept.len()).zip(kept);
        let by_id = by_id.map(|(new, old)| (Box::from(self.id(*old)), new)).collect();
        let (by_wave, wave_starts) = group_by_wave(&wave);
        Plan {
            sheet,
            header: self.header.clone(),
            places: self.places,
            by_id,
            modes: kept.iter().map(|t| self.mode(*t)).collect(),
            deps,
            dependents: OnceLock::new(),
            context,
            wave,
            by_wave,
            wave_starts,
        }
    }
}

/// The new position of each kept task.
fn places_after(len: usize, kept: &[TaskIx]) -> Vec<TaskIx> {
    let mut place = vec![TaskIx(u32::MAX); len];
    for (new, old) in all(kept.len()).zip(kept) {
        place[old.index()] = new;
    }
    place
}
