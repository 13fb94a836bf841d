//! Bytes → `Sheet`, straight into the table's one text. Refuses what is not a table, with the line.

use super::input::{Input, MAX_FILE, breaks};
use super::split::Separators;
use super::{Problem, Sheet, offset};
use csv_core::{ReadRecordResult, Reader};
use std::io::Read;

/// Who wrote a file, and so whether the guard before formula characters is ours to take off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// A person's own file: read as it is.
    User,
    /// A file of a session, written by us: the `'` that we put before formula characters comes off.
    Session,
}

const MAX_FIELD: usize = 8 << 20;

impl Sheet {
    /// Reads a whole table: RFC 4180 with an optional byte order mark and any line ends.
    pub fn read(reader: impl Read, origin: Origin) -> Result<Self, Vec<Problem>> {
        Self::read_sized(reader, origin, 0)
    }

    /// Reads a whole table of about so many bytes. The size is only a hint, which saves moving a large table about
    /// while it grows.
    pub fn read_sized(reader: impl Read, origin: Origin, bytes: u64) -> Result<Self, Vec<Problem>> {
        let mut records = Records::new(reader);
        let header = match records.next() {
            Ok(Some(header)) => header.names(origin),
            Ok(None) => {
                return Err(vec![Problem::new(0, "The file is empty").help(
                    "the first line names the columns; `id` and `description` are the least a task needs",
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
            if origin == Origin::User {
                records.take_plain(&mut sheet);
                sheet.make_room(bytes);
                if records.take_quoted(&mut sheet) {
                    continue;
                }
            }
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

impl Sheet {
    /// Once, as soon as there is something to go by.
    fn make_room(&mut self, bytes: u64) {
        let bytes = usize::try_from(bytes.min(MAX_FILE)).unwrap_or(0);
        if self.text.is_empty() || bytes <= self.text.capacity() {
            return;
        }
        let times = bytes / self.text.len() + 1;
        self.ends.reserve(self.ends.len() * times);
        self.lines.reserve(self.lines.len() * times);
        // The last line may lack its end, which is added.
        self.text.reserve(bytes + 1 - self.text.len());
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
        "a field that holds a comma, a quote or a line break must stand in double quotes"
    } else {
        "write empty fields too, or look for a quote that was not closed on an earlier line"
    };
    Problem::new(
        record.line,
        format!("Row has {found} {fields}, the header has {width}"),
    )
    .help(help)
}

/// The characters that make a spreadsheet run a cell, and our guard itself.
pub(super) fn is_formula_start(byte: u8) -> bool {
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

/// A line whose quotes all stand around whole fields.
struct QuotedLine {
    fields: usize,
    /// Behind its line feed.
    end: usize,
    breaks: u64,
}

impl QuotedLine {
    /// Puts the ends of the fields, quotes included, into `ends`. None for an empty line, for one that is not all
    /// there, and for every line that is not so simple.
    fn at_start(bytes: &[u8], ends: &mut [usize]) -> Option<Self> {
        let mut separators = Separators::new(bytes);
        let (mut start, mut fields, mut breaks) = (0, 0, 0);
        loop {
            let mut end = separators.next()?;
            if end == start && bytes[end] == b'"' {
                let inside = separators.by_ref().take_while(|at| bytes[*at] != b'"');
                breaks += inside.filter(|at| bytes[*at] == b'\n').count() as u64;
                end = separators.next()?;
                // Right behind the closing quote, or the quote was not the closing one.
                if bytes[end - 1] != b'"' {
                    return None;
                }
            }
            let last = match bytes[end] {
                b',' => false,
                b'\n' if end > 0 => true,
                _ => return None,
            };
            *ends.get_mut(fields)? = end;
            fields += 1;
            start = end + 1;
            if last {
                return Some(Self {
                    fields,
                    end: start,
                    breaks: breaks + 1,
                });
            }
        }
    }
}

/// Splits a byte stream into records. Every chunk is checked for NUL and UTF-8 before it is split: the bytes that
/// split are ASCII, so valid chunks make valid fields.
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

    /// Passes over blank lines and the second half of a CRLF, so that a record's line is where its text starts.
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

    /// Takes over all plain lines that come next in the chunk at hand: without quotes, and with as many fields as
    /// the header. The first other line stops it and is left to `next`, which knows all of the format.
    fn take_plain(&mut self, sheet: &mut Sheet) {
        let first = self.line();
        let width = sheet.header.len();
        let Some(bytes) = self.input.plain() else { return };
        let base = offset(sheet.text.len());
        let (mut taken, mut row) = (0, sheet.ends.len());
        for at in Separators::new(bytes) {
            match bytes[at] {
                b',' => sheet.ends.push(base + offset(at)),
                b'\n' if at > taken && sheet.ends.len() + 1 == row + width => {
                    sheet.ends.push(base + offset(at));
                    row += width;
                    taken = at + 1;
                }
                _ => break,
            }
        }
        sheet.ends.truncate(row);
        // Only what is taken is looked at again: a file with quotes in every line comes here once per line.
        let text = std::str::from_utf8(&bytes[..taken]).expect("chunks are checked before they are split");
        sheet.text.push_str(text);
        let rows = row / width - sheet.lines.len();
        sheet.lines.extend((first..).take(rows));
        self.input.consume(taken);
        self.skipped_lines += rows as u64;
    }

    /// Takes over the line that comes next in the chunk at hand, if some of its fields stand in quotes and none holds
    /// a quote itself. Any other line is left to `next`.
    fn take_quoted(&mut self, sheet: &mut Sheet) -> bool {
        let first = self.line();
        let Some(bytes) = self.input.plain() else {
            return false;
        };
        let Some(line) = QuotedLine::at_start(bytes, &mut self.ends) else {
            return false;
        };
        if line.fields != sheet.header.len() {
            return false;
        }
        let text = std::str::from_utf8(&bytes[..line.end]).expect("chunks are checked before they are split");
        let mut start = 0;
        for (n, end) in self.ends[..line.fields].iter().enumerate() {
            let cell = &text[start..*end];
            let cell = cell
                .strip_prefix('"')
                .and_then(|c| c.strip_suffix('"'))
                .unwrap_or(cell);
            sheet.push(cell, n + 1 == line.fields);
            start = end + 1;
        }
        sheet.lines.push(first);
        self.input.consume(line.end);
        self.skipped_lines += line.breaks;
        true
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
