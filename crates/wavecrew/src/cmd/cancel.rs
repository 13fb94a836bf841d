//! `wavecrew cancel`: stops a run in another process by leaving it a word, and waits for it to be gone.

use crate::cli::Global;
use crate::exit::{Exit, Failure};
use crate::session_state::{StateFailure, set_state};
use crate::session_view::find;
use serde_json::json;
use std::fs;
use std::io::{Write, stdout};
use std::path::Path;
use std::time::{Duration, Instant};
use wavecrew_session::{SessionDir, SessionState, atomic};

const LOOK: Duration = Duration::from_millis(50);

/// Stop a session that runs in another process, or hold it for a while
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  wavecrew cancel run-tasks-20260308\n  wavecrew cancel run-tasks --pause    start nothing \
    new\n  wavecrew cancel run-tasks --resume   go on"
)]
pub struct Args {
    /// Its id, or the beginning of it
    #[arg(value_name = "SESSION")]
    session: String,
    /// Start no new tasks; what runs goes on
    #[arg(long, conflicts_with = "resume")]
    pause: bool,
    /// Go on after --pause
    #[arg(long)]
    resume: bool,
    /// Seconds to wait for the run to follow
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    wait: u64,
}

/// What the run is told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    Cancel,
    Pause,
    Resume,
}

impl Word {
    fn as_str(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Pause => "pause",
            Self::Resume => "resume",
        }
    }

    /// The state when the run has followed.
    fn state(self) -> &'static str {
        match self {
            Self::Cancel => "cancelled",
            Self::Pause => "paused",
            Self::Resume => "running",
        }
    }
}

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let word = match (self.pause, self.resume) {
            (true, _) => Word::Pause,
            (false, true) => Word::Resume,
            (false, false) => Word::Cancel,
        };
        let dir = find(Path::new("."), &self.session)?;
        let runs = dir.holder()?.is_some() && self.tell(&dir, word)?;
        let state = if runs { word.state() } else { idle(&dir, word)? };
        let id = dir.id();
        if global.json {
            writeln!(stdout(), "{}", json!({"session": id, "state": state}))?;
        } else {
            match word {
                Word::Cancel if state == word.state() => writeln!(stdout(), "{id} is cancelled")?,
                Word::Cancel => writeln!(stdout(), "{id} was over already: it is {state}")?,
                Word::Pause => writeln!(
                    stdout(),
                    "{id} starts nothing new until `wavecrew cancel {id} --resume`"
                )?,
                Word::Resume => writeln!(stdout(), "{id} goes on")?,
            }
        }
        Ok(Exit::Done)
    }

    /// Leaves the word and waits until the run has followed it: it takes the word away, or ends. Whether it still runs.
    fn tell(&self, dir: &SessionDir, word: Word) -> Result<bool, Failure> {
        let control = dir.control_file();
        atomic::write_volatile(&control, word.as_str().as_bytes())?;
        // Longer than a clock can count is for ever.
        let until = Instant::now().checked_add(Duration::from_secs(self.wait));
        loop {
            let runs = dir.holder()?;
            let followed = match word {
                Word::Cancel => runs.is_none(),
                Word::Pause | Word::Resume => runs.is_none() || !control.exists(),
            };
            if followed {
                break;
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                let who = runs.map(|holder| format!(" by {holder}")).unwrap_or_default();
                return Err(Failure::NotDone {
                    message: format!(
                        "the session `{}` is still running{who} after {} s",
                        dir.id(),
                        self.wait
                    ),
                    help: "the word stays for it to find; give --wait more seconds, or end that process"
                        .into(),
                });
            }
            std::thread::sleep(LOOK);
        }
        // The run may have ended by itself before it read the word; the next one must not find it.
        let runs = dir.holder()?.is_some();
        if !runs {
            drop(fs::remove_file(&control));
        }
        Ok(runs)
    }
}

/// Nobody runs the session: only its state can be changed, and only as long as something is left to do. The state it has
/// then.
fn idle(dir: &SessionDir, word: Word) -> Result<&'static str, Failure> {
    if word != Word::Cancel {
        return Err(Failure::with_help(
            format!("nobody runs the session `{}`", dir.id()),
            format!("go on with it by `wavecrew resume {}`", dir.id()),
        ));
    }
    let state = dir.read_info()?.state;
    if !state.is_unfinished() {
        return Ok(state.name_when_idle());
    }
    set_state(dir, SessionState::Cancelled).map_err(|failure| match failure {
        StateFailure::Running(holder) => Failure::NotDone {
            message: format!("the session `{}` was just started{holder}", dir.id()),
            help: "give the command again to stop it".into(),
        },
        StateFailure::Other(failure) => failure,
    })?;
    Ok(word.state())
}
