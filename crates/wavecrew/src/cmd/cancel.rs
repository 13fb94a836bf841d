//! `wavecrew cancel`: stops a run in another process and waits until it has ended, or pauses it.

use crate::control::{self, ControlSignal};
use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::session_state::cancel_idle;
use crate::session_view::SessionArg;
use crate::{hint, json};
use serde_json::json;
use std::time::Duration;
use wavecrew_session::SessionDir;

/// Stop a session that runs in another process, or pause it
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  wavecrew cancel                               stop the latest session
  wavecrew cancel run-tasks-20260308            stop this session
  wavecrew cancel run-tasks-20260308 --pause    start no new tasks
  wavecrew resume run-tasks-20260308            continue after --pause")]
pub struct Args {
    #[command(flatten)]
    session: SessionArg,
    /// Start no new tasks; running tasks continue. `wavecrew resume` ends the pause
    #[arg(long, conflicts_with = "resume")]
    pause: bool,
    /// The former name of `wavecrew resume`
    #[arg(long, hide = true)]
    resume: bool,
    /// Wait up to this many seconds until the run has stopped
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    wait: u64,
}

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let signal = match (self.pause, self.resume) {
            (true, _) => ControlSignal::Pause,
            (false, true) => ControlSignal::Resume,
            (false, false) => ControlSignal::Cancel,
        };
        let dir = self.session.find()?;
        let state = if control::send(&dir, signal, Duration::from_secs(self.wait))? {
            signal.resulting_state()
        } else {
            set_idle_state(&dir, signal)?
        };
        let id = dir.id();
        let text = match signal {
            ControlSignal::Cancel if state == signal.resulting_state() => format!("{id} is cancelled"),
            ControlSignal::Cancel => format!("{id} has already ended: it is {state}"),
            ControlSignal::Pause => format!("{id} starts no new tasks until `{}`", resume(id)),
            ControlSignal::Resume => format!("{id} is running"),
        };
        json::answer(global, json!({"session": id, "state": state}), &text)
    }
}

fn resume(id: &str) -> String {
    hint::command(&format!("resume {id}"))
}

/// Applies the signal to a session that no process runs. Returns the new state.
fn set_idle_state(dir: &SessionDir, signal: ControlSignal) -> Result<&'static str, Failure> {
    if signal != ControlSignal::Cancel {
        return Err(Failure::with_help(
            format!("the session `{}` is not running", dir.id()),
            format!("continue it with `{}`", resume(dir.id())),
        ));
    }
    cancel_idle(dir, None)
}
