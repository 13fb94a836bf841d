//! What an agent prints in a turn: a log without secrets, its events, and its last words.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use wavecrew_run::agent::stream::{End, Expects, Usage};
use wavecrew_run::agent::{Adapter, Listener, Redactor, settled};
use wavecrew_run::process::Exit;
use wavecrew_store::{BoundedLog, sanitise};

/// Kept of what an agent prints, on disk.
const LOG_BYTES: u64 = 64 << 20;
/// Kept of it in memory, where programs without events have their answer.
const TAIL: usize = 1 << 20;

#[derive(Clone, Copy)]
pub(super) enum Stream {
    Stdout,
    Stderr,
}

/// The ear for one agent, turn after turn.
pub(super) struct Ear {
    log: RefCell<Option<BoundedLog>>,
    listener: Option<RefCell<Listener>>,
    tails: RefCell<[Vec<u8>; 2]>,
    /// Not in the log yet.
    held: RefCell<[Vec<u8>; 2]>,
    redactor: Rc<Redactor>,
}

impl Ear {
    pub fn new(log: PathBuf, agent: &dyn Adapter, redactor: Rc<Redactor>) -> Self {
        Self {
            log: RefCell::new(Some(BoundedLog::create(log, LOG_BYTES))),
            listener: agent.listener(Usage::NONE).map(RefCell::new),
            tails: RefCell::default(),
            held: RefCell::default(),
            redactor,
        }
    }

    pub fn hear(&self, stream: Stream, chunk: &[u8]) {
        let held = &mut self.held.borrow_mut()[stream as usize];
        held.extend_from_slice(chunk);
        // A word whose rest has not come yet may turn out to be a secret.
        let whole = settled(held);
        self.write(&held[..whole]);
        held.drain(..whole);
        let tail = &mut self.tails.borrow_mut()[stream as usize];
        tail.extend_from_slice(chunk);
        if tail.len() > 2 * TAIL {
            let from = tail.len() - TAIL;
            tail.drain(..from);
        }
        if let (Stream::Stdout, Some(listener)) = (stream, &self.listener) {
            listener.borrow_mut().hear(chunk);
        }
    }

    fn write(&self, bytes: &[u8]) {
        let mut log = self.log.borrow_mut();
        // A log that cannot be written costs the log, not the conversation.
        if log
            .as_mut()
            .is_some_and(|log| log.write(&self.redactor.bytes(bytes)).is_err())
        {
            *log = None;
        }
    }

    pub fn new_turn(&self) {
        *self.tails.borrow_mut() = Default::default();
        if let Some(listener) = &self.listener {
            listener.borrow_mut().next_turn();
        }
    }

    /// The conversation, once the agent has named it.
    pub fn conversation(&self) -> Option<String> {
        let listener = self.listener.as_ref()?.borrow();
        listener.tally().conversation.clone()
    }

    /// What the agent said at the end of its turn, or what went wrong.
    pub fn end_turn(&self, exit: Exit) -> Result<String, String> {
        for held in self.held.take() {
            self.write(&held);
        }
        let end = match exit {
            Exit::Code(code) => End::Exit(code),
            Exit::Signal(signal) => End::Signal(signal),
        };
        let [stdout, stderr] = self.tails.borrow().each_ref().map(|tail| sanitise(tail));
        let last_line = |text: &str| text.trim().lines().last().unwrap_or_default().to_owned();
        let words = match last_line(&stderr) {
            words if words.is_empty() => last_line(&stdout),
            words => words,
        };
        let ended = match &self.listener {
            None if exit.is_success() => Ok(stdout.trim().to_owned()),
            None => Err(format!("{} {words}", described(exit))),
            Some(listener) => {
                let mut listener = listener.borrow_mut();
                listener.end_turn();
                let outcome = listener.outcome(end, Expects::Nothing, &stderr);
                match (&listener.tally().answer, outcome.failure) {
                    (_, Some(failure)) => Err(failure.message),
                    (Some((text, _)), None) => Ok(text.trim().to_owned()),
                    (None, None) if exit.is_success() => Ok(String::new()),
                    (None, None) => Err(format!("{} {words}", described(exit))),
                }
            }
        };
        match ended {
            Ok(text) => Ok(self.redactor.text(&text)),
            Err(text) => Err(self.redactor.text(text.trim())),
        }
    }

    pub fn finish(&self) {
        if let Some(log) = self.log.borrow_mut().take() {
            // As above.
            let _ = log.finish();
        }
    }
}

fn described(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("The agent exited with code {code}:"),
        Exit::Signal(signal) => format!("The agent was ended by signal {signal}:"),
    }
}
