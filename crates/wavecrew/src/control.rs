//! Control signals to a run in another process: a file in the session folder that the run reads and removes.

use crate::exit::Failure;
use std::fs;
use std::time::{Duration, Instant};
use wavecrew_session::{SessionDir, atomic};

const POLL: Duration = Duration::from_millis(50);

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ControlSignal {
    Cancel,
    Pause,
    Resume,
}

impl ControlSignal {
    fn as_str(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Pause => "pause",
            Self::Resume => "resume",
        }
    }

    /// The state of the session after the run has obeyed.
    pub fn resulting_state(self) -> &'static str {
        match self {
            Self::Cancel => "cancelled",
            Self::Pause => "paused",
            Self::Resume => "running",
        }
    }
}

/// Sends the signal and waits until the run has obeyed it or ended. Returns whether the run was still going
/// when it obeyed; also `false` if no process runs the session.
pub fn send(dir: &SessionDir, signal: ControlSignal, wait: Duration) -> Result<bool, Failure> {
    if dir.holder()?.is_none() {
        return Ok(false);
    }
    let control = dir.control_file();
    atomic::write_volatile(&control, signal.as_str().as_bytes())?;
    // `None`: too long for the clock, so wait without a limit.
    let until = Instant::now().checked_add(wait);
    loop {
        let holder = dir.holder()?;
        let followed = match signal {
            ControlSignal::Cancel => holder.is_none(),
            ControlSignal::Pause | ControlSignal::Resume => holder.is_none() || !control.exists(),
        };
        if followed {
            break;
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            let by = holder.map(|holder| format!(" by {holder}")).unwrap_or_default();
            return Err(Failure::NotDone {
                message: format!(
                    "the session `{}` is still running{by} after {} s",
                    dir.id(),
                    wait.as_secs()
                ),
                help: "the signal stays in place; use a longer --wait, or end that process".into(),
            });
        }
        std::thread::sleep(POLL);
    }
    // A run that ended before it read the signal must not leave it to the next one.
    let runs = dir.holder()?.is_some();
    if !runs {
        drop(fs::remove_file(&control));
    }
    Ok(runs)
}
