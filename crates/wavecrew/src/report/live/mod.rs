//! A block at the bottom of the terminal that is drawn anew a few times a second: the wave's bar, the totals, and a
//! line per running task. What stays, such as failures and finished waves, scrolls by above it.

use super::colour;
use super::event_lines::{self, Weight};
use super::{Detail, Screen, last_words};
use crate::clock;
use crate::exit::Exit;
use crate::layout::fit;
use std::fmt::Write as _;
use std::io::Write;
use std::time::{Duration, Instant};
use wavecrew_core::engine::{Ledger, Notice};
use wavecrew_core::event::{Event, RunOutcome};
use wavecrew_core::time::{Timestamp, human};
use wavecrew_core::view::{one_line, usage_line, wait_line};
use wavecrew_run::event_loop::{Reporter, Running};
use wavecrew_session::{SessionDir, SessionInfo};

/// Drawn at most so often.
const PAUSE: Duration = Duration::from_millis(200);
/// A worker that says nothing for so long is shown as silent.
const SILENT: Duration = Duration::from_mins(1);
const BAR: usize = 24;

pub struct Live {
    /// What stands before everything else.
    title: &'static str,
    session: String,
    least: Weight,
    /// Lines of the block that stand on the screen.
    drawn: usize,
    /// Questions on the screen, which must not be drawn over.
    asking: usize,
    last: Option<Instant>,
    /// Lines that go above the block when it is drawn next.
    above: String,
}

impl Live {
    pub fn new(session: &str, detail: Detail, info: &SessionInfo) -> Self {
        Self {
            title: if info.replay().is_some() { "Replay · " } else { "" },
            session: session.to_owned(),
            least: if detail == Detail::Verbose {
                Weight::Detail
            } else {
                Weight::Progress
            },
            drawn: 0,
            asking: 0,
            last: None,
            above: String::new(),
        }
    }

    fn say(&mut self, line: Option<(Weight, String)>) {
        if let Some((weight, line)) = line
            && weight >= self.least
        {
            let line = if colour::on_stderr() {
                colour::event(weight, &line)
            } else {
                line
            };
            let _ = writeln!(self.above, "{line}");
        }
    }

    /// One write for all of it, so that nothing flickers.
    fn draw(&mut self, block: &[String]) {
        let mut text = String::new();
        if self.drawn > 0 {
            let _ = write!(text, "\x1b[{}A\r\x1b[J", self.drawn);
        }
        text += &std::mem::take(&mut self.above);
        for line in block {
            let _ = writeln!(text, "{line}");
        }
        self.drawn = block.len();
        let mut err = std::io::stderr().lock();
        let _ = err.write_all(text.as_bytes());
        let _ = err.flush();
    }
}

impl Reporter for Live {
    fn event(&mut self, event: &Event, ledger: &Ledger) {
        self.say(event_lines::event(event, ledger));
        match event {
            Event::Asked { .. } => {
                self.draw(&[]);
                self.asking += 1;
            }
            Event::Answered { .. } => self.asking = self.asking.saturating_sub(1),
            _ => {}
        }
    }

    fn notice(&mut self, notice: &Notice) {
        self.say(event_lines::notice(notice, &self.session));
    }

    fn tick(&mut self, running: &[Running], ledger: &Ledger) {
        if self.asking > 0 || self.last.is_some_and(|last| last.elapsed() < PAUSE) {
            return;
        }
        self.last = Some(Instant::now());
        let size = size();
        let lines = block(size, running, ledger, clock::now());
        self.draw(&titled(self.title, size.0, lines));
    }

    fn wants_running(&self) -> bool {
        self.last.is_none_or(|last| last.elapsed() >= PAUSE)
    }
}

impl Screen for Live {
    fn end(&mut self, _: &RunOutcome, ledger: &Ledger, dir: &SessionDir, info: &SessionInfo, _: Exit) {
        self.draw(&[]);
        last_words(&mut std::io::stdout(), ledger, dir, info);
    }
}

/// Leaves the screen as it was, whatever ended the run.
impl Drop for Live {
    fn drop(&mut self) {
        if self.drawn > 0 || !self.above.is_empty() {
            self.draw(&[]);
        }
    }
}

/// Columns and rows of the terminal; a small one counts as it is.
fn size() -> (usize, usize) {
    let size = rustix::termios::tcgetwinsize(std::io::stderr());
    let (width, height) = size.map_or((80, 24), |size| (size.ws_col.into(), size.ws_row.into()));
    (width.clamp(20, 200), height)
}

/// The lines with the title before the first, which stays as short.
fn titled(title: &str, width: usize, mut lines: Vec<String>) -> Vec<String> {
    if let Some(first) = lines.first_mut().filter(|_| !title.is_empty()) {
        let whole = fit(&format!("{title}{first}"), width - 1);
        whole.trim_end().clone_into(first);
    }
    lines
}

/// The lines of the block, each shorter than the terminal is wide and all together lower than it is high: what
/// wraps or scrolls away cannot be taken back.
fn block(
    (width, height): (usize, usize),
    running: &[Running],
    ledger: &Ledger,
    now: Timestamp,
) -> Vec<String> {
    let room = width - 1;
    let mut lines = vec![fit(&totals(room, ledger), room)];
    // One line stays for the number of further workers, and one for the cursor.
    for (name, pool) in ledger.waits(now).take(height.saturating_sub(3)) {
        lines.push(fit(&format!("  {}", wait_line(name, pool, now)), room));
    }
    let shown = height.saturating_sub(2 + lines.len());
    let widest = |text: fn(&Running) -> &str, most: usize| {
        running
            .iter()
            .take(shown)
            .map(|r| text(r).chars().count())
            .max()
            .unwrap_or(0)
            .min(most)
    };
    let id = widest(|r| &r.task, room / 2);
    let role = if room < 60 { 0 } else { widest(|r| &r.role, 14) };
    for worker in running.iter().take(shown) {
        let mut line = format!("  {}", fit(&worker.task, id));
        if role > 0 {
            let _ = write!(line, "  {}", fit(&worker.role, role));
        }
        let _ = write!(line, "  {:>7}", human(worker.elapsed));
        if worker.attempt > 1 {
            let _ = write!(line, "  attempt {}", worker.attempt);
        }
        if worker.silent >= SILENT {
            let _ = write!(line, "  silent for {}", human(worker.silent));
        } else if !worker.last_line.is_empty() {
            let _ = write!(line, "  {}", worker.last_line);
        } else if let Some(task) = ledger.plan().find(&worker.task) {
            let _ = write!(line, "  {}", one_line(ledger.plan().title(task)));
        }
        lines.push(fit(&line, room));
    }
    if running.len() > shown {
        lines.push(format!("  and {} more", running.len() - shown));
    }
    for line in &mut lines {
        line.truncate(line.trim_end().len());
    }
    lines
}

/// `Wave 2/3 ━━━━━━────── 5/10 · 12/30 done · 1 failed`
fn totals(room: usize, ledger: &Ledger) -> String {
    let (wave, all) = (ledger.wave.max(1), ledger.counts());
    let here = ledger.wave_counts(wave);
    let done = here.completed + here.failed + here.skipped;
    let mut line = format!("Wave {wave}/{} ", ledger.plan().waves());
    let bar = BAR.min(room / 4);
    let full = (bar * done).checked_div(here.total()).unwrap_or(0);
    line.extend((0..bar).map(|at| if at < full { '━' } else { '─' }));
    let _ = write!(line, " {done}/{}", here.total());
    let _ = write!(line, " · {}/{} done", all.completed, all.total());
    for (number, what) in [(all.failed, "failed"), (all.skipped, "skipped")] {
        if number > 0 {
            let _ = write!(line, " · {number} {what}");
        }
    }
    if let Some(used) = usage_line(&ledger.totals) {
        let _ = write!(line, " · {used}");
    }
    line
}

#[cfg(test)]
mod tests;
