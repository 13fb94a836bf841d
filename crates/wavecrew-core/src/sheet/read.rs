//! Bytes → `Sheet`. Refuses what is not a table, with the line.

use super::input::{Input, breaks};
use super::{Problem, Sheet};
use csv_core::{ReadRecordResult, Reader};
use std::io::Read;

/// Who wrote a file; decides whether the guard before formula characters is removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// A person's file: read as it is.
    User,
    /// A file of a session: the `'` that guards formula characters is removed.
    Session,
}

const MAX_FIELD: usize = 8 << 20;

impl Sheet {
    /// Reads a whole table: RFC 4180 with an optional byte order mark and any line ends.
    pub fn read(reader: impl Read, origin: Origin) -> Result<Self, Vec<Problem>> {
        let mut records = Records::new(reader);
        let header = match records.next() {
            Ok(Some(header)) => header.names(origin),
            Ok(None) => {
                return Err(vec![Problem::new(0, "The file is empty").help(
                    "the first line names the columns; `id` and `description` are required",
                )]);
            }
            Err(problem) => return Err(vec![problem]),
        };
        let mut problems = duplicates(&header);
        let width = header.len();
        let mut sheet = Self {
            header,
            text: String::new(),
            ends: Vec::new(),
            lines: Vec::new(),
        };
        loop {
            let record = match records.next() {
                Ok(Some(record)) => record,
                Ok(None) => break,
                Err(problem) => {
                    problems.push(problem);
                    return Err(problems);
                }
            };
            if record.ends.len() == width {
                record.append(origin, &mut sheet);
            } else {
                problems.push(ragged(&record, width));
            }
        }
        if sheet.lines.is_empty() && problems.is_empty() {
            problems.push(
                Problem::new(1, "The file has a header and no tasks")
                    .help("add one row per task below the header"),
            );
        }
        if problems.is_empty() {
            Ok(sheet)
        } else {
            Err(problems)
        }
    }
}

fn duplicates(header: &[String]) -> Vec<Problem> {
    let repeated = |(i, name): (usize, &String)| {
        let first = header[..i].iter().position(|h| h == name)?;
        Some(
            Problem::new(1, format!("Duplicate column: {name}"))
                .marking(name)
                .help(format!(
                    "columns {} and {} have the same name; rename or remove one",
                    first + 1,
                    i + 1
                )),
        )
    };
    header.iter().enumerate().filter_map(repeated).collect()
}

fn ragged(record: &Record<'_>, width: usize) -> Problem {
    let found = record.ends.len();
    let fields = if found == 1 { "field" } else { "fields" };
    let help = if found > width {
        "a field that holds a comma, a quote or a line break needs double quotes around it"
    } else {
        "write empty fields too, or look for a quote that was not closed on an earlier line"
    };
    Problem::new(
        record.line,
        format!("Row has {found} {fields}, the header has {width}"),
    )
    .help(help)
}

/// Characters that make a spreadsheet evaluate a cell, and the guard itself.
pub fn is_formula_start(byte: u8) -> bool {
    matches!(byte, b'=' | b'+' | b'-' | b'@' | b'\t' | b'\r' | b'\'')
}

fn unguarded(field: &str, origin: Origin) -> &str {
    match (origin, field.strip_prefix('\'')) {
        (Origin::Session, Some(rest)) if rest.bytes().next().is_some_and(is_formula_start) => rest,
        _ => field,
    }
}

/// One record in the reader's own buffer, valid until the next one is read.
struct Record<'a> {
    line: u32,
    text: &'a [u8],
    ends: &'a [usize],
}

impl Record<'_> {
    fn fields(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let field = &self.text[start..end];
            start = end;
            field
        })
    }

    fn names(&self, origin: Origin) -> Vec<String> {
        self.fields()
            .map(|f| unguarded(&String::from_utf8_lossy(f), origin).to_owned())
            .collect()
    }

    fn append(&self, origin: Origin, sheet: &mut Sheet) {
        let text = std::str::from_utf8(self.text).expect("chunks are checked before they are split");
        let mut start = 0;
        for (n, &end) in self.ends.iter().enumerate() {
            let field = unguarded(&text[start..end], origin);
            sheet.push(field, n + 1 == self.ends.len());
            start = end;
        }
        sheet.lines.push(self.line);
    }
}

/// Splits a byte stream into records. Every chunk is checked for NUL and UTF-8 before: separators are ASCII, so valid
/// chunks give valid fields.
struct Records<R> {
    input: Input<R>,
    core: Reader,
    skipped_lines: u64,
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl<R: Read> Records<R> {
    fn new(reader: R) -> Self {
        Self {
            input: Input::new(reader),
            core: Reader::new(),
            skipped_lines: 0,
            text: vec![0; 64 << 10],
            ends: vec![0; 64],
        }
    }

    /// The line of the next byte, from 1.
    fn line(&self) -> u32 {
        u32::try_from(self.core.line() + self.skipped_lines).unwrap_or(u32::MAX)
    }

    fn refill(&mut self) -> Result<(), Problem> {
        let line = self.line();
        self.input.refill().map_err(|stop| stop.problem(line))
    }

    /// Skips blank lines and the second half of a CRLF, so that a record's line is where its text starts.
    fn skip_breaks(&mut self) -> Result<(), Problem> {
        loop {
            let breaks = self
                .input
                .rest()
                .iter()
                .take_while(|b| matches!(b, b'\r' | b'\n'));
            let (count, lines) = breaks.fold((0, 0), |(n, lines), b| (n + 1, lines + u64::from(*b == b'\n')));
            self.input.consume(count);
            self.skipped_lines += lines;
            if !self.input.rest().is_empty() || self.input.ended() {
                return Ok(());
            }
            self.refill()?;
        }
    }

    fn next(&mut self) -> Result<Option<Record<'_>>, Problem> {
        self.skip_breaks()?;
        if self.input.rest().is_empty() {
            return Ok(None);
        }
        let line = self.line();
        let (mut written, mut ended) = (0, 0);
        loop {
            // At the end of the input a line break closes the last record, unless a quote is still open.
            let at_end = self.input.rest().is_empty();
            let input: &[u8] = if at_end { b"\n" } else { self.input.rest() };
            let (result, read, wrote, ends) =
                self.core
                    .read_record(input, &mut self.text[written..], &mut self.ends[ended..]);
            if !at_end {
                self.input.consume(read);
            }
            written += wrote;
            ended += ends;
            match result {
                ReadRecordResult::InputEmpty if at_end => return Err(self.open_quote(line, ended)),
                ReadRecordResult::InputEmpty => {
                    if !self.input.ended() {
                        self.refill()?;
                    }
                }
                ReadRecordResult::OutputFull => {
                    let start = if ended == 0 { 0 } else { self.ends[ended - 1] };
                    if written - start > MAX_FIELD {
                        return Err(too_long(line, ended));
                    }
                    self.text.resize(self.text.len() * 2, 0);
                }
                ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
                ReadRecordResult::Record => break,
                ReadRecordResult::End => return Ok(None),
            }
        }
        let record = Record {
            line,
            text: &self.text[..written],
            ends: &self.ends[..ended],
        };
        if written > MAX_FIELD
            && let Some(n) = record.fields().position(|f| f.len() > MAX_FIELD)
        {
            return Err(too_long(line, n));
        }
        Ok(Some(record))
    }

    fn open_quote(&self, line: u32, complete: usize) -> Problem {
        let before = if complete == 0 { 0 } else { self.ends[complete - 1] };
        let line = line.saturating_add(breaks(self.text[..before].iter()));
        Problem::new(
            line,
            format!("Field {} opens a quote that is never closed", complete + 1),
        )
        .help("close it with a second double quote; a quote inside a quoted field is written twice")
    }
}

fn too_long(line: u32, complete: usize) -> Problem {
    Problem::new(
        line,
        format!("Field {} is longer than {} MiB", complete + 1, MAX_FIELD >> 20),
    )
    .help("put long texts in a file and name the file in the cell; or look for a quote that was not closed")
}
