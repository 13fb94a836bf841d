//! A worker's log as a conversation for people: messages, tools and their results, written files, usage. Does no I/O. Rows
//! contain no control characters, whatever the worker printed.

use std::collections::BTreeMap;

use wavecrew_core::event::TokenUsage;
use wavecrew_core::sanitise::sanitise;

use super::cli::AgentCli;
use super::stream::{AgentEvent, StreamParser, UsageMeter};

/// Lines shown of the start of a longer text, and of its end.
const SHOWN: usize = 8;
const LAST: usize = 3;
/// Characters shown of a longer line.
const WIDE: usize = 400;

/// How much of long texts is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Folding {
    Folded,
    Full,
}

/// What a row is about; the display chooses a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Heading,
    Message,
    Tool,
    /// What a tool printed.
    Output,
    Good,
    Bad,
    Aside,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub tone: Tone,
    pub text: String,
}

#[derive(Debug)]
pub struct Transcript {
    cli: &'static dyn AgentCli,
    stream: StreamParser,
    folding: Folding,
    meter: UsageMeter,
    rows: Vec<Row>,
    turn: u32,
    /// The turn has ended; the next event belongs to the next one.
    ended: bool,
    /// The pieces of a message that may be incomplete.
    pieces: String,
    /// The final message usually repeats it.
    last_message: String,
    /// Running calls.
    open: BTreeMap<String, Call>,
    /// The call that the latest row is about.
    latest: String,
    /// Why further turns were needed, by turn.
    reasons: BTreeMap<u32, String>,
    unknown: u64,
}

#[derive(Debug)]
struct Call {
    name: String,
    is_command: bool,
}

impl Transcript {
    /// `reasons` explains why turns 2, 3, ... were needed, if that is known.
    pub fn new(cli: &'static dyn AgentCli, folding: Folding, reasons: BTreeMap<u32, String>) -> Self {
        Self {
            cli,
            stream: StreamParser::new(cli),
            folding,
            meter: UsageMeter::new(TokenUsage::default()),
            rows: Vec::new(),
            turn: 1,
            ended: false,
            pieces: String::new(),
            last_message: String::new(),
            open: BTreeMap::new(),
            latest: String::new(),
            reasons,
            unknown: 0,
        }
    }

    /// The rows of a line of the log.
    #[must_use]
    pub fn line(&mut self, line: &str) -> Vec<Row> {
        for event in self.stream.line(line) {
            if self.ended && !matches!(event, AgentEvent::Unknown { .. }) {
                self.next_turn();
            }
            if !matches!(event, AgentEvent::Text(_)) {
                self.end_message();
            }
            self.event(event, line);
        }
        std::mem::take(&mut self.rows)
    }

    /// The log has ended.
    #[must_use]
    pub fn finish(&mut self) -> Vec<Row> {
        self.end_message();
        if self.unknown > 0 {
            let text = format!("{} events of kinds that this version does not know", self.unknown);
            self.row(Tone::Aside, &text);
        }
        std::mem::take(&mut self.rows)
    }

    fn event(&mut self, event: AgentEvent, line: &str) {
        match event {
            AgentEvent::Started {
                conversation,
                model,
                version,
            } => {
                let parts = [
                    Some(format!("conversation {conversation}")),
                    model.map(|model| format!("model {model}")),
                    version.map(|version| format!("version {version}")),
                ];
                let parts: Vec<String> = parts.into_iter().flatten().collect();
                self.row(Tone::Aside, &parts.join(" · "));
            }
            AgentEvent::Text(text) => {
                if self.cli.facts().text_in_pieces {
                    self.pieces.push_str(&text);
                } else {
                    self.message(&text);
                }
            }
            AgentEvent::ToolStart { id, name, summary } => self.tool_start(id, name, &summary),
            AgentEvent::ToolEnd {
                id,
                ok,
                exit_code,
                output,
            } => self.tool_end(&id, ok, exit_code, &output),
            AgentEvent::FileChange { path } => self.row(Tone::Tool, &format!("± {path}")),
            AgentEvent::Usage(..) | AgentEvent::UsedSoFar(_) => self.meter.on(&event),
            AgentEvent::Final { text, .. } => {
                if !text.trim().is_empty() && text.trim() != self.last_message.trim() {
                    self.message(&text);
                }
                self.end_turn();
            }
            AgentEvent::Retrying(failure) => self.row(Tone::Bad, &format!("trouble: {}", failure.message)),
            AgentEvent::Failed(failure) => {
                self.row(Tone::Bad, &format!("failed: {}", failure.message));
                self.end_turn();
            }
            AgentEvent::PermissionDenied { tool } => self.row(Tone::Bad, &format!("not allowed: {tool}")),
            AgentEvent::Question { tool, .. } => {
                self.row(Tone::Tool, &format!("asks whether it may use {tool}"));
            }
            // Warnings, banners and standard error.
            AgentEvent::Unknown { kind } if kind == "text" => self.row(Tone::Aside, line),
            AgentEvent::Unknown { .. } => self.unknown += 1,
        }
    }

    fn next_turn(&mut self) {
        self.ended = false;
        self.turn += 1;
        // A new process: the calls of the old one have ended.
        self.open.clear();
        let heading = match self.reasons.get(&self.turn) {
            Some(reason) => format!("turn {} · sent back: {reason}", self.turn),
            None => format!("turn {}", self.turn),
        };
        self.row(Tone::Heading, &heading);
    }

    fn message(&mut self, text: &str) {
        text.clone_into(&mut self.last_message);
        self.text(Tone::Message, "", text);
    }

    fn end_message(&mut self) {
        let message = std::mem::take(&mut self.pieces);
        if !message.trim().is_empty() {
            self.message(&message);
        }
    }

    fn tool_start(&mut self, id: String, name: String, summary: &str) {
        let is_command = is_command(&name);
        let text = if is_command {
            format!("$ {summary}")
        } else {
            format!("▸ {name} {summary}")
        };
        self.row(Tone::Tool, &text);
        self.latest.clone_from(&id);
        self.open.insert(id, Call { name, is_command });
    }

    fn tool_end(&mut self, id: &str, ok: bool, exit_code: Option<i64>, output: &str) {
        let call = self.open.remove(id);
        // Other calls started in between.
        if let Some(call) = call.as_ref().filter(|_| self.latest != id) {
            self.row(Tone::Tool, &format!("▸ {}, from before", call.name));
        }
        self.text(Tone::Output, "  ", output);
        let tone = if ok { Tone::Good } else { Tone::Bad };
        let is_command = call.is_some_and(|call| call.is_command);
        match (exit_code, ok) {
            (Some(code), _) => self.row(tone, &format!("  exit {code}")),
            (None, false) => self.row(tone, "  failed"),
            (None, true) if is_command => self.row(tone, "  ok"),
            (None, true) => {}
        }
    }

    fn end_turn(&mut self) {
        self.ended = true;
        let used = self.meter.take();
        if !used.is_nothing() {
            self.row(Tone::Aside, &format!("used {}", usage(&used)));
        }
    }

    /// A text of several lines, folded when it is long.
    fn text(&mut self, tone: Tone, indent: &str, text: &str) {
        let text = text.trim_matches('\n');
        if text.trim().is_empty() {
            return;
        }
        let lines: Vec<&str> = text.lines().collect();
        let hidden = match self.folding {
            Folding::Folded if lines.len() > SHOWN + LAST + 1 => lines.len() - SHOWN - LAST,
            Folding::Folded | Folding::Full => 0,
        };
        for (at, line) in lines.iter().enumerate() {
            if hidden == 0 || at < SHOWN || at >= SHOWN + hidden {
                self.row(tone, &format!("{indent}{line}"));
            } else if at == SHOWN {
                self.row(
                    Tone::Aside,
                    &format!("{indent}… {hidden} lines folded, --full shows them"),
                );
            }
        }
    }

    fn row(&mut self, tone: Tone, text: &str) {
        let text = sanitise(text.as_bytes());
        let length = text.chars().count();
        let text = if self.folding == Folding::Folded && length > WIDE + 20 {
            let start: String = text.chars().take(WIDE).collect();
            format!("{start}… {} characters folded", length - WIDE)
        } else {
            text
        };
        let text = text.replace('\n', " ").trim_end().to_owned();
        self.rows.push(Row { tone, text });
    }
}

/// Tools that run a command line.
fn is_command(name: &str) -> bool {
    let name = name.to_lowercase();
    name.ends_with("shell") || name.ends_with("bash") || name.ends_with("shell_command")
}

/// `2000 in (400 cached), 100 out, $0.0101`
fn usage(spent: &TokenUsage) -> String {
    let cost = spent
        .cost
        .map_or_else(String::new, |cost| format!(", ${cost:.4}"));
    format!(
        "{} in ({} cached), {} out{cost}",
        spent.input, spent.cached, spent.output
    )
}
