//! What a worker prints: a bounded log on disk without secrets, its events if it tells any, and in memory only its
//! end, where a report may stand.

use crate::recording::Tape;
use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::rc::Rc;
use tokio::sync::mpsc::UnboundedSender;
use wavecrew_agents::stream::{End, Expects, Outcome};
use wavecrew_agents::{Dialogue, Listener, Redactor, settled};
use wavecrew_core::engine::{MAX_REPORT_BYTES, OutputMode, Reply, WorkerRequest, final_object};
use wavecrew_core::event::TokenUsage;
use wavecrew_core::sanitise::sanitise;
use wavecrew_session::BoundedLog;

/// Shown of a worker's last words.
const LAST_WORDS: usize = 300;
/// Enough for the last words.
const SHORT_TAIL: usize = 4 << 10;

/// The output of one worker, written by the pumps of its processes.
pub struct Output {
    log: RefCell<Option<BoundedLog>>,
    stdout: RefCell<Tail>,
    stderr: RefCell<Tail>,
    listener: Option<RefCell<Listener>>,
    redactor: Rc<Redactor>,
    active: Cell<bool>,
    /// Into the process that is spoken to, if one is.
    line: RefCell<Option<UnboundedSender<String>>>,
    /// Of the turn under way, when the run is recorded.
    tape: Option<RefCell<Tape>>,
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
    /// A word that is not in the log yet, for its rest may make it a secret.
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
    pub fn new(log: PathBuf, limit: u64, listener: Option<Listener>, redactor: Rc<Redactor>) -> Self {
        // A report that ends the output is looked for only where no listener knows better.
        let (log, tail) = if listener.is_some() {
            (BoundedLog::create(log, limit), SHORT_TAIL)
        } else {
            let log = BoundedLog::begin_in_memory(log, limit);
            (log, MAX_REPORT_BYTES + (64 << 10))
        };
        Self {
            log: RefCell::new(Some(log)),
            stdout: Tail::new(tail),
            stderr: Tail::new(SHORT_TAIL),
            listener: listener.map(RefCell::new),
            redactor,
            active: Cell::new(false),
            line: RefCell::new(None),
            tape: None,
        }
    }

    /// With a tape that all of it goes to, if the run is recorded.
    pub(super) fn taped(self, tape: Option<Tape>) -> Self {
        Self {
            tape: tape.map(RefCell::new),
            ..self
        }
    }

    pub fn output_mode(&self) -> OutputMode {
        match self.listener {
            Some(_) => OutputMode::Streaming,
            None => OutputMode::Silent,
        }
    }

    pub(super) fn take_in(&self, stream: Stream, chunk: &[u8]) {
        let mut tail = self.tail(stream).borrow_mut();
        tail.push(chunk);
        self.log(&mut tail.held, chunk);
        if let Some(tape) = &self.tape {
            tape.borrow_mut().take_in(matches!(stream, Stream::Stderr), chunk);
        }
        match (stream, &self.listener) {
            (_, None) => self.active.set(true),
            // Only events are signs of life: warnings of a hanging agent are none.
            (Stream::Stdout, Some(listener)) => {
                if listener.borrow_mut().hear(chunk) {
                    self.active.set(true);
                }
                self.speak(&mut listener.borrow_mut());
            }
            (Stream::Stderr, Some(_)) => {}
        }
    }

    /// A process that is spoken to is there; what goes into `line` reaches it.
    pub fn converse(&self, dialogue: Box<dyn Dialogue>, line: UnboundedSender<String>) {
        if let Some(listener) = &self.listener {
            listener.borrow_mut().converse(dialogue);
            *self.line.borrow_mut() = Some(line);
        }
    }

    /// The process that was spoken to is gone, or is to read no more.
    pub fn hang_up(&self) {
        *self.line.borrow_mut() = None;
        if let Some(listener) = &self.listener {
            listener.borrow_mut().hang_up();
        }
    }

    /// Whether there is a process that is spoken to.
    pub fn converses(&self) -> bool {
        self.listener
            .as_ref()
            .is_some_and(|listener| listener.borrow().converses())
    }

    /// Whether the process that is spoken to is at work.
    pub fn turn_open(&self) -> bool {
        self.listener
            .as_ref()
            .is_some_and(|listener| listener.borrow().turn_open())
    }

    /// Whether a turn of the process that is spoken to has just ended.
    pub fn take_turn_over(&self) -> bool {
        let over = |listener: &RefCell<Listener>| listener.borrow_mut().take_turn_over();
        self.listener.as_ref().is_some_and(over)
    }

    pub fn say(&self, message: &str) {
        if let Some(listener) = &self.listener {
            let mut listener = listener.borrow_mut();
            listener.say(message);
            self.speak(&mut listener);
        }
    }

    /// The worker's report is here: what changes from now on was not in it.
    pub fn note_report(&self) {
        if let Some(listener) = &self.listener {
            listener.borrow_mut().note_report();
        }
    }

    /// Files that the agent says it changed after its report.
    pub fn late_changes(&self) -> Vec<String> {
        let listener = self.listener.as_ref();
        listener.map_or_else(Vec::new, |listener| listener.borrow().late_changes().to_vec())
    }

    /// What the agent asked since this was asked last, under ids.
    pub fn take_questions(&self) -> Vec<(String, WorkerRequest)> {
        let listener = self.listener.as_ref();
        listener.map_or_else(Vec::new, |listener| listener.borrow_mut().take_questions())
    }

    /// Answers a question of the agent.
    pub fn reply(&self, question: &str, reply: &Reply) {
        if let Some(listener) = &self.listener {
            let mut listener = listener.borrow_mut();
            listener.reply(question, reply);
            self.speak(&mut listener);
        }
    }

    /// Asks the process that is spoken to for the end of its turn.
    pub fn cut_short(&self) {
        if let Some(listener) = &self.listener {
            let mut listener = listener.borrow_mut();
            listener.cut_short();
            self.speak(&mut listener);
        }
    }

    fn speak(&self, listener: &mut Listener) {
        let text = listener.take_outgoing();
        if let Some(line) = self.line.borrow().as_ref().filter(|_| !text.is_empty()) {
            // A process that is gone is heard of elsewhere.
            let _ = line.send(text);
        }
    }

    fn tail(&self, stream: Stream) -> &RefCell<Tail> {
        match stream {
            Stream::Stdout => &self.stdout,
            Stream::Stderr => &self.stderr,
        }
    }

    fn log(&self, held: &mut Vec<u8>, chunk: &[u8]) {
        let whole = settled(chunk);
        if held.is_empty() {
            self.write_log(&chunk[..whole]);
        } else {
            held.extend_from_slice(&chunk[..whole]);
            // A word that began in an earlier chunk goes on until there is something to end it.
            if whole > 0 {
                self.write_log(held);
                held.clear();
            }
        }
        held.extend_from_slice(&chunk[whole..]);
        if settled(held) == held.len() {
            self.write_log(held);
            held.clear();
        }
    }

    fn write_log(&self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let mut log = self.log.borrow_mut();
        // A log that cannot be written costs the log, not the run; the journal speaks up when the disk is full.
        if log
            .as_mut()
            .is_some_and(|log| log.write(&self.redactor.bytes(bytes)).is_err())
        {
            *log = None;
        }
    }

    /// A process has ended: there is nothing more to wait for in what it printed.
    pub fn end_turn(&self) {
        for stream in [Stream::Stdout, Stream::Stderr] {
            let held = std::mem::take(&mut self.tail(stream).borrow_mut().held);
            self.write_log(&held);
        }
        if let Some(listener) = &self.listener {
            listener.borrow_mut().end_turn();
        }
    }

    /// A new turn begins: what was printed before is no report any more.
    pub fn new_turn(&self) {
        self.stdout.borrow_mut().bytes.clear();
        self.stderr.borrow_mut().bytes.clear();
        if let Some(listener) = &self.listener {
            listener.borrow_mut().next_turn();
        }
    }

    /// What was printed since this was asked last; nothing when the run is not recorded.
    pub(super) fn take_tape(&self) -> Tape {
        self.tape.as_ref().map(RefCell::take).unwrap_or_default()
    }

    /// Files that the agent says it wrote.
    pub fn changed_files(&self) -> Vec<String> {
        let listener = self.listener.as_ref();
        listener.map_or_else(Vec::new, |listener| {
            listener.borrow().changed().cloned().collect()
        })
    }

    /// Whether there was a sign of life since the last look, or a tool is at work, which may take its time.
    pub(super) fn was_active(&self) -> Activity {
        if self.active.replace(false) {
            return Activity::Output;
        }
        let at_work = |listener: &RefCell<Listener>| listener.borrow().tally().open_tools > 0;
        if self.listener.as_ref().is_some_and(at_work) {
            Activity::ToolOpen
        } else {
            Activity::None
        }
    }

    /// What stands in the output in place of a report.
    pub fn answer(&self) -> Option<String> {
        let answer = if let Some(listener) = &self.listener {
            listener.borrow().answer()
        } else {
            let stdout = self.stdout.borrow();
            final_object(&String::from_utf8_lossy(&stdout.bytes)).map(str::to_owned)
        };
        answer.map(|text| self.redactor.text(&text))
    }

    /// All that the agent said at the end of its turn; for programs, what they printed.
    pub fn message(&self) -> Option<String> {
        let text = if let Some(listener) = &self.listener {
            let listener = listener.borrow();
            let (text, _) = listener.tally().answer.as_ref()?;
            text.trim().to_owned()
        } else {
            sanitise(&self.stdout.borrow().bytes).trim().to_owned()
        };
        Some(self.redactor.text(&text))
    }

    /// The conversation, the model and the version, once the agent has named the conversation.
    pub fn conversation(&self) -> Option<(String, Option<String>, Option<String>)> {
        let listener = self.listener.as_ref()?.borrow();
        let tally = listener.tally();
        let conversation = tally.conversation.clone()?;
        Some((conversation, tally.model.clone(), tally.version.clone()))
    }

    /// The model, once it is known.
    pub fn model(&self) -> Option<String> {
        self.listener.as_ref()?.borrow().tally().model.clone()
    }

    /// Why the turn ended, if its agent tells.
    pub fn outcome(&self, end: End, expects: Expects) -> Option<Outcome> {
        let listener = self.listener.as_ref()?.borrow();
        let stderr = self.stderr.borrow();
        let stderr = String::from_utf8_lossy(stderr.end(SHORT_TAIL));
        Some(listener.outcome(end, expects, &stderr))
    }

    /// What was used since this was asked last.
    pub fn take_spent(&self) -> TokenUsage {
        let listener = self.listener.as_ref();
        listener.map_or_else(TokenUsage::default, |listener| listener.borrow_mut().take_spent())
    }

    /// The same while the turn goes on, without taking it, if it has changed.
    pub fn using(&self) -> Option<TokenUsage> {
        self.listener.as_ref()?.borrow_mut().using()
    }

    /// The last line of complaint, or else of output, made safe to show.
    pub fn last_output(&self) -> String {
        let stderr = self.shown(self.stderr.borrow().end(SHORT_TAIL));
        if stderr.is_empty() {
            self.last_line()
        } else {
            stderr
        }
    }

    pub fn last_line(&self) -> String {
        match &self.listener {
            Some(listener) => self.shown(listener.borrow().latest().as_bytes()),
            None => self.shown(self.stdout.borrow().end(SHORT_TAIL)),
        }
    }

    /// The last line, without secrets and safe to show.
    pub fn shown(&self, bytes: &[u8]) -> String {
        last_line(&self.redactor.bytes(bytes))
    }

    /// From now on whoever looks at the log sees what there is.
    pub fn surface(&self) {
        let mut log = self.log.borrow_mut();
        if log.as_mut().is_some_and(|log| log.surface().is_err()) {
            *log = None;
        }
    }

    /// Returns the log if it has no file.
    pub fn finish(&self) -> Option<Vec<u8>> {
        self.end_turn();
        let mut log = self.log.borrow_mut().take()?;
        let young = log.take_in_memory();
        // As above: a log that cannot be finished is no reason to fail anything.
        let _ = log.finish();
        young
    }
}

/// A sign of life.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Activity {
    None,
    Output,
    /// Silent, because a tool works.
    ToolOpen,
}

fn last_line(bytes: &[u8]) -> String {
    let text = sanitise(bytes);
    let line = text
        .lines()
        .rev()
        .map(str::trim)
        // What to do about a complaint says less than the complaint.
        .find(|line| !line.is_empty() && !line.starts_with("help:"))
        .unwrap_or_default();
    line.chars().take(LAST_WORDS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_what_went_wrong() {
        for (text, expected) in [
            ("one\ntwo\n\n", "two"),
            ("  x refused: no `id`\n  help: correct it\n", "x refused: no `id`"),
            ("help: me", ""),
            ("", ""),
        ] {
            assert_eq!(last_line(text.as_bytes()), expected);
        }
    }

    #[test]
    fn a_secret_in_pieces_does_not_reach_the_log() {
        let folder = tempfile::tempdir().unwrap();
        let secret = "one-time-s3cret";
        let text = format!("before KEY={secret} after\n{secret}");
        for size in 1..text.len() {
            let path = folder.path().join(format!("{size}.log"));
            let redactor = Redactor::new([("MY_TOKEN".into(), secret.into())]);
            let output = Output::new(path.clone(), 1 << 20, None, Rc::new(redactor));
            for chunk in text.as_bytes().chunks(size) {
                output.take_in(Stream::Stderr, chunk);
            }
            assert_eq!(output.last_output(), "[redacted]");
            output.surface();
            assert_eq!(output.finish(), None);
            let log = std::fs::read_to_string(path).unwrap();
            assert_eq!(log, "before KEY=[redacted] after\n[redacted]", "{size}");
        }
    }
}
