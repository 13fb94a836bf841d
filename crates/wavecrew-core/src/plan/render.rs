//! Writes the session's table: the rows that were read, with the cells that the engine fills.

use super::{Places, Plan};
use crate::id::TaskIx;
use crate::sheet::{Origin, SheetBuilder, TableWriter};
use std::borrow::Cow;
use std::io;

impl Plan {
    /// The plan as a session keeps it: with the header of the session's table and defaults filled in. Reading a rendered
    /// plan gives the same.
    #[must_use]
    pub fn for_session(&self) -> Plan {
        let mut sheet = SheetBuilder::new(self.header.clone());
        for task in self.tasks() {
            let cells: Vec<_> = (self.header.iter())
                .map(|column| self.session_cell(task, column))
                .collect();
            sheet.row(task.0 + 2, cells.iter().map(AsRef::as_ref));
        }
        let sheet = sheet.finish();
        Plan {
            places: Places::of(&sheet).expect("every team has the columns a plan needs"),
            sheet,
            ..self.clone()
        }
    }

    /// Writes the whole session table. `cell` gives the engine's text for a column, or `None` to keep what was read.
    pub fn render<'a>(
        &'a self,
        out: &mut impl io::Write,
        cell: impl Fn(TaskIx, &str) -> Option<Cow<'a, str>>,
    ) -> io::Result<()> {
        let mut table = TableWriter::new(out, Origin::Session);
        table.header(self.header.iter().map(String::as_str))?;
        for task in self.tasks() {
            table.row(self.header.iter().map(|column| self.shown(task, column, &cell)))?;
        }
        table.finish().map(drop)
    }

    /// Writes some rows of the session table with one more column at the end, such as `prev_context`.
    pub fn render_rows<'a>(
        &'a self,
        out: &mut impl io::Write,
        tasks: &[TaskIx],
        extra: &str,
        cell: impl Fn(TaskIx, &str) -> Option<Cow<'a, str>>,
    ) -> io::Result<()> {
        let columns = || self.header.iter().map(String::as_str).chain([extra]);
        let mut table = TableWriter::new(out, Origin::Session);
        table.header(columns())?;
        for &task in tasks {
            table.row(columns().map(|column| self.shown(task, column, &cell)))?;
        }
        table.finish().map(drop)
    }

    /// The text of a cell that the engine does not fill.
    pub fn session_cell(&self, task: TaskIx, column: &str) -> Cow<'_, str> {
        match column {
            "wave" => Cow::Owned(self.wave(task).to_string()),
            "title" => Cow::Borrowed(self.title(task)),
            "exec_mode" => Cow::Borrowed(self.mode(task).as_str()),
            "status" => Cow::Borrowed(match self.at(task, self.places.status) {
                "" => "pending",
                status => status,
            }),
            _ => Cow::Borrowed(self.cell(task, column)),
        }
    }

    fn shown<'a>(
        &'a self,
        task: TaskIx,
        column: &str,
        cell: &impl Fn(TaskIx, &str) -> Option<Cow<'a, str>>,
    ) -> Cow<'a, str> {
        cell(task, column).unwrap_or_else(|| self.session_cell(task, column))
    }
}
