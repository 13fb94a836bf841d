//! `wavecrew watch`: follows the journal of a run in another process, with the same screen as `run`.

use crate::clock;
use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::report::{self, Keys, Screen};
use crate::session_view::{SessionArg, final_report};
use std::fs;
use std::io::{Write, stdout};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};
use wavecrew_core::engine::Ledger;
use wavecrew_core::event::RunOutcome;
use wavecrew_core::sanitise::sanitise;
use wavecrew_core::view::{count, one_line};
use wavecrew_run::event_loop::Running;
use wavecrew_session::{SessionDir, SessionInfo, end_of_log};

const LOOK: Duration = Duration::from_millis(300);
/// Bytes of a log that are read to find its last line.
const TAIL: u64 = 4 << 10;

/// Follow a session until its run ends
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  wavecrew watch\n  wavecrew watch run-tasks-20260308\n  wavecrew watch --json | jq -c .event"
)]
pub struct Args {
    #[command(flatten)]
    session: SessionArg,
}

impl Args {
    /// Exits as the run does.
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let view = self.session.view(global)?;
        let Some(info) = view.info else {
            return Err(Failure::input(view.problems.join("; ")));
        };
        let ending = |ledger: &Ledger| ledger.ending.clone().unwrap_or(RunOutcome::Interrupted);
        if view.holder.is_none() && !global.json {
            let report = final_report(&view.dir, &view.ledger, &info);
            write!(stdout(), "{} is not running.\n{report}", view.dir.id())?;
            return Ok(Exit::from(&ending(&view.ledger)));
        }
        if !global.json && !global.quiet {
            let counts = view.ledger.counts();
            let (done, all) = (counts.completed, count(counts.total(), "task"));
            writeln!(stdout(), "Watching {}: {done} of {all} completed", view.dir.id())?;
        }
        let mut screen = report::for_run(global, &view.dir, &info, Keys::Off);
        let mut ledger = view.ledger;
        if view.holder.is_some() {
            follow(&view.dir, &mut ledger, view.events, screen.as_mut())?;
        }
        let ending = ending(&ledger);
        let exit = Exit::from(&ending);
        let info: SessionInfo = view.dir.read_info().unwrap_or(info);
        screen.end(&ending, &ledger, &view.dir, &info, exit);
        Ok(exit)
    }
}

fn follow(
    dir: &SessionDir,
    ledger: &mut Ledger,
    mut seen: usize,
    screen: &mut dyn Screen,
) -> Result<(), Failure> {
    let journal = dir.journal_file();
    let mut len = None;
    loop {
        // Checked before the journal is read, so that everything until the end is in it.
        let runs = dir.holder()?.is_some();
        let began = Instant::now();
        let now = fs::metadata(&journal).map(|meta| meta.len()).ok();
        if now != len {
            len = now;
            let events = dir.read_events()?;
            for event in events.iter().skip(seen) {
                ledger.apply(event);
                screen.event(event, ledger);
            }
            seen = seen.max(events.len());
        }
        let running = if screen.wants_running() {
            running(dir, ledger)
        } else {
            Vec::new()
        };
        screen.tick(&running, ledger);
        if !runs {
            return Ok(());
        }
        // A large journal is read less often, so that watching stays cheap.
        std::thread::sleep(LOOK.max(began.elapsed() * 10));
    }
}

/// The workers as far as they can be seen from outside: by their logs.
fn running(dir: &SessionDir, ledger: &Ledger) -> Vec<Running> {
    let plan = ledger.plan();
    let hosts = dir.read_hosts();
    let one = |(task, attempt)| {
        let id = plan.id(task);
        let started = ledger.task(task).started.unwrap_or_default();
        let elapsed = clock::now().since(started);
        let (silent, last_line) = last_output(&dir.log_file(id, attempt)).unwrap_or((elapsed, String::new()));
        Running {
            task: id.to_owned(),
            role: plan.role(task).to_owned(),
            attempt,
            host: hosts.get(&(id.to_owned(), attempt)).cloned(),
            elapsed,
            silent,
            last_line,
        }
    };
    ledger.open_attempts().map(one).collect()
}

/// How long ago a log was written to, and its last line.
fn last_output(log: &Path) -> Option<(Duration, String)> {
    let (tail, written) = end_of_log(log, TAIL).ok()?;
    let silent = SystemTime::now().duration_since(written).unwrap_or_default();
    let text = sanitise(&tail);
    let line = text.lines().rev().find(|line| !line.trim().is_empty());
    Some((silent, one_line(line.unwrap_or_default())))
}
