//! Listens to a worker: cuts what it prints into lines, has them read, and remembers what they amount to. Lines of
//! any length pass through memory that is bounded.

use std::collections::BTreeSet;

use memchr::{memchr, memrchr};
use wavecrew_core::engine::{Reply, WorkerRequest, final_object};
use wavecrew_core::event::TokenUsage;

use super::cli::AgentCli;
use super::interactive::{InteractiveProtocol, Received};
use super::stream::{
    AgentEvent, End, Expects, Outcome, StreamParser, TurnSummary, Usage, UsageMeter, outcome,
};

/// Longer lines are dropped and counted. They hold whole files that a tool read; what matters is never so long.
const MAX_LINE: usize = 8 << 20;
/// Files that are remembered as changed.
const MAX_CHANGED: usize = 10_000;

#[derive(Debug)]
pub struct OutputReader {
    source: Source,
    /// Whether a turn of a conversation is under way.
    turn: Turn,
    /// What is to be written to the process.
    outgoing: String,
    partial: Partial,
    summary: TurnSummary,
    meter: UsageMeter,
    latest: String,
    /// What the agent waits to be told, each under the question's id.
    questions: Vec<(String, WorkerRequest)>,
    /// Files that changed after the report, once there is one.
    late: Option<Vec<String>>,
    changed: BTreeSet<String>,
    /// Lines that were too long to be read.
    pub dropped: u64,
}

/// Who understands the lines.
#[derive(Debug)]
enum Source {
    /// Each turn is a process of its own, which prints.
    OneShot(&'static dyn AgentCli, StreamParser),
    /// One process is spoken to, turn after turn.
    Interactive(Option<&'static dyn AgentCli>, Box<dyn InteractiveProtocol>),
    /// A process that would be spoken to is not there.
    Silent(Option<&'static dyn AgentCli>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Closed,
    Open,
    /// Over, which nobody was told yet.
    JustOver,
}

/// The beginning of a line whose end has not come yet.
#[derive(Debug)]
enum Partial {
    Kept(Vec<u8>),
    TooLong,
}

impl OutputReader {
    pub(super) fn new(cli: &'static dyn AgentCli, before: Usage) -> Self {
        Self::of(Source::OneShot(cli, StreamParser::new(cli)), before)
    }

    /// For an agent that is spoken to, from [`converse`](Self::converse) on.
    pub(super) fn interactive(before: Usage) -> Self {
        Self::of(Source::Silent(None), before)
    }

    fn of(source: Source, before: Usage) -> Self {
        Self {
            source,
            turn: Turn::Closed,
            outgoing: String::new(),
            partial: Partial::Kept(Vec::new()),
            summary: TurnSummary::default(),
            meter: UsageMeter::new(before),
            latest: String::new(),
            questions: Vec::new(),
            late: None,
            changed: BTreeSet::new(),
            dropped: 0,
        }
    }

    /// Takes in output as it comes. Whether it held an event.
    pub fn read(&mut self, chunk: &[u8]) -> bool {
        let Some(first) = memchr(b'\n', chunk) else {
            self.keep(chunk);
            return false;
        };
        let last = memrchr(b'\n', chunk).unwrap_or(first);
        self.keep(&chunk[..first]);
        let mut received = self.end_line();
        if first < last {
            for line in chunk[first + 1..last].split(|byte| *byte == b'\n') {
                received |= self.line(line);
            }
        }
        self.keep(&chunk[last + 1..]);
        received
    }

    /// The turn is over: what has no line break at its end is a line too.
    pub fn end_turn(&mut self) {
        self.end_line();
    }

    /// Another turn begins.
    pub fn next_turn(&mut self) {
        if let Source::OneShot(cli, stream) = &mut self.source {
            *stream = StreamParser::new(*cli);
        }
        self.summary.next_turn();
        self.late = None;
    }

    /// From now on the process is spoken to.
    pub fn start_interactive(&mut self, protocol: Box<dyn InteractiveProtocol>) {
        self.source = Source::Interactive(self.cli(), protocol);
    }

    /// The process that was spoken to is gone.
    pub fn stop_interactive(&mut self) {
        if let Source::Interactive(cli, _) = self.source {
            (self.source, self.turn) = (Source::Silent(cli), Turn::Closed);
        }
    }

    /// Whether there is a process that is spoken to.
    pub fn is_interactive(&self) -> bool {
        matches!(self.source, Source::Interactive(..))
    }

    /// Whether the process that is spoken to is at work.
    pub fn turn_open(&self) -> bool {
        self.turn == Turn::Open
    }

    /// Begins a turn of the conversation.
    pub fn start_turn(&mut self, message: &str) {
        if let Source::Interactive(_, protocol) = &mut self.source {
            self.outgoing.push_str(&protocol.start_turn(message));
            self.turn = Turn::Open;
        }
    }

    /// What the agent asked since this was asked last.
    pub fn take_questions(&mut self) -> Vec<(String, WorkerRequest)> {
        std::mem::take(&mut self.questions)
    }

    /// Answers a question of the agent.
    pub fn reply(&mut self, question: &str, reply: &Reply) {
        if let Source::Interactive(_, protocol) = &mut self.source {
            self.outgoing.push_str(&protocol.answer(question, reply));
        }
    }

    /// Asks for the end of the turn.
    pub fn interrupt_turn(&mut self) {
        if let Source::Interactive(_, protocol) = &mut self.source {
            self.outgoing.push_str(&protocol.interrupt_turn());
        }
    }

    /// What is to be written to the process since this was asked last.
    pub fn take_outgoing(&mut self) -> String {
        std::mem::take(&mut self.outgoing)
    }

    /// Whether a turn of the conversation ended since this was asked last.
    pub fn take_turn_over(&mut self) -> bool {
        let over = self.turn == Turn::JustOver;
        if over {
            self.turn = Turn::Closed;
        }
        over
    }

    fn cli(&self) -> Option<&'static dyn AgentCli> {
        match self.source {
            Source::OneShot(cli, _) => Some(cli),
            Source::Interactive(cli, _) | Source::Silent(cli) => cli,
        }
    }

    pub fn summary(&self) -> &TurnSummary {
        &self.summary
    }

    /// The report is here.
    pub fn note_report(&mut self) {
        self.late = Some(Vec::new());
    }

    /// Files that changed after it.
    pub fn late_changes(&self) -> &[String] {
        self.late.as_deref().unwrap_or_default()
    }

    /// What it does right now, in a line.
    pub fn latest(&self) -> &str {
        &self.latest
    }

    /// Files that it says it wrote.
    pub fn changed(&self) -> impl Iterator<Item = &String> {
        self.changed.iter()
    }

    /// What was used since this was asked last.
    pub fn take_spent(&mut self) -> TokenUsage {
        spent(self.meter.take())
    }

    /// What was used since then, as far as the turn under way tells of it, if that has changed.
    pub fn using(&mut self) -> Option<TokenUsage> {
        self.meter.news().map(spent)
    }

    /// Why the turn ended.
    pub fn outcome(&self, end: End, expects: Expects, stderr: &str) -> Outcome {
        outcome(self.cli(), &self.summary, end, expects, stderr)
    }

    /// The answer that ended the turn, as a report: the object that it is or ends with, else all of it, so that an
    /// agent that answers with prose, or with nothing, is told what is wrong with it.
    pub fn answer(&self) -> Option<String> {
        let (text, structured) = self.summary.answer.as_ref()?;
        if let Some(object) = structured {
            return Some(object.to_string());
        }
        let text = text.trim();
        Some(final_object(text).unwrap_or(text).to_owned())
    }

    fn keep(&mut self, piece: &[u8]) {
        if let Partial::Kept(kept) = &mut self.partial {
            if kept.len() + piece.len() > MAX_LINE {
                self.partial = Partial::TooLong;
            } else {
                kept.extend_from_slice(piece);
            }
        }
    }

    fn end_line(&mut self) -> bool {
        match std::mem::replace(&mut self.partial, Partial::Kept(Vec::new())) {
            Partial::Kept(line) => self.line(&line),
            Partial::TooLong => {
                self.dropped += 1;
                true
            }
        }
    }

    fn line(&mut self, line: &[u8]) -> bool {
        let line = String::from_utf8_lossy(line);
        let Received {
            events,
            reply,
            questions,
        } = match &mut self.source {
            Source::OneShot(_, stream) => Received {
                events: stream.line(&line),
                ..Received::default()
            },
            Source::Interactive(_, protocol) => protocol.read(&line),
            Source::Silent(_) => Received::default(),
        };
        self.outgoing.push_str(&reply);
        self.questions.extend(questions);
        for event in &events {
            self.summary.on(event);
            self.meter.on(event);
            if self.turn == Turn::Open && matches!(event, AgentEvent::Final { .. } | AgentEvent::Failed(_)) {
                self.turn = Turn::JustOver;
            }
            match event {
                AgentEvent::Text(text) => first_line(text).clone_into(&mut self.latest),
                AgentEvent::ToolStart { name, summary, .. } => self.latest = format!("{name}: {summary}"),
                AgentEvent::Retrying(failure) | AgentEvent::Failed(failure) => {
                    first_line(&failure.message).clone_into(&mut self.latest);
                }
                AgentEvent::FileChange { path } => {
                    if let Some(late) = &mut self.late {
                        late.push(path.clone());
                    }
                    if self.changed.len() < MAX_CHANGED {
                        self.changed.insert(path.clone());
                    }
                }
                AgentEvent::Started { .. }
                | AgentEvent::ToolEnd { .. }
                | AgentEvent::Question { .. }
                | AgentEvent::Usage(_)
                | AgentEvent::UsedSoFar(_)
                | AgentEvent::Final { .. }
                | AgentEvent::PermissionDenied { .. }
                | AgentEvent::Unknown { .. } => {}
            }
        }
        !events.is_empty()
    }
}

pub(super) fn spent(used: Usage) -> TokenUsage {
    TokenUsage {
        input: used.input,
        cached: used.cached,
        output: used.output,
        cost: used.cost,
    }
}

fn first_line(text: &str) -> &str {
    text.lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Claude, Codex};

    const SAID: &str = concat!(
        r#"{"type":"thread.started","thread_id":"t-1"}"#,
        "\n",
        r#"{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"done:\n{\"id\":\"ü\"}"}}"#,
        "\n\n",
        r#"{"type":"turn.completed","usage":{"input_tokens":7,"cached_input_tokens":2,"output_tokens":3}}"#,
    );

    #[test]
    fn lines_are_whole_however_they_arrive() {
        for size in [1, 2, 3, 7, 50, 1000] {
            let mut listener = OutputReader::new(&Codex, Usage::NONE);
            for chunk in SAID.as_bytes().chunks(size) {
                listener.read(chunk);
            }
            assert_eq!(listener.answer(), None, "the last line has no end yet");
            listener.end_turn();
            assert_eq!(listener.answer().as_deref(), Some(r#"{"id":"ü"}"#), "{size}");
            assert_eq!(listener.summary().conversation.as_deref(), Some("t-1"));
            assert_eq!(listener.summary().unknown, 0);
            assert_eq!(listener.take_spent().output, 3);
            assert_eq!(listener.take_spent(), TokenUsage::default());
        }
    }

    #[test]
    fn a_line_without_end_is_dropped_and_the_next_one_is_read() {
        let mut listener = OutputReader::new(&Codex, Usage::NONE);
        for _ in 0..9 {
            assert!(!listener.read(&vec![b'x'; 1 << 20]));
        }
        assert!(listener.read(b"tail\n"), "it is a sign of life");
        assert!(listener.read(SAID.as_bytes()));
        listener.end_turn();
        assert_eq!((listener.dropped, listener.summary().unknown), (1, 0));
        assert!(listener.answer().is_some());
    }

    #[test]
    fn what_a_turn_uses_is_known_before_its_end_and_counted_once() {
        let mut listener = OutputReader::new(&Claude, Usage::NONE);
        let usage =
            |output: u64| format!(r#""input_tokens":5,"cache_read_input_tokens":2,"output_tokens":{output}"#);
        let mut says = |id: &str| {
            let message = format!(r#"{{"id":"{id}","content":[],"usage":{{{}}}}}"#, usage(1));
            listener.read(format!("{{\"type\":\"assistant\",\"message\":{message}}}\n").as_bytes());
            listener
                .using()
                .map(|spent| (spent.input, spent.cached, spent.output))
        };
        assert_eq!(says("m-1"), Some((7, 2, 1)));
        assert_eq!(says("m-1"), None, "the second part of a message");
        assert_eq!(says("m-2"), Some((14, 4, 2)));
        let result = format!(r#"{{"type":"result","result":"x","usage":{{{}}}}}"#, usage(60));
        listener.read(format!("{result}\n").as_bytes());
        assert_eq!(listener.using().map(|spent| spent.output), Some(60));
        assert_eq!(listener.take_spent().output, 60);
        assert_eq!(listener.using(), None);
    }

    #[test]
    fn prose_is_handed_on_as_it_is() {
        let mut listener = OutputReader::new(&Claude, Usage::NONE);
        listener.read(b"{\"type\":\"result\",\"is_error\":false,\"result\":\" All done. \"}\n");
        assert_eq!(listener.answer().as_deref(), Some("All done."));
        listener.next_turn();
        assert_eq!(listener.answer(), None);
    }
}
