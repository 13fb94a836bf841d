//! Prints a log as it grows, line by line, so that every escape sequence is complete when it is removed.

use crate::exit::Failure;
use crate::json;
use serde_json::json;
use std::io::{self, Write};
use std::path::PathBuf;
use wavecrew_agents::transcript::{Row, Tone, Transcript};
use wavecrew_core::sanitise::sanitise;
use wavecrew_session::LogReader;

/// A line of plain text of this length is printed in parts instead of being held back.
const LONG_LINE: usize = 64 << 10;
/// A JSON line of this length is skipped.
const LONGEST_EVENT: usize = 16 << 20;

/// How a log is shown.
pub enum Manner {
    /// Byte for byte.
    Raw,
    /// As text.
    Plain,
    /// As the conversation that it contains.
    Conversation(Box<Transcript>),
    /// A JSON object per line or part of the conversation.
    Json(Box<JsonLog>),
}

/// A log for programs.
pub struct JsonLog {
    pub task: String,
    pub attempt: u32,
    /// None for plain text.
    pub transcript: Option<Transcript>,
}

impl JsonLog {
    fn lines(&mut self, text: &str) -> io::Result<()> {
        let Some(transcript) = &mut self.transcript else {
            for line in text.lines() {
                self.print("text", line)?;
            }
            return Ok(());
        };
        let rows: Vec<Row> = text.lines().flat_map(|line| transcript.line(line)).collect();
        self.rows(&rows)
    }

    fn rows(&self, rows: &[Row]) -> io::Result<()> {
        for Row { tone, text } in rows {
            let kind = match tone {
                Tone::Heading => "heading",
                Tone::Message => "message",
                Tone::Tool => "tool",
                Tone::Output => "output",
                Tone::Good => "success",
                Tone::Bad => "failure",
                Tone::Aside => "note",
            };
            self.print(kind, text)?;
        }
        Ok(())
    }

    fn print(&self, kind: &str, text: &str) -> io::Result<()> {
        json::print(json!({ "task": self.task, "attempt": self.attempt, "kind": kind, "text": text }))
    }
}

pub struct Printer {
    log: LogReader,
    page: Page,
}

struct Page {
    manner: Manner,
    /// A line that has no end yet.
    rest: Vec<u8>,
}

impl Printer {
    pub fn new(log: PathBuf, manner: Manner) -> Self {
        Self {
            log: LogReader::new(log),
            page: Page {
                manner,
                rest: Vec::new(),
            },
        }
    }

    /// Prints what was added since the last time.
    pub fn catch_up(&mut self) -> Result<(), Failure> {
        let page = &mut self.page;
        Ok(self.log.catch_up(&mut |chunk| page.take_in(chunk))?)
    }

    pub fn finish(mut self) -> io::Result<()> {
        let rest = std::mem::take(&mut self.page.rest);
        if !rest.is_empty() {
            self.page.print(&rest)?;
            if matches!(self.page.manner, Manner::Plain) {
                writeln!(io::stdout())?;
            }
        }
        match &mut self.page.manner {
            Manner::Conversation(transcript) => show(&transcript.finish())?,
            Manner::Json(log) => {
                let rows = log
                    .transcript
                    .as_mut()
                    .map(Transcript::finish)
                    .unwrap_or_default();
                log.rows(&rows)?;
            }
            Manner::Raw | Manner::Plain => {}
        }
        io::stdout().flush()
    }
}

impl Page {
    fn take_in(&mut self, chunk: &[u8]) -> io::Result<()> {
        self.rest.extend_from_slice(chunk);
        let limit = match self.manner {
            Manner::Raw => 0,
            Manner::Plain => LONG_LINE,
            Manner::Conversation(_) | Manner::Json(_) => LONGEST_EVENT,
        };
        let whole = match self.rest.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => at + 1,
            None if self.rest.len() >= limit => self.rest.len(),
            None => return Ok(()),
        };
        let rest = self.rest.split_off(whole);
        let lines = std::mem::replace(&mut self.rest, rest);
        self.print(&lines)
    }

    fn print(&mut self, lines: &[u8]) -> io::Result<()> {
        match &mut self.manner {
            Manner::Raw => io::stdout().write_all(lines),
            Manner::Plain => io::stdout().write_all(sanitise(lines).as_bytes()),
            Manner::Json(log) => log.lines(&sanitise(lines)),
            Manner::Conversation(transcript) => {
                for line in String::from_utf8_lossy(lines).lines() {
                    show(&transcript.line(line))?;
                }
                Ok(())
            }
        }
    }
}

/// A line above what is printed next.
pub fn heading(text: &str) -> io::Result<()> {
    show(&[Row {
        tone: Tone::Heading,
        text: sanitise(text.as_bytes()),
    }])
}

/// Rows in colour, where there is a terminal that wants them.
fn show(rows: &[Row]) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    for Row { tone, text } in rows {
        let colour = match tone {
            Tone::Heading => "\x1b[1m",
            Tone::Message => "",
            Tone::Tool => "\x1b[36m",
            Tone::Output | Tone::Aside => "\x1b[2m",
            Tone::Good => "\x1b[32m",
            Tone::Bad => "\x1b[31m",
        };
        if colour.is_empty() {
            writeln!(out, "{text}")?;
        } else {
            writeln!(out, "{colour}{text}\x1b[0m")?;
        }
    }
    out.flush()
}
