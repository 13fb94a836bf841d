//! What a worker prints: a bounded log on disk, and in memory only its end, where a report may stand.

use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use wavecrew_core::engine::MAX_REPORT_BYTES;
use wavecrew_store::{BoundedLog, sanitise};

/// Shown of a worker's last words.
const LAST_WORDS: usize = 300;

/// The output of one worker, written by the pumps of its processes.
pub(super) struct Output {
    log: RefCell<Option<BoundedLog>>,
    stdout: RefCell<Tail>,
    stderr: RefCell<Tail>,
    active: Cell<bool>,
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
}

impl Tail {
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
    pub fn new(log: PathBuf, limit: u64) -> Self {
        let tail = |limit| {
            RefCell::new(Tail {
                bytes: Vec::new(),
                limit,
            })
        };
        Self {
            log: RefCell::new(Some(BoundedLog::create(log, limit))),
            stdout: tail(MAX_REPORT_BYTES + (64 << 10)),
            stderr: tail(4 << 10),
            active: Cell::new(false),
        }
    }

    pub fn take_in(&self, stream: Stream, chunk: &[u8]) {
        self.active.set(true);
        let mut log = self.log.borrow_mut();
        // A log that cannot be written costs the log, not the run; the journal speaks up when the disk is full.
        if log.as_mut().is_some_and(|log| log.write(chunk).is_err()) {
            *log = None;
        }
        match stream {
            Stream::Stdout => self.stdout.borrow_mut().push(chunk),
            Stream::Stderr => self.stderr.borrow_mut().push(chunk),
        }
    }

    /// Whether there was output since the last look.
    pub fn was_active(&self) -> bool {
        self.active.replace(false)
    }

    /// A new turn begins: what was printed before is no report any more.
    pub fn new_turn(&self) {
        self.stdout.borrow_mut().bytes.clear();
        self.stderr.borrow_mut().bytes.clear();
    }

    pub fn with_stdout<T>(&self, look: impl FnOnce(&str) -> T) -> T {
        look(&String::from_utf8_lossy(&self.stdout.borrow().bytes))
    }

    /// The last line of complaint, or else of output, made safe to show.
    pub fn last_words(&self) -> String {
        let stderr = last_line(self.stderr.borrow().end(4 << 10));
        if stderr.is_empty() {
            self.last_line()
        } else {
            stderr
        }
    }

    pub fn last_line(&self) -> String {
        last_line(self.stdout.borrow().end(4 << 10))
    }

    pub fn finish(&self) {
        if let Some(log) = self.log.borrow_mut().take() {
            // As above: a log that cannot be finished is no reason to fail anything.
            let _ = log.finish();
        }
    }
}

fn last_line(bytes: &[u8]) -> String {
    let text = sanitise(bytes);
    let line = text
        .lines()
        .rev()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default();
    line.chars().take(LAST_WORDS).collect()
}
