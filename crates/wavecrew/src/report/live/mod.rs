//! A block at the bottom of the terminal that is drawn anew a few times a second: the wave's bar, the totals,
//! and a line per running task. Lasting lines, such as failures and finished waves, scroll above it. A run's
//! own view has keys.

mod keys;
mod log_pane;

use super::colour;
use super::event_lines::{self, Weight};
use super::{Detail, Screen, last_words};
use crate::clock;
use crate::exit::Exit;
use crate::layout::fit;
use rustix::process::Signal;
use std::fmt::Write as _;
use std::io::Write;
use std::time::{Duration, Instant};
use unicode_width::UnicodeWidthStr;
use wavecrew_core::engine::{Ledger, Notice};
use wavecrew_core::event::{Event, RunOutcome};
use wavecrew_core::time::{Timestamp, human};
use wavecrew_core::view::{one_line, usage_line, wait_line};
use wavecrew_process::signal_self;
use wavecrew_run::event_loop::{Reporter, Running};
use wavecrew_session::{PersonRequest, SessionDir, SessionInfo};

use keys::{Key, Keyboard};
use log_pane::LogPane;

/// Drawn at most so often.
const PAUSE: Duration = Duration::from_millis(200);
/// A worker without output for this long is shown as silent.
const SILENT: Duration = Duration::from_mins(1);
const BAR: usize = 24;
/// From this width on, a worker's line has the title of its task and its last output.
const WIDE: usize = 100;

/// Whether a person can press keys in the view.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keys {
    On,
    Off,
}

pub struct Live {
    /// A text before everything else.
    title: &'static str,
    dir: SessionDir,
    least: Weight,
    /// Lines of the block that are on the screen.
    drawn: usize,
    /// Questions on the screen, which must not be drawn over.
    asking: usize,
    last: Option<Instant>,
    /// Lines that go above the block when it is drawn next.
    above: String,
    /// None where only the session is watched.
    keyboard: Option<Keyboard>,
    log: Option<LogPane>,
}

impl Live {
    pub fn new(dir: &SessionDir, detail: Detail, info: &SessionInfo, keys: Keys) -> Self {
        Self {
            title: if info.replay().is_some() { "Replay · " } else { "" },
            dir: dir.clone(),
            least: if detail == Detail::Verbose {
                Weight::Detail
            } else {
                Weight::Progress
            },
            drawn: 0,
            asking: 0,
            last: None,
            above: String::new(),
            keyboard: (keys == Keys::On).then(Keyboard::default),
            log: None,
        }
    }

    fn follow_keys(&mut self, running: &[Running], ledger: &Ledger) {
        let pressed = self.keyboard.as_mut().map(Keyboard::pressed);
        for key in pressed.into_iter().flatten() {
            match key {
                Key::Help => self.print_line(Some((Weight::Milestone, keys::HELP.to_owned()))),
                Key::Pause => self.request(if ledger.paused { "resume" } else { "pause" }),
                Key::Stop => signal_self(Signal::INT),
                Key::Log => self.log = LogPane::next(self.log.as_ref(), &self.dir, running),
                Key::Close => self.log = None,
            }
        }
        // The log of a worker that has ended is shown by `wavecrew logs`.
        let runs = |pane: &LogPane| running.iter().any(|worker| worker.task == pane.task);
        self.log.take_if(|pane| !runs(pane));
    }

    /// Asks the run for something, as the browser does.
    fn request(&mut self, action: &str) {
        let request = PersonRequest {
            action: action.to_owned(),
            via: "terminal".to_owned(),
            ..PersonRequest::default()
        };
        if let Err(error) = self.dir.person_requests().put(&request) {
            self.print_line(Some((Weight::Trouble, error.to_string())));
        }
    }

    fn print_line(&mut self, line: Option<(Weight, String)>) {
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
        self.print_line(event_lines::event(event, ledger));
        match event {
            Event::Asked { .. } => {
                self.draw(&[]);
                self.asking += 1;
                // The question reads the keys.
                if let Some(keyboard) = &mut self.keyboard {
                    keyboard.close();
                }
            }
            Event::Answered { .. } => self.asking = self.asking.saturating_sub(1),
            _ => {}
        }
    }

    fn notice(&mut self, notice: &Notice) {
        self.print_line(event_lines::notice(notice, self.dir.id()));
    }

    fn tick(&mut self, running: &[Running], ledger: &Ledger) {
        if self.asking > 0 || self.last.is_some_and(|last| last.elapsed() < PAUSE) {
            return;
        }
        self.last = Some(Instant::now());
        self.follow_keys(running, ledger);
        let (width, height) = size();
        let log = self
            .log
            .as_ref()
            .map(|pane| pane.lines(&self.dir, width - 1, height));
        let log = log.unwrap_or_default();
        let lines = block(
            (width, height - log.len().min(height)),
            running,
            ledger,
            clock::now(),
        );
        let mut lines = titled(self.title, width, lines);
        if self.keyboard.as_ref().is_some_and(Keyboard::is_open) {
            add_hint(&mut lines, width);
        }
        lines.extend(log);
        self.draw(&lines);
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

/// Mentions the keys, if there is space.
fn add_hint(lines: &mut [String], width: usize) {
    const HINT: &str = " · ? for keys";
    if let Some(first) = lines.first_mut()
        && first.width() + HINT.width() < width
    {
        first.push_str(HINT);
    }
}

/// The lines with the title before the first, which stays as short.
fn titled(title: &str, width: usize, mut lines: Vec<String>) -> Vec<String> {
    if let Some(first) = lines.first_mut().filter(|_| !title.is_empty()) {
        let whole = fit(&format!("{title}{first}"), width - 1);
        whole.trim_end().clone_into(first);
    }
    lines
}

/// The lines of the block, each shorter than the terminal is wide and all together lower than it is high:
/// lines that wrap or scroll away cannot be redrawn.
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
        if let Some(host) = &worker.host {
            let _ = write!(line, "  on {}", one_line(host));
        }
        if worker.attempt > 1 {
            let _ = write!(line, "  attempt {}", worker.attempt);
        }
        let title = ledger.plan().find(&worker.task);
        let title = title.map_or_else(String::new, |task| one_line(ledger.plan().title(task)));
        let now = if worker.silent >= SILENT {
            format!("silent for {}", human(worker.silent))
        } else {
            worker.last_line.clone()
        };
        // If there is space for only one of them, it is the current activity.
        let both = room >= WIDE && !title.is_empty() && !now.is_empty();
        if both {
            let most = room / 4;
            let shown = fit(&title, title.width().min(most));
            let _ = write!(line, "  {} · {now}", shown.trim_end());
        } else {
            let _ = write!(line, "  {}", if now.is_empty() { title } else { now });
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
    let paused = if ledger.paused { "Paused · " } else { "" };
    let mut line = format!("{paused}Wave {wave}/{} ", ledger.plan().waves());
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
