//! The conversation of an attempt, as `wavecrew logs` shows it, while it grows.

use maud::{Markup, html};
use std::collections::VecDeque;
use std::io;
use wavecrew_agents::transcript::{Folding, Row, Tone, Transcript};
use wavecrew_core::budget::grouped;
use wavecrew_core::event::Event;
use wavecrew_core::sanitise::sanitise;
use wavecrew_run::log_maker::LogMaker;
use wavecrew_session::{LogReader, SessionDir};

/// How many rows are kept, counted from the end.
const KEPT: usize = 400;
/// An unfinished line is skipped beyond this length.
const LONGEST: usize = 1 << 20;
/// How many bytes of a log are read, counted from the end.
const READ: u64 = 4 << 20;

pub struct Conversation {
    log: LogReader,
    lines: Lines,
}

struct Lines {
    transcript: Option<Transcript>,
    rows: VecDeque<Row>,
    left_out: usize,
    /// How many bytes were skipped, and whether the reading began within a line.
    skipped: u64,
    in_skipped_line: bool,
    rest: Vec<u8>,
}

impl Conversation {
    pub fn of(dir: &SessionDir, events: &[Event], task: &str, attempt: u32) -> Self {
        let maker = LogMaker::find(events, task, attempt);
        let cli = maker.cli(task);
        let (log, skipped) = LogReader::of_end(dir.log_file(task, attempt), READ);
        Self {
            log,
            lines: Lines {
                transcript: cli.map(|cli| Transcript::new(cli, Folding::Folded, maker.reasons)),
                rows: VecDeque::new(),
                left_out: 0,
                skipped,
                in_skipped_line: skipped > 0,
                rest: Vec::new(),
            },
        }
    }

    /// Reads new output.
    pub fn catch_up(&mut self) {
        let lines = &mut self.lines;
        // If the log cannot be read, the rows that were read so far stay.
        let _: io::Result<()> = self.log.catch_up(&mut |chunk| {
            lines.add(chunk);
            Ok(())
        });
    }

    /// Nothing more will be added.
    pub fn finish(&mut self) {
        let rest = std::mem::take(&mut self.lines.rest);
        self.lines.read(&rest);
        let last = self.lines.transcript.as_mut().map(Transcript::finish);
        for row in last.into_iter().flatten() {
            self.lines.push(row);
        }
    }

    pub fn render(&self, id: &str) -> Markup {
        let Lines {
            rows,
            left_out,
            skipped,
            ..
        } = &self.lines;
        html! {
            @if *skipped > 0 { p.soft { "The log is long: its first " (grouped(*skipped)) " bytes are left out; " code { "wavecrew logs" } " shows them." } }
            @if *left_out > 0 { p.soft { (left_out) " earlier rows are left out; " code { "wavecrew logs" } " shows them." } }
            @if rows.is_empty() { p.soft { "Nothing was printed." } }
            @else {
                div.talk id=(id) data-scroll="end" tabindex="0" role="log" aria-label="Conversation" {
                    @for row in rows { p class=[class(row.tone)] { (row.text) } }
                }
            }
        }
    }
}

impl Lines {
    fn add(&mut self, chunk: &[u8]) {
        self.rest.extend_from_slice(chunk);
        let whole = match self.rest.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => at + 1,
            None if self.rest.len() > LONGEST => self.rest.len(),
            None => return,
        };
        let rest = self.rest.split_off(whole);
        let mut lines = std::mem::replace(&mut self.rest, rest);
        if std::mem::take(&mut self.in_skipped_line) {
            let end = lines.iter().position(|byte| *byte == b'\n');
            lines.drain(..end.map_or(lines.len(), |end| end + 1));
        }
        self.read(&lines);
    }

    fn read(&mut self, lines: &[u8]) {
        if self.transcript.is_none() {
            for line in sanitise(lines).lines() {
                let text = line.to_owned();
                self.push(Row {
                    tone: Tone::Message,
                    text,
                });
            }
            return;
        }
        for line in String::from_utf8_lossy(lines).lines() {
            let rows = self.transcript.as_mut().map(|transcript| transcript.line(line));
            for row in rows.into_iter().flatten() {
                self.push(row);
            }
        }
    }

    fn push(&mut self, row: Row) {
        if self.rows.len() == KEPT {
            self.rows.pop_front();
            self.left_out += 1;
        }
        self.rows.push_back(row);
    }
}

fn class(tone: Tone) -> Option<&'static str> {
    match tone {
        Tone::Heading => Some("heading"),
        Tone::Message => None,
        Tone::Tool => Some("tool"),
        Tone::Output => Some("output"),
        Tone::Good => Some("good"),
        Tone::Bad => Some("bad"),
        Tone::Aside => Some("aside"),
    }
}
