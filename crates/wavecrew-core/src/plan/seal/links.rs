//! Rules about ids that name other tasks: dependencies, context, cycles, pairs.

use super::{BATCH, Index, Link, Lists, ProblemLog, filled, graph};
use crate::id::TaskIx;
use crate::plan::did_you_mean;
use crate::sheet::Sheet;
use crate::team::{RowRule, Team};

/// Looking for the closest of a million ids takes a while: the first few unknown ones get a suggestion.
const SUGGESTIONS: usize = 20;
/// A message names this many tasks of a cycle; a person looks at the first few.
const NAMED: usize = 50;

/// The ids in a cell, with the empty ones left out.
fn listed(cell: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(cell).filter(|cell| !cell.is_empty());
    let ids = std::iter::from_fn(move || {
        let cell = rest?;
        // Ids are short: looking at byte after byte is faster than a search made for long texts.
        let Some(end) = cell.bytes().position(|b| b == b';') else {
            return rest.take();
        };
        rest = Some(&cell[end + 1..]);
        Some(&cell[..end])
    });
    ids.map(str::trim).filter(|id| !id.is_empty())
}

/// Gives every id that stands in a column of ids, with the task it names, in the order of the table.
fn each_link<'a>(sheet: &'a Sheet, column: usize, index: &Index, mut found: impl FnMut(Link<'a>)) {
    let links = graph::all(sheet.rows())
        .flat_map(|task| listed(sheet.cell(task.index(), column)).map(move |id| (task, id)));
    match index {
        Index::Counting(counting) => {
            links.for_each(|(task, id)| {
                found(Link {
                    task,
                    id,
                    row: counting.find(id),
                });
            });
        }
        Index::Keyed(keyed) => {
            let mut batch = Vec::with_capacity(BATCH);
            let mut links = links.map(|(task, id)| Link { task, id, row: None });
            loop {
                batch.extend(links.by_ref().take(BATCH));
                if batch.is_empty() {
                    return;
                }
                keyed.find_all(sheet, &mut batch);
                batch.drain(..).for_each(&mut found);
            }
        }
    }
}

/// Fills lists in row order, each task in a list once.
struct Filling {
    lists: Lists,
    tasks: usize,
}

impl Filling {
    fn new(tasks: usize) -> Self {
        Self {
            lists: Lists::with_capacity(tasks),
            tasks,
        }
    }

    fn add(&mut self, task: TaskIx, item: TaskIx) {
        self.close_until(task.index());
        self.lists.push(item);
    }

    fn close_until(&mut self, task: usize) {
        while self.lists.len() < task {
            self.lists.close_unique();
        }
    }

    fn finish(mut self) -> Lists {
        self.close_until(self.tasks);
        self.lists
    }
}

impl ProblemLog<'_> {
    pub(super) fn deps(&mut self, index: &Index) -> Lists {
        let mut lists = Filling::new(self.sheet.rows());
        let Some(column) = self.places.deps else {
            return lists.finish();
        };
        let mut suggestions = SUGGESTIONS;
        each_link(self.sheet, column, index, |Link { task, id, row }| match row {
            Some(dep) if dep == task => {
                let problem = self.text_problem(task, column, id, format!("Self-dependency: {id}"));
                self.problems
                    .push(problem.help("a task cannot wait for itself; remove it from its own deps"));
            }
            Some(dep) => lists.add(task, dep),
            None => {
                let help = self.suggest(id, &mut suggestions);
                let problem = self.text_problem(task, column, id, format!("Unknown dependency: {id}"));
                self.problems.push(problem.maybe_help(help));
            }
        });
        lists.finish()
    }

    pub(super) fn context(&mut self, index: &Index, wave: &[u32]) -> Lists {
        let mut lists = Filling::new(self.sheet.rows());
        let Some(column) = self.places.context_from else {
            return lists.finish();
        };
        let mut suggestions = SUGGESTIONS;
        each_link(self.sheet, column, index, |Link { task, id, row }| {
            let own = wave[task.index()];
            let help = match row {
                None => self
                    .suggest(id, &mut suggestions)
                    .unwrap_or_else(|| "there is no such task".to_owned()),
                Some(source) => {
                    let theirs = wave[source.index()];
                    // Tasks in or behind a cycle have no wave to compare; the cycle is reported.
                    if source != task && (own == 0 || theirs == 0 || theirs < own) {
                        lists.add(task, source);
                        return;
                    }
                    format!("{id} runs in wave {theirs}, not before wave {own}; add it to deps")
                }
            };
            let problem = self.text_problem(task, column, id, format!("Invalid context_from: {id}"));
            self.problems.push(problem.help(help));
        });
        lists.finish()
    }

    fn suggest(&self, unknown: &str, left: &mut usize) -> Option<String> {
        if unknown.contains(',') {
            return Some("ids are separated by `;`".to_owned());
        }
        *left = left.checked_sub(1)?;
        did_you_mean(unknown, self.tasks().map(|task| self.id(task)))
    }

    pub(super) fn cycles(&mut self, deps: &Lists, wave: &[u32]) {
        if !wave.contains(&0) {
            return;
        }
        let Some(column) = self.places.deps else { return };
        for knot in graph::knots(deps, wave) {
            let message = format!(
                "Circular dependency detected involving: {}",
                self.names(&knot, ", ")
            );
            let mut cycle = graph::cycle_in(deps, &knot);
            cycle.push(cycle[0]);
            let help = format!("each waits for the next: {}", self.names(&cycle, " -> "));
            self.problems
                .push(self.cell_problem(knot[0], column, message).help(help));
        }
    }

    fn names(&self, tasks: &[TaskIx], separator: &str) -> String {
        let shown: Vec<&str> = tasks.iter().take(NAMED).map(|t| self.id(*t)).collect();
        let more = tasks.len().saturating_sub(NAMED);
        let shown = shown.join(separator);
        if more == 0 {
            shown
        } else {
            format!("{shown}{separator}… and {more} more")
        }
    }

    /// Every follower depends on the leader with the same number.
    pub(super) fn pairs(&mut self, team: &Team, deps: &Lists) {
        for rule in &team.rules {
            let RowRule::Pair {
                prefix,
                needs,
                message,
            } = rule
            else {
                continue;
            };
            for task in self.tasks() {
                let id = self.id(task);
                let Some(number) = id
                    .strip_prefix(prefix.as_str())
                    .filter(|rest| rest.starts_with('-'))
                else {
                    continue;
                };
                let is_leader = |dep: &TaskIx| self.id(*dep).strip_prefix(needs.as_str()) == Some(number);
                if !deps.of(task).iter().any(is_leader) {
                    let column = self.places.deps.unwrap_or(self.places.id);
                    let message = filled(message, |name| self.named(task, name, ""));
                    let problem = self.cell_problem(task, column, message);
                    self.problems
                        .push(problem.help(format!("add {needs}{number} to its deps")));
                }
            }
        }
    }
}
