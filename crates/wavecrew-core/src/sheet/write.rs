//! `Sheet` → bytes. Quotes every field, and guards formulas.

use super::read::is_formula_start;
use super::{Origin, Sheet};
use std::io::{self, Write};

/// Writes a table row by row.
#[derive(Debug)]
pub struct TableWriter<W> {
    out: W,
    line: Vec<u8>,
    origin: Origin,
}

impl<W: Write> TableWriter<W> {
    /// `Origin::Session` guards formula characters, so that `Sheet::read` with the same origin gives the same table.
    pub fn new(out: W, origin: Origin) -> Self {
        Self {
            out,
            line: Vec::new(),
            origin,
        }
    }

    /// Column names are quoted only where necessary.
    pub fn header<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) -> io::Result<()> {
        for name in names {
            self.separate();
            let bare = !name.is_empty()
                && !name.contains([',', '"', '\r', '\n', '\0', '\u{feff}'])
                && !name.as_bytes().first().is_some_and(|b| is_formula_start(*b));
            if bare {
                self.line.extend_from_slice(name.as_bytes());
            } else {
                self.quoted(name);
            }
        }
        self.end_line()
    }

    pub fn row<S: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = S>) -> io::Result<()> {
        for cell in cells {
            self.separate();
            self.quoted(cell.as_ref());
        }
        self.end_line()
    }

    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn separate(&mut self) {
        if !self.line.is_empty() {
            self.line.push(b',');
        }
    }

    fn quoted(&mut self, cell: &str) {
        self.line.push(b'"');
        let bytes = cell.as_bytes();
        if self.origin == Origin::Session && bytes.first().is_some_and(|b| is_formula_start(*b)) {
            self.line.push(b'\'');
        }
        if bytes.iter().any(|b| matches!(b, b'"' | 0)) {
            for &byte in bytes {
                match byte {
                    b'"' => self.line.extend_from_slice(b"\"\""),
                    // A table cannot hold NUL; a worker's text may.
                    0 => self.line.extend_from_slice("\u{fffd}".as_bytes()),
                    _ => self.line.push(byte),
                }
            }
        } else {
            self.line.extend_from_slice(bytes);
        }
        self.line.push(b'"');
    }

    fn end_line(&mut self) -> io::Result<()> {
        self.line.push(b'\n');
        self.out.write_all(&self.line)?;
        self.line.clear();
        Ok(())
    }
}

impl Sheet {
    pub fn write(&self, out: impl Write, origin: Origin) -> io::Result<()> {
        let mut table = TableWriter::new(out, origin);
        table.header(self.header().iter().map(String::as_str))?;
        for row in 0..self.rows() {
            table.row(self.row(row))?;
        }
        table.finish().map(drop)
    }
}
