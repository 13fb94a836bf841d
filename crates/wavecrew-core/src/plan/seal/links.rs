//! Rules about ids that name other tasks: dependencies, context, cycles, pairs.

use super::{Index, Lists, Report, filled, graph};
use crate::id::TaskIx;
use crate::plan::did_you_mean;
use crate::team::{RowRule, Team};

/// Looking for the closest of a million ids takes a while: the first few unknown ones get a suggestion.
const SUGGESTIONS: usize = 20;
/// A message names this many tasks of a cycle; a person looks at the first few.
const NAMED: usize = 50;

/// The ids in a cell, with the empty ones left out.
fn listed(cell: &str) -> impl Iterator<Item = &str> {
    cell.split(';').map(str::trim).filter(|id| !id.is_empty())
}

impl Report<'_> {
    pub(super) fn deps(&mut self, index: &Index) -> Lists {
        let mut lists = Lists::with_capacity(self.sheet.rows());
        let mut seen_by = vec![u32::MAX; self.sheet.rows()];
        let mut suggestions = SUGGESTIONS;
        for task in self.tasks() {
            let Some(column) = self.places.deps else {
                lists.close();
                continue;
            };
            for id in listed(self.sheet.cell(task.index(), column)) {
                match index.find(self.sheet, self.places.id, id) {
                    Some(dep) if dep == task => {
                        let problem = self.text_problem(task, column, id, format!("Self-dependency: {id}"));
                        self.problems
                            .push(problem.help("a task cannot wait for itself; remove it from its own deps"));
                    }
                    Some(dep) => {
                        let seen = &mut seen_by[dep.index()];
                        if *seen != task.0 {
                            *seen = task.0;
                            lists.push(dep);
                        }
                    }
                    None => {
                        let help = self.suggest(id, &mut suggestions);
                        let problem =
                            self.text_problem(task, column, id, format!("Unknown dependency: {id}"));
                        self.problems.push(problem.maybe_help(help));
                    }
                }
            }
            lists.close();
        }
        lists
    }

    pub(super) fn context(&mut self, index: &Index, wave: &[u32]) -> Lists {
        let mut lists = Lists::with_capacity(self.sheet.rows());
        let mut seen_by = vec![u32::MAX; self.sheet.rows()];
        let mut suggestions = SUGGESTIONS;
        for task in self.tasks() {
            let Some(column) = self.places.context_from else {
                lists.close();
                continue;
            };
            let own = wave[task.index()];
            for id in listed(self.sheet.cell(task.index(), column)) {
                let source = index.find(self.sheet, self.places.id, id);
                let help = match source {
                    None => self
                        .suggest(id, &mut suggestions)
                        .or_else(|| Some("there is no such task".to_owned())),
                    Some(source) => {
                        let theirs = wave[source.index()];
                        // Tasks in or behind a cycle have no wave to compare; the cycle is reported.
                        if source != task && (own == 0 || theirs == 0 || theirs < own) {
                            let seen = &mut seen_by[source.index()];
                            if *seen != task.0 {
                                *seen = task.0;
                                lists.push(source);
                            }
                            continue;
                        }
                        Some(format!(
                            "{id} runs in wave {theirs}, not before wave {own}; add it to deps"
                        ))
                    }
                };
                let problem = self.text_problem(task, column, id, format!("Invalid context_from: {id}"));
                self.problems.push(problem.maybe_help(help));
            }
            lists.close();
        }
        lists
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
