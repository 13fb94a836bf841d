//! Rows → `seal` → `Plan`: the tasks, their dependencies, and the wave each runs in.
//!
//! Owns validation, waves and the session table's shape. Refuses every plan with a mistake in it, naming all
//! mistakes at once. Never touches disk; callers pass a parsed table.

mod expand;
mod graph;
mod render;
mod seal;
#[cfg(test)]
mod tests;
mod view;
mod without;

pub use crate::sheet::{Problem, Warning, did_you_mean};
pub use expand::{Conflict, Expanded, PlanTask, Routing, per_issue, per_plan_task, plan_task_problem};
pub use seal::{seal, unresolvable_deps};
pub use view::{dot, mermaid, tree};

pub(crate) use graph::levels_of;

use crate::id::{ExecMode, TaskIx};
use crate::sheet::Sheet;
use graph::Lists;
use std::collections::HashMap;
use std::sync::OnceLock;

/// A valid table with its waves. Data about tasks is in flat arrays over the rows.
#[derive(Clone, Debug)]
pub struct Plan {
    sheet: Sheet,
    header: Vec<String>,
    places: Places,
    by_id: HashMap<Box<str>, TaskIx>,
    modes: Vec<ExecMode>,
    deps: Lists,
    /// The reverse of `deps`, computed on demand.
    dependents: OnceLock<Lists>,
    context: Lists,
    wave: Vec<u32>,
    /// Tasks sorted by wave, then row; wave `w` is `by_wave[wave_starts[w - 1]..wave_starts[w]]`.
    by_wave: Vec<TaskIx>,
    wave_starts: Vec<u32>,
}

/// Positions in the sheet of the columns that a plan reads.
#[derive(Clone, Copy, Debug)]
struct Places {
    id: usize,
    description: usize,
    title: Option<usize>,
    role: Option<usize>,
    deps: Option<usize>,
    context_from: Option<usize>,
    exec_mode: Option<usize>,
    wave: Option<usize>,
    status: Option<usize>,
}

impl Plan {
    pub fn len(&self) -> usize {
        self.sheet.rows()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All tasks in row order.
    pub fn tasks(&self) -> impl Iterator<Item = TaskIx> + use<> {
        graph::all(self.len())
    }

    pub fn id(&self, task: TaskIx) -> &str {
        self.sheet.cell(task.index(), self.places.id)
    }

    pub fn find(&self, id: &str) -> Option<TaskIx> {
        self.by_id.get(id).copied()
    }

    pub fn deps(&self, task: TaskIx) -> &[TaskIx] {
        self.deps.of(task)
    }

    /// The tasks that depend on this one, in row order.
    pub fn dependents(&self, task: TaskIx) -> &[TaskIx] {
        self.dependents.get_or_init(|| self.deps.reversed()).of(task)
    }

    /// The tasks whose findings this task receives.
    pub fn context(&self, task: TaskIx) -> &[TaskIx] {
        self.context.of(task)
    }

    /// The wave a task runs in, from 1.
    pub fn wave(&self, task: TaskIx) -> u32 {
        self.wave[task.index()]
    }

    /// How many waves there are.
    pub fn waves(&self) -> u32 {
        u32::try_from(self.wave_starts.len() - 1).expect("there are no more waves than tasks")
    }

    /// The tasks of a wave in row order; none for a wave that does not exist.
    pub fn wave_tasks(&self, wave: u32) -> &[TaskIx] {
        if wave == 0 || wave > self.waves() {
            return &[];
        }
        let at = wave as usize;
        &self.by_wave[self.wave_starts[at - 1] as usize..self.wave_starts[at] as usize]
    }

    pub fn mode(&self, task: TaskIx) -> ExecMode {
        self.modes[task.index()]
    }

    /// A cell of the table that was read; empty when there is no such column.
    pub fn cell(&self, task: TaskIx, column: &str) -> &str {
        self.at(task, self.sheet.column(column))
    }

    /// The title, or the id of a task without one.
    pub fn title(&self, task: TaskIx) -> &str {
        match self.at(task, self.places.title) {
            "" => self.id(task),
            title => title,
        }
    }

    pub fn description(&self, task: TaskIx) -> &str {
        self.sheet.cell(task.index(), self.places.description)
    }

    pub fn role(&self, task: TaskIx) -> &str {
        self.at(task, self.places.role)
    }

    /// The line of the file on which the task's row starts.
    pub fn line(&self, task: TaskIx) -> u32 {
        self.sheet.line(task.index())
    }

    /// The table as it was read.
    pub fn sheet(&self) -> &Sheet {
        &self.sheet
    }

    /// The header of the session's table: the team's columns in the team's order, others kept in place.
    pub fn header(&self) -> &[String] {
        &self.header
    }

    fn at(&self, task: TaskIx, column: Option<usize>) -> &str {
        column.map_or("", |column| self.sheet.cell(task.index(), column))
    }
}
