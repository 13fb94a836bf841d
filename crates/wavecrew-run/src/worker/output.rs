//! The output of a worker: a bounded log on disk without secrets, the events of its stream if it has any, and in memory
//! only its end, which may contain a report.

use crate::recording::OutputLines;
use crate::sandbox::RefusalLines;
use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use tokio::sync::mpsc::UnboundedSender;
use wavecrew_agents::stream::{End, Expects, Outcome};
use wavecrew_agents::{Agent, InteractiveProtocol, OutputReader, Redactor};
use wavecrew_core::engine::{MAX_REPORT_BYTES, OutputMode, Reply, WorkerRequest, final_object};
use wavecrew_core::event::{Refusal, RefusedAccess, TokenUsage};
use wavecrew_core::sanitise::sanitise;
use wavecrew_process::sandbox::Confinement;
use wavecrew_session::BoundedLog;

/// Characters shown of a worker's last line.
const LAST_LINE: usize = 300;
/// Enough for the last line.
const SHORT_TAIL: usize = 4 << 10;

/// The output of one worker, written by the readers of its processes' streams.
pub struct Output {
    log: RefCell<Option<BoundedLog>>,
    stdout: RefCell<Tail>,
    stderr: RefCell<Tail>,
    reader: Option<RefCell<OutputReader>>,
    redactor: Rc<Redactor>,
    active: Cell<bool>,
    /// Writes to the interactive process, if there is one.
    input: RefCell<Option<UnboundedSender<String>>>,
    /// The lines of the current turn, when the run is recorded.
    lines: Option<RefCell<OutputLines>>,
    refusals: RefCell<RefusalLines>,
}

#[derive(Clone, Copy)]
pub(super) enum Stream {
    Stdout,
    Stderr,
}

/// The last bytes of a stream.
struct Tail {
    bytes: Vec<u8>,
    limit: usize,
    /// An incomplete word that is not in the log yet, because its rest may make it a secret.
    held: Vec<u8>,
}

impl Tail {
    fn new(limit: usize) -> RefCell<Self> {
        RefCell::new(Self {
            bytes: Vec::new(),
            limit,
            held: Vec::new(),
        })
    }

    fn push(&mut self, chunk: &[u8]) {
        self.bytes.extend_from_slice(chunk);
        // Twice the limit before anything is moved, so that moving stays cheap.
        if self.bytes.len() > 2 * self.limit {
            let from = self.bytes.len() - self.limit;
            self.bytes.drain(..from);
        }
    }

    fn end(&self, bytes: usize) -> &[u8] {
        &self.bytes[self.bytes.len().saturating_sub(bytes)..]
    }
}

impl Output {
    pub fn new(log: PathBuf, limit: u64, reader: Option<OutputReader>, redactor: Rc<Redactor>) -> Self {
        // The end of the output is searched for a report only if no reader parses it.
        let (log, tail) = if reader.is_some() {
            (BoundedLog::create(log, limit), SHORT_TAIL)
        } else {
            let log = BoundedLog::begin_in_memory(log, limit);
            (log, MAX_REPORT_BYTES + (64 << 10))
        };
        Self {
            log: RefCell::new(Some(log)),
            stdout: Tail::new(tail),
            stderr: Tail::new(SHORT_TAIL),
            reader: reader.map(RefCell::new),
            redactor,
            active: Cell::new(false),
            input: RefCell::new(None),
            lines: None,
            refusals: RefCell::default(),
        }
    }

    /// Also collects the lines, if the run is recorded.
    pub(super) fn recorded(self, lines: Option<OutputLines>) -> Self {
        Self {
            lines: lines.map(RefCell::new),
            ..self
        }
    }

    pub fn mode(&self) -> OutputMode {
        match self.reader {
            Some(_) => OutputMode::Streaming,
            None => OutputMode::Silent,
        }
    }

    pub(super) fn add(&self, stream: Stream, chunk: &[u8]) {
        let is_stderr = matches!(stream, Stream::Stderr);
        self.refusals.borrow_mut().add(is_stderr, chunk);
        let mut tail = self.tail(stream).borrow_mut();
        tail.push(chunk);
        self.log(&mut tail.held, chunk);
        if let Some(lines) = &self.lines {
            lines.borrow_mut().add(is_stderr, chunk);
        }
        // If there is a reader, only events count as activity: a hanging agent may still print warnings.
        let active = match stream {
            _ if self.reader.is_none() => true,
            Stream::Stdout => self.with_reader(|reader| reader.read(chunk)),
            Stream::Stderr => false,
        };
        if active {
            self.active.set(true);
        }
    }

    /// Uses the reader, and then sends its messages for the process. Programs without a reader give the
    /// default.
    fn with_reader<T: Default>(&self, use_it: impl FnOnce(&mut OutputReader) -> T) -> T {
        let Some(reader) = &self.reader else {
            return T::default();
        };
        let mut reader = reader.borrow_mut();
        let result = use_it(&mut reader);
        self.send(reader.take_outgoing());
        result
    }

    /// An interactive process is there; `input` writes to it.
    pub fn start_conversation(&self, protocol: Box<dyn InteractiveProtocol>, input: UnboundedSender<String>) {
        self.with_reader(|reader| {
            reader.start_interactive(protocol);
            *self.input.borrow_mut() = Some(input);
        });
    }

    /// The interactive process has exited, or gets no more messages.
    pub fn end_conversation(&self) {
        *self.input.borrow_mut() = None;
        self.with_reader(OutputReader::stop_interactive);
    }

    /// Whether there is an interactive process.
    pub fn is_interactive(&self) -> bool {
        self.with_reader(|reader| reader.is_interactive())
    }

    /// Whether the interactive process is in a turn.
    pub fn turn_open(&self) -> bool {
        self.with_reader(|reader| reader.turn_open())
    }

    /// Whether a turn of the interactive process has ended since the last call.
    pub fn take_turn_ended(&self) -> bool {
        self.with_reader(OutputReader::take_turn_ended)
    }

    /// Sends a message to the interactive process.
    pub fn send_message(&self, message: &str) {
        self.with_reader(|reader| reader.start_turn(message));
    }

    /// The worker has reported: changes from now on are edits after the report.
    pub fn note_report(&self) {
        self.with_reader(OutputReader::note_report);
    }

    /// Files that the agent says it changed after its report.
    pub fn edits_after_report(&self) -> Vec<String> {
        self.with_reader(|reader| reader.edits_after_report().to_vec())
    }

    /// The agent's requests since the last call, with their keys.
    pub fn take_requests(&self) -> Vec<(String, WorkerRequest)> {
        self.with_reader(OutputReader::take_requests)
    }

    /// Answers a request of the agent.
    pub fn reply(&self, key: &str, reply: &Reply) {
        self.with_reader(|reader| reader.reply(key, reply));
    }

    /// Asks the interactive process to end its turn.
    pub fn interrupt_turn(&self) {
        self.with_reader(OutputReader::interrupt_turn);
    }

    fn send(&self, text: String) {
        if let Some(input) = self.input.borrow().as_ref().filter(|_| !text.is_empty()) {
            // The exit of the process is reported separately.
            let _ = input.send(text);
        }
    }

    fn tail(&self, stream: Stream) -> &RefCell<Tail> {
        match stream {
            Stream::Stdout => &self.stdout,
            Stream::Stderr => &self.stderr,
        }
    }

    fn log(&self, held: &mut Vec<u8>, chunk: &[u8]) {
        let whole = self.redactor.complete_until(chunk);
        if held.is_empty() {
            self.write_log(&chunk[..whole]);
        } else {
            held.extend_from_slice(&chunk[..whole]);
            // A word that began in an earlier chunk is complete once this chunk ends it.
            if whole > 0 {
                self.write_log(held);
                held.clear();
            }
        }
        held.extend_from_slice(&chunk[whole..]);
        if self.redactor.complete_until(held) == held.len() {
            self.write_log(held);
            held.clear();
        }
    }

    fn write_log(&self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let mut log = self.log.borrow_mut();
        // A log that cannot be written does not fail the run; the journal fails when the disk is full.
        if log
            .as_mut()
            .is_some_and(|log| log.write(&self.redactor.bytes(bytes)).is_err())
        {
            *log = None;
        }
    }

    /// What the confinement refused, according to the output. Adds it to the log.
    pub(crate) fn refusals(&self, confinement: &Confinement, folder: &Path, home: &Path) -> Vec<Refusal> {
        let refusals = self.refusals.borrow_mut().refusals(confinement, folder, home);
        for Refusal { path, access } in &refusals {
            let (access, setting) = match access {
                RefusedAccess::Read => (access.as_str(), "`read` below [sandbox] in wavecrew.toml"),
                RefusedAccess::Write => (
                    access.as_str(),
                    "--allow-write, or `write` below [sandbox] in wavecrew.toml",
                ),
            };
            let line = format!("[wavecrew] the sandbox refused to {access} {path}; to allow it: {setting}\n");
            self.write_log(line.as_bytes());
        }
        refusals
    }

    /// A process has ended: its output is complete.
    pub fn end_turn(&self) {
        for stream in [Stream::Stdout, Stream::Stderr] {
            let held = std::mem::take(&mut self.tail(stream).borrow_mut().held);
            self.write_log(&held);
        }
        self.with_reader(OutputReader::end_turn);
    }

    /// A new turn starts: earlier output can no longer be a report.
    pub fn start_turn(&self) {
        self.stdout.borrow_mut().bytes.clear();
        self.stderr.borrow_mut().bytes.clear();
        self.with_reader(OutputReader::next_turn);
    }

    /// The lines printed since the last call; empty when the run is not recorded.
    pub(crate) fn take_lines(&self) -> OutputLines {
        self.lines.as_ref().map(RefCell::take).unwrap_or_default()
    }

    /// Files that the agent says it wrote.
    pub fn changed_files(&self) -> Vec<String> {
        self.with_reader(|reader| reader.changed().cloned().collect())
    }

    /// Activity since the last call. A running tool counts, because it may take long.
    pub(super) fn take_activity(&self) -> Activity {
        if self.active.replace(false) {
            return Activity::Output;
        }
        if self.with_reader(|reader| reader.summary().open_tools > 0) {
            Activity::ToolRunning
        } else {
            Activity::None
        }
    }

    /// The JSON object or final answer at the end of the output, which may be a report.
    pub fn answer(&self) -> Option<String> {
        let answer = if let Some(reader) = &self.reader {
            reader.borrow().answer()
        } else {
            let stdout = self.stdout.borrow();
            final_object(&String::from_utf8_lossy(&stdout.bytes)).map(str::to_owned)
        };
        answer.map(|text| self.redactor.text(&text))
    }

    /// The agent's final message; for programs, their output.
    pub fn final_message(&self) -> Option<String> {
        let text = if let Some(reader) = &self.reader {
            reader.borrow().summary().answer.as_ref()?.0.clone()
        } else {
            sanitise(&self.stdout.borrow().bytes)
        };
        Some(self.redactor.text(text.trim()))
    }

    /// The conversation, the model and the version, once the agent has named the conversation.
    pub fn conversation(&self) -> Option<(String, Option<String>, Option<String>)> {
        self.with_reader(|reader| {
            let summary = reader.summary();
            let conversation = summary.conversation.clone()?;
            Some((conversation, summary.model.clone(), summary.version.clone()))
        })
    }

    /// The model, once it is known.
    pub fn model(&self) -> Option<String> {
        self.with_reader(|reader| reader.summary().model.clone())
    }

    /// Why the turn ended, if the agent's stream says so.
    pub fn outcome(&self, end: End, expects: Expects) -> Option<Outcome> {
        let stderr = self.stderr.borrow();
        let stderr = String::from_utf8_lossy(stderr.end(SHORT_TAIL));
        self.with_reader(|reader| Some(reader.outcome(end, expects, &stderr)))
    }

    /// What the agent wrote about settings that it ignores.
    pub(crate) fn settings_warning(&self, agent: &dyn Agent) -> Option<String> {
        let stderr = self.stderr.borrow();
        let line = agent.settings_warning(&String::from_utf8_lossy(&stderr.bytes))?;
        Some(self.redactor.text(&sanitise(line.as_bytes())))
    }

    /// Token usage since the last call.
    pub fn take_usage(&self) -> TokenUsage {
        self.with_reader(OutputReader::take_usage)
    }

    /// Token usage of the running turn, if it has changed.
    pub fn current_usage(&self) -> Option<TokenUsage> {
        self.with_reader(OutputReader::current_usage)
    }

    /// The last line of stderr, or else of stdout, safe to show.
    pub fn error_line(&self) -> String {
        let stderr = self.last_line_of(self.stderr.borrow().end(SHORT_TAIL));
        if stderr.is_empty() {
            self.last_line()
        } else {
            stderr
        }
    }

    pub fn last_line(&self) -> String {
        let line = match &self.reader {
            Some(reader) => self.last_line_of(reader.borrow().latest().as_bytes()),
            None => self.last_line_of(self.stdout.borrow().end(SHORT_TAIL)),
        };
        if line.is_empty() && self.reader.is_none() {
            self.last_line_of(self.stderr.borrow().end(SHORT_TAIL))
        } else {
            line
        }
    }

    /// The last line of a text, without secrets and safe to show.
    pub fn last_line_of(&self, bytes: &[u8]) -> String {
        last_line(&self.redactor.bytes(bytes))
    }

    /// Writes the log to its file from now on, so that people can follow it.
    pub fn create_log_file(&self) {
        let mut log = self.log.borrow_mut();
        if log.as_mut().is_some_and(|log| log.surface().is_err()) {
            *log = None;
        }
    }

    /// Ends the log; returns its text if it has no file yet.
    pub fn finish(&self) -> Option<Vec<u8>> {
        self.end_turn();
        let mut log = self.log.borrow_mut().take()?;
        let text = log.take_in_memory();
        // A log that cannot be written does not fail the run.
        let _ = log.finish();
        text
    }
}

/// What a worker did since it was last checked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Activity {
    None,
    Output,
    /// No output, because a tool runs.
    ToolRunning,
}

/// Whether a line is a report or a part of one, which is for programs.
fn is_report(line: &str) -> bool {
    let names = |field: &str| line.contains(&format!("\"{field}\":"));
    let is_bracket = line.chars().all(|c| "{}[],".contains(c));
    // `"findings": "...",` of a report in several lines.
    let is_field = line.starts_with('"') && line.contains("\":");
    is_bracket || is_field || names("verdict") || names("status") && (names("id") || names("findings"))
}

pub(crate) fn last_line(bytes: &[u8]) -> String {
    let text = sanitise(bytes);
    let line = text
        .lines()
        .rev()
        .map(str::trim)
        // The error is more informative than the help below it.
        .find(|line| !line.is_empty() && !line.starts_with("help:") && !is_report(line))
        .unwrap_or_default();
    line.chars().take(LAST_LINE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_the_error() {
        for (text, expected) in [
            ("one\ntwo\n\n", "two"),
            ("  x refused: no `id`\n  help: correct it\n", "x refused: no `id`"),
            ("help: me", ""),
            ("working\n{\"id\":\"A\",\"status\":\"completed\"}\n", "working"),
            (
                "working\n{\n\"id\": \"A\", \"status\": \"completed\"\n}",
                "working",
            ),
            (
                "working\n{\n  \"id\": \"A\",\n  \"tags\": [\n    ],\n  \"findings\": \"b\"\n}\n",
                "working",
            ),
            ("", ""),
        ] {
            assert_eq!(last_line(text.as_bytes()), expected);
        }
    }

    #[test]
    fn a_secret_split_over_chunks_does_not_reach_the_log() {
        let folder = tempfile::tempdir().unwrap();
        let secret = "one-time-s3cret";
        let text = format!("before KEY={secret} after\n{secret}");
        for size in 1..text.len() {
            let path = folder.path().join(format!("{size}.log"));
            let redactor = Redactor::new([("MY_TOKEN".into(), secret.into())]);
            let output = Output::new(path.clone(), 1 << 20, None, Rc::new(redactor));
            for chunk in text.as_bytes().chunks(size) {
                output.add(Stream::Stderr, chunk);
            }
            assert_eq!(output.error_line(), "[redacted]");
            output.create_log_file();
            assert_eq!(output.finish(), None);
            let log = std::fs::read_to_string(path).unwrap();
            assert_eq!(log, "before KEY=[redacted] after\n[redacted]", "{size}");
        }
    }
}
