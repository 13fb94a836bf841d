//! A table of text, read once and never changed: the shape of `tasks.csv`.
//!
//! Owns reading, writing and comparing tables. Refuses what is not a table: ragged rows, NUL bytes, text that is
//! not UTF-8. Knows nothing about tasks, and never opens a file: callers pass a reader or a writer.

mod input;
mod patch;
mod problem;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use patch::{AddedRow, ChangedCell, Patch};
pub use problem::{Problem, Warning, closest, did_you_mean};
pub use read::{Origin, is_formula_start};
pub use write::TableWriter;

/// An immutable table. All cells are in one text, each followed by one separator byte; only the ends of the cells are
/// stored.
#[derive(Clone, Debug)]
pub struct Sheet {
    header: Vec<String>,
    text: String,
    ends: Vec<u32>,
    lines: Vec<u32>,
}

impl Sheet {
    pub fn header(&self) -> &[String] {
        &self.header
    }

    pub fn rows(&self) -> usize {
        self.lines.len()
    }

    pub fn columns(&self) -> usize {
        self.header.len()
    }

    /// Position of the column with this name.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.header.iter().position(|h| h == name)
    }

    #[inline]
    pub fn cell(&self, row: usize, column: usize) -> &str {
        debug_assert!(column < self.columns());
        let at = row * self.header.len() + column;
        let start = if at == 0 {
            0
        } else {
            self.ends[at - 1] as usize + 1
        };
        &self.text[start..self.ends[at] as usize]
    }

    pub fn row(&self, row: usize) -> impl Iterator<Item = &str> {
        (0..self.columns()).map(move |column| self.cell(row, column))
    }

    /// Appends a cell. The bytes between cells are those of a plain file, whichever way a cell came in, so that
    /// equal tables have equal texts.
    fn push(&mut self, cell: &str, last: bool) {
        self.text.push_str(cell);
        self.ends.push(offset(self.text.len()));
        self.text.push(if last { '\n' } else { ',' });
    }

    /// The source line on which the row starts, from 1.
    pub fn line(&self, row: usize) -> u32 {
        self.lines[row]
    }

    /// The source line on which a cell starts: cells before it may hold line breaks.
    pub fn cell_line(&self, row: usize, column: usize) -> u32 {
        let breaks: usize = (0..column).map(|c| self.cell(row, c).matches('\n').count()).sum();
        self.line(row)
            .saturating_add(u32::try_from(breaks).unwrap_or(u32::MAX))
    }
}

fn offset(at: usize) -> u32 {
    u32::try_from(at).expect("cells are no longer than the file, which is at most 4 GiB")
}

/// Two tables are the same when their header and cells are; where they stood in a file does not matter.
impl PartialEq for Sheet {
    fn eq(&self, other: &Self) -> bool {
        self.header == other.header && self.ends == other.ends && self.text == other.text
    }
}

impl Eq for Sheet {}

/// Builds a table row by row. Refuses nothing: callers bring rows of the header's width.
#[derive(Debug)]
pub struct SheetBuilder {
    sheet: Sheet,
}

impl SheetBuilder {
    pub fn new(header: Vec<String>) -> Self {
        Self {
            sheet: Sheet {
                header,
                text: String::new(),
                ends: Vec::new(),
                lines: Vec::new(),
            },
        }
    }

    /// Appends a row with the line number `line`.
    pub fn row<'a>(&mut self, line: u32, cells: impl IntoIterator<Item = &'a str>) {
        let width = self.sheet.header.len();
        let mut count = 0;
        for cell in cells {
            count += 1;
            self.sheet.push(cell, count == width);
        }
        assert_eq!(count, width, "a row has one cell per column");
        self.sheet.lines.push(line);
    }

    pub fn finish(self) -> Sheet {
        self.sheet
    }
}
