//! Expansion: one row per task of a plan in place of a placeholder, and dependencies between tasks that touch the same
//! files. Computes tables from tables; callers read the plan's files and seal the result.

mod issues;
mod modules;
mod tasks;
#[cfg(test)]
mod tests;

pub use issues::{Conflict, per_issue};
pub use tasks::{PlanTask, Routing, per_plan_task, plan_task_problem};

use super::Plan;
use crate::id::TaskIx;
use crate::sheet::{Sheet, SheetBuilder};
use std::collections::BTreeSet;

/// The expanded table, and how the plan was routed.
#[derive(Debug)]
pub struct Expanded<T> {
    pub sheet: Sheet,
    pub what: T,
}

/// Rows under construction, each with one cell per column.
struct Rows {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Rows {
    /// The rows of a plan, as they were read.
    fn of(plan: &Plan) -> Self {
        Self {
            header: plan.sheet.header().to_vec(),
            rows: plan.tasks().map(|task| row(plan, task)).collect(),
        }
    }

    fn at(&self, column: &str) -> Option<usize> {
        self.header.iter().position(|name| name == column)
    }

    fn find(&self, id: &str) -> Option<usize> {
        let at = self.at("id")?;
        self.rows.iter().position(|row| row[at] == id)
    }

    fn list(&self, row: usize, column: &str) -> Vec<String> {
        let cell = self.at(column).map_or("", |at| self.rows[row][at].as_str());
        let ids = cell.split(';').map(str::trim).filter(|id| !id.is_empty());
        ids.map(str::to_owned).collect()
    }

    fn set(&mut self, row: usize, column: &str, value: String) {
        if let Some(at) = self.at(column) {
            self.rows[row][at] = value;
        }
    }

    fn set_list(&mut self, row: usize, column: &str, ids: &[String]) {
        self.set(row, column, unique(ids).join(";"));
    }

    fn finish(self) -> Sheet {
        let mut sheet = SheetBuilder::new(self.header);
        for (line, row) in (2..).zip(&self.rows) {
            sheet.row(line, row.iter().map(String::as_str));
        }
        sheet.finish()
    }
}

fn row(plan: &Plan, task: TaskIx) -> Vec<String> {
    plan.sheet.row(task.index()).map(str::to_owned).collect()
}

/// Each id once, in the order of first mention.
fn unique(ids: &[String]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    ids.iter()
        .filter(|id| seen.insert(id.as_str()))
        .cloned()
        .collect()
}

/// A normalised path: `./a//b` and `a/b` are the same file.
fn normalised(path: &str) -> String {
    let parts = path.split('/').filter(|part| !part.is_empty() && *part != ".");
    parts.collect::<Vec<_>>().join("/")
}
