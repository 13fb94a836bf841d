//! Sets the state of a session that no process runs.

use crate::clock;
use crate::exit::Failure;
use wavecrew_session::{Holder, SessionDir, SessionError, SessionState};

/// Why the state could not be set.
pub enum StateFailure {
    /// A process runs the session; the text names it.
    Running(String),
    Other(Failure),
}

/// Sets the state, under the session's lock.
pub fn set_state(dir: &SessionDir, state: SessionState) -> Result<(), StateFailure> {
    let me = Holder::this_process(&clock::now().to_string(), "wavecrew");
    let other = |error: SessionError| StateFailure::Other(error.into());
    let _lock = dir.lock(&me).map_err(|error| match error {
        SessionError::Locked { holder, .. } => {
            StateFailure::Running(holder.map(|holder| format!(" by {holder}")).unwrap_or_default())
        }
        error => other(error),
    })?;
    let mut info = dir.read_info().map_err(other)?;
    info.state = state;
    dir.write_info(&info).map_err(other)
}
