//! Rules about ids that name other tasks: dependencies, context, cycles, pairs.

use super::{Lists, ProblemLog, filled, graph};
use crate::id::TaskIx;
use crate::plan::did_you_mean;
use crate::sheet::Sheet;
use crate::team::{RowRule, Team};
use std::collections::HashMap;

/// Finding the closest of a million ids is slow: only the first few unknown ids get a suggestion.
const SUGGESTIONS: usize = 20;
/// A message names at most this many tasks of a cycle.
const NAMED: usize = 50;

type ById = HashMap<Box<str>, TaskIx>;

/// Reads a column of ids. `target` returns the task that an id adds to its row's list, if any; each is in a
/// list once.
fn read_links(
    sheet: &Sheet,
    column: Option<usize>,
    mut target: impl FnMut(TaskIx, usize, &str) -> Option<TaskIx>,
) -> Lists {
    let mut lists = Lists::with_capacity(sheet.rows());
    let mut seen_by = vec![None; sheet.rows()];
    for task in graph::all(sheet.rows()) {
        if let Some(column) = column {
            let ids = sheet.cell(task.index(), column).split(';').map(str::trim);
            for id in ids.filter(|id| !id.is_empty()) {
                if let Some(item) = target(task, column, id)
                    && seen_by[item.index()].replace(task) != Some(task)
                {
                    lists.push(item);
                }
            }
        }
        lists.close();
    }
    lists
}

impl ProblemLog<'_> {
    pub(super) fn deps(&mut self, by_id: &ById) -> Lists {
        let mut suggestions = SUGGESTIONS;
        read_links(self.sheet, self.places.deps, |task, column, id| {
            let dep = by_id.get(id).copied();
            let (message, help) = match dep {
                None => ("Unknown dependency", self.suggest(id, &mut suggestions)),
                Some(dep) if dep == task => {
                    let help = "a task cannot wait for itself; remove it from its own deps";
                    ("Self-dependency", Some(help.to_owned()))
                }
                Some(_) => return dep,
            };
            let problem = self.text_problem(task, column, id, format!("{message}: {id}"));
            self.problems.push(problem.maybe_help(help));
            None
        })
    }

    /// Checks where tasks take context from; whether it is there in time, only if the waves are known.
    pub(super) fn context(&mut self, by_id: &ById, wave: Option<&Vec<u32>>) -> Lists {
        let mut suggestions = SUGGESTIONS;
        read_links(self.sheet, self.places.context_from, |task, column, id| {
            let help = match by_id.get(id) {
                None if self.is_dep(task, id) => return None,
                None => self
                    .suggest(id, &mut suggestions)
                    .unwrap_or_else(|| "there is no such task".to_owned()),
                Some(&source) => {
                    let Some(wave) = wave else { return Some(source) };
                    let own = wave[task.index()];
                    let theirs = wave[source.index()];
                    // Tasks in or behind a cycle have no wave to compare; the cycle is reported.
                    if source != task && (own == 0 || theirs == 0 || theirs < own) {
                        return Some(source);
                    }
                    format!("{id} runs in wave {theirs}, not before wave {own}; add it to deps")
                }
            };
            let problem = self.text_problem(task, column, id, format!("Invalid context_from: {id}"));
            self.problems.push(problem.help(help));
            None
        })
    }

    /// Whether the row names this id as a dependency too, where it is reported.
    fn is_dep(&self, task: TaskIx, id: &str) -> bool {
        let deps = self
            .places
            .deps
            .map(|column| self.sheet.cell(task.index(), column));
        deps.is_some_and(|deps| deps.split(';').any(|dep| dep.trim() == id))
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
        for component in graph::components(deps, wave) {
            let message = format!(
                "Circular dependency detected involving: {}",
                self.names(&component, ", ")
            );
            let mut cycle = graph::cycle_in(deps, &component);
            cycle.push(cycle[0]);
            let help = format!("each waits for the next: {}", self.names(&cycle, " -> "));
            self.problems
                .push(self.cell_problem(component[0], column, message).help(help));
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
