//! Reads the output of a worker: splits it into lines in bounded memory, parses them, and keeps their
//! information.

use std::collections::BTreeSet;

use memchr::{memchr, memrchr};
use wavecrew_core::engine::{Reply, WorkerRequest, final_object};
use wavecrew_core::event::TokenUsage;

use super::cli::AgentCli;
use super::interactive::{InteractiveProtocol, Received};
use super::stream::{AgentEvent, End, Expects, Outcome, StreamParser, TurnSummary, UsageMeter, outcome};

/// Longer lines are dropped and counted. They contain whole files that a tool read; everything else is shorter.
const MAX_LINE: usize = 8 << 20;
/// Files that are remembered as changed.
const MAX_CHANGED: usize = 10_000;

#[derive(Debug)]
pub struct OutputReader {
    source: Source,
    /// The turn of an interactive process.
    turn: Turn,
    /// What to write to the process.
    outgoing: String,
    partial: Partial,
    summary: TurnSummary,
    meter: UsageMeter,
    latest: String,
    /// Requests that wait for an answer, each with a key.
    requests: Vec<(String, WorkerRequest)>,
    /// Files that changed after the report, once there is one.
    edits_after_report: Option<Vec<String>>,
    changed: BTreeSet<String>,
    /// Lines that were too long to be read.
    pub dropped: u64,
}

/// What parses the lines.
#[derive(Debug)]
enum Source {
    /// Each turn is a process.
    OneShot(&'static dyn AgentCli, StreamParser),
    /// One process for all turns.
    Interactive(Option<&'static dyn AgentCli>, Box<dyn InteractiveProtocol>),
    /// There is no interactive process now.
    Silent(Option<&'static dyn AgentCli>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Closed,
    Open,
    /// It has ended since the last call of [`OutputReader::take_turn_ended`].
    JustEnded,
}

/// An incomplete line.
#[derive(Debug)]
enum Partial {
    Kept(Vec<u8>),
    TooLong,
}

impl OutputReader {
    pub(super) fn new(cli: &'static dyn AgentCli, before: TokenUsage) -> Self {
        Self::of(Source::OneShot(cli, StreamParser::new(cli)), before)
    }

    /// For an agent that is only interactive, from [`start_interactive`](Self::start_interactive) on.
    pub(super) fn interactive(before: TokenUsage) -> Self {
        Self::of(Source::Silent(None), before)
    }

    fn of(source: Source, before: TokenUsage) -> Self {
        Self {
            source,
            turn: Turn::Closed,
            outgoing: String::new(),
            partial: Partial::Kept(Vec::new()),
            summary: TurnSummary::default(),
            meter: UsageMeter::new(before),
            latest: String::new(),
            requests: Vec::new(),
            edits_after_report: None,
            changed: BTreeSet::new(),
            dropped: 0,
        }
    }

    /// Reads a piece of output. Returns whether it contained an event.
    pub fn read(&mut self, chunk: &[u8]) -> bool {
        let Some(first) = memchr(b'\n', chunk) else {
            self.keep(chunk);
            return false;
        };
        let last = memrchr(b'\n', chunk).unwrap_or(first);
        self.keep(&chunk[..first]);
        let mut has_event = self.end_line();
        if first < last {
            for line in chunk[first + 1..last].split(|byte| *byte == b'\n') {
                has_event |= self.line(line);
            }
        }
        self.keep(&chunk[last + 1..]);
        has_event
    }

    /// The output is complete: the last line need not end with a line break.
    pub fn end_turn(&mut self) {
        self.end_line();
    }

    /// Another turn starts.
    pub fn next_turn(&mut self) {
        if let Source::OneShot(cli, stream) = &mut self.source {
            *stream = StreamParser::new(*cli);
        }
        self.summary.next_turn();
        self.edits_after_report = None;
    }

    /// The process is interactive from now on.
    pub fn start_interactive(&mut self, protocol: Box<dyn InteractiveProtocol>) {
        self.source = Source::Interactive(self.cli(), protocol);
    }

    /// The interactive process is gone.
    pub fn stop_interactive(&mut self) {
        if let Source::Interactive(cli, _) = self.source {
            (self.source, self.turn) = (Source::Silent(cli), Turn::Closed);
        }
    }

    /// Whether there is an interactive process.
    pub fn is_interactive(&self) -> bool {
        matches!(self.source, Source::Interactive(..))
    }

    /// Whether the interactive process is in a turn.
    pub fn turn_open(&self) -> bool {
        self.turn == Turn::Open
    }

    /// Starts a turn of the interactive process.
    pub fn start_turn(&mut self, message: &str) {
        if let Source::Interactive(_, protocol) = &mut self.source {
            self.outgoing.push_str(&protocol.start_turn(message));
            self.turn = Turn::Open;
        }
    }

    /// The agent's requests since the last call.
    pub fn take_requests(&mut self) -> Vec<(String, WorkerRequest)> {
        std::mem::take(&mut self.requests)
    }

    /// Answers a request of the agent.
    pub fn reply(&mut self, key: &str, reply: &Reply) {
        if let Source::Interactive(_, protocol) = &mut self.source {
            self.outgoing.push_str(&protocol.answer(key, reply));
        }
    }

    /// Asks the agent to end its turn.
    pub fn interrupt_turn(&mut self) {
        if let Source::Interactive(_, protocol) = &mut self.source {
            self.outgoing.push_str(&protocol.interrupt_turn());
        }
    }

    /// What to write to the process, since the last call.
    pub fn take_outgoing(&mut self) -> String {
        std::mem::take(&mut self.outgoing)
    }

    /// Whether a turn of the interactive process has ended since the last call.
    pub fn take_turn_ended(&mut self) -> bool {
        let ended = self.turn == Turn::JustEnded;
        if ended {
            self.turn = Turn::Closed;
        }
        ended
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

    /// The worker has reported: changes from now on are edits after the report.
    pub fn note_report(&mut self) {
        self.edits_after_report = Some(Vec::new());
    }

    pub fn edits_after_report(&self) -> &[String] {
        self.edits_after_report.as_deref().unwrap_or_default()
    }

    /// What the agent is doing, in one line.
    pub fn latest(&self) -> &str {
        &self.latest
    }

    /// Files that the agent reports to have written.
    pub fn changed(&self) -> impl Iterator<Item = &String> {
        self.changed.iter()
    }

    /// Token usage since the last call.
    pub fn take_usage(&mut self) -> TokenUsage {
        self.meter.take()
    }

    /// Token usage since then, including the running turn, if it has changed.
    pub fn current_usage(&mut self) -> Option<TokenUsage> {
        self.meter.take_changed()
    }

    /// Why the turn ended.
    pub fn outcome(&self, end: End, expects: Expects, stderr: &str) -> Outcome {
        outcome(self.cli(), &self.summary, end, expects, stderr)
    }

    /// The final message of the turn as a report: the JSON object at its end, or else all of it, so that the agent learns
    /// what is wrong with it.
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
            requests,
        } = match &mut self.source {
            Source::OneShot(_, stream) => Received {
                events: stream.line(&line),
                ..Received::default()
            },
            Source::Interactive(_, protocol) => protocol.read(&line),
            Source::Silent(_) => Received::default(),
        };
        self.outgoing.push_str(&reply);
        self.requests.extend(requests);
        for event in &events {
            self.summary.on(event);
            self.meter.on(event);
            if self.turn == Turn::Open && matches!(event, AgentEvent::Final { .. } | AgentEvent::Failed(_)) {
                self.turn = Turn::JustEnded;
            }
            match event {
                AgentEvent::Text(text) => first_line(text).clone_into(&mut self.latest),
                AgentEvent::ToolStart { name, summary, .. } => self.latest = format!("{name}: {summary}"),
                AgentEvent::Retrying(failure) | AgentEvent::Failed(failure) => {
                    first_line(&failure.message).clone_into(&mut self.latest);
                }
                AgentEvent::FileChange { path } => {
                    if let Some(files) = &mut self.edits_after_report {
                        files.push(path.clone());
                    }
                    if self.changed.len() < MAX_CHANGED {
                        self.changed.insert(path.clone());
                    }
                }
                AgentEvent::Started { .. }
                | AgentEvent::ToolEnd { .. }
                | AgentEvent::Question { .. }
                | AgentEvent::Usage(..)
                | AgentEvent::UsedSoFar(_)
                | AgentEvent::Final { .. }
                | AgentEvent::PermissionDenied { .. }
                | AgentEvent::Unknown { .. } => {}
            }
        }
        !events.is_empty()
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
    use crate::cli::claude::Claude;
    use crate::cli::codex::Codex;

    const OUTPUT: &str = concat!(
        r#"{"type":"thread.started","thread_id":"t-1"}"#,
        "\n",
        r#"{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"done:\n{\"id\":\"ü\"}"}}"#,
        "\n\n",
        r#"{"type":"turn.completed","usage":{"input_tokens":7,"cached_input_tokens":2,"output_tokens":3}}"#,
    );

    #[test]
    fn lines_are_read_whole_in_chunks_of_any_size() {
        for size in [1, 2, 3, 7, 50, 1000] {
            let mut reader = OutputReader::new(&Codex, TokenUsage::default());
            for chunk in OUTPUT.as_bytes().chunks(size) {
                reader.read(chunk);
            }
            assert_eq!(reader.answer(), None, "the last line has no end yet");
            reader.end_turn();
            assert_eq!(reader.answer().as_deref(), Some(r#"{"id":"ü"}"#), "{size}");
            assert_eq!(reader.summary().conversation.as_deref(), Some("t-1"));
            assert_eq!(reader.summary().unknown, 0);
            assert_eq!(reader.take_usage().output, 3);
            assert_eq!(reader.take_usage(), TokenUsage::default());
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_dropped() {
        let mut reader = OutputReader::new(&Codex, TokenUsage::default());
        for _ in 0..9 {
            assert!(!reader.read(&vec![b'x'; 1 << 20]));
        }
        assert!(reader.read(b"tail\n"), "it counts as activity");
        assert!(reader.read(OUTPUT.as_bytes()));
        reader.end_turn();
        assert_eq!((reader.dropped, reader.summary().unknown), (1, 0));
        assert!(reader.answer().is_some());
    }

    #[test]
    fn the_usage_of_a_running_turn_is_counted_once() {
        let mut reader = OutputReader::new(&Claude, TokenUsage::default());
        let usage =
            |output: u64| format!(r#""input_tokens":5,"cache_read_input_tokens":2,"output_tokens":{output}"#);
        let mut usage_after_message = |id: &str| {
            let message = format!(r#"{{"id":"{id}","content":[],"usage":{{{}}}}}"#, usage(1));
            reader.read(format!("{{\"type\":\"assistant\",\"message\":{message}}}\n").as_bytes());
            reader
                .current_usage()
                .map(|spent| (spent.input, spent.cached, spent.output))
        };
        assert_eq!(usage_after_message("m-1"), Some((7, 2, 1)));
        assert_eq!(usage_after_message("m-1"), None, "the second part of a message");
        assert_eq!(usage_after_message("m-2"), Some((14, 4, 2)));
        let result = format!(r#"{{"type":"result","result":"x","usage":{{{}}}}}"#, usage(60));
        reader.read(format!("{result}\n").as_bytes());
        assert_eq!(reader.current_usage().map(|spent| spent.output), Some(60));
        assert_eq!(reader.take_usage().output, 60);
        assert_eq!(reader.current_usage(), None);
    }

    #[test]
    fn an_answer_without_json_is_returned_whole() {
        let mut reader = OutputReader::new(&Claude, TokenUsage::default());
        reader.read(b"{\"type\":\"result\",\"is_error\":false,\"result\":\" All done. \"}\n");
        assert_eq!(reader.answer().as_deref(), Some("All done."));
        reader.next_turn();
        assert_eq!(reader.answer(), None);
    }
}
