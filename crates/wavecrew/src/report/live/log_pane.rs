//! The end of a worker's log, below the list of workers.

use crate::layout::fit;
use wavecrew_agents::transcript::{Folding, Transcript};
use wavecrew_core::sanitise::sanitise;
use wavecrew_run::event_loop::Running;
use wavecrew_run::log_maker::LogMaker;
use wavecrew_session::{SessionDir, end_of_log};

/// Bytes of the log that are read.
const TAIL: u64 = 32 << 10;
const LINES: usize = 12;

/// The log of the worker that a person is viewing.
pub struct LogPane {
    pub task: String,
    attempt: u32,
    maker: LogMaker,
}

impl LogPane {
    pub fn new(dir: &SessionDir, worker: &Running) -> Self {
        // A journal that cannot be read leaves the log as plain text.
        let events = dir.read_events().unwrap_or_default();
        Self {
            task: worker.task.clone(),
            attempt: worker.attempt,
            maker: LogMaker::find(&events, &worker.task, worker.attempt),
        }
    }

    /// The pane of the worker after this one; none after the last.
    pub fn next(pane: Option<&Self>, dir: &SessionDir, running: &[Running]) -> Option<Self> {
        let at = pane.and_then(|pane| running.iter().position(|worker| worker.task == pane.task));
        let next = running.get(at.map_or(0, |at| at + 1))?;
        Some(Self::new(dir, next))
    }

    /// A heading and the last lines, shorter than `room`; a third of a low terminal.
    pub fn lines(&self, dir: &SessionDir, room: usize, height: usize) -> Vec<String> {
        let tail = end_of_log(&dir.log_file(&self.task, self.attempt), TAIL);
        let text = tail.map_or_else(|_| String::new(), |(bytes, _)| sanitise(&bytes));
        let lines = self.readable(&text);
        let most = LINES.min(height / 3);
        let from = lines.len().saturating_sub(most);
        let heading = format!("  ── log of {} (l next, Esc close)", self.task);
        let mut shown = vec![fit(&heading, room)];
        if lines.is_empty() {
            shown.push("  no output yet".to_owned());
        }
        shown.extend(lines[from..].iter().map(|line| fit(&format!("  {line}"), room)));
        for line in &mut shown {
            line.truncate(line.trim_end().len());
        }
        shown
    }

    /// The conversation, if the agent prints one for programs; else the text.
    fn readable(&self, text: &str) -> Vec<String> {
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let Some(cli) = self.maker.cli(&self.task) else {
            return lines.map(str::to_owned).collect();
        };
        let mut transcript = Transcript::new(cli, Folding::Folded, self.maker.reasons.clone());
        let rows = lines.flat_map(|line| transcript.line(line));
        let rows: Vec<String> = rows.map(|row| row.text).collect();
        let lines = rows.iter().flat_map(|row| row.lines());
        lines.map(str::to_owned).collect()
    }
}
