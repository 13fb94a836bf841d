//! Agents by name, including the built-in ones. Reads only the cassette of `replay:FILE`.

use std::ffi::OsStr;
use std::path::Path;
use std::rc::Rc;

use wavecrew_agents::{Agent, Command, cli};
use wavecrew_core::team::Role;

use crate::installed::find;
use crate::recording::{CassetteError, PREFIX, ReplayAgent};

#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    #[error("`{PREFIX}` needs a cassette, for example `{PREFIX}run.jsonl`")]
    NoCassette,
    #[error(transparent)]
    Cassette(#[from] CassetteError),
    #[error(transparent)]
    Name(#[from] wavecrew_agents::AgentError),
}

/// The built-in agent that needs no model.
pub const OFFLINE: &str = "offline";
/// The first argument of a process of this program that is its worker.
pub const OFFLINE_WORKER: &str = "__offline-worker";

/// The agent of this name: `offline`, `replay:FILE` (read at once), or one of [`wavecrew_agents::by_name`].
pub fn by_name(name: &str) -> Result<Rc<dyn Agent>, AgentError> {
    if name == OFFLINE {
        let program = std::env::current_exe().unwrap_or_else(|_| "wavecrew".into());
        return Ok(Rc::new(Command {
            program: program.to_string_lossy().into_owned(),
            args: vec![OFFLINE_WORKER.to_owned()],
        }));
    }
    match name.strip_prefix(PREFIX) {
        Some("") => Err(AgentError::NoCassette),
        Some(file) => Ok(Rc::new(ReplayAgent::open(Path::new(file))?)),
        None => Ok(wavecrew_agents::by_name(name)?),
    }
}

/// The first of a role's preferred agents that can be started here.
pub fn preferred<'a>(role: &'a Role, path: &OsStr) -> Option<&'a str> {
    let is_available = |name: &&str| match cli::by_name(name) {
        Some(cli) => find(cli, path).is_some(),
        None => by_name(name).is_ok(),
    };
    role.agents.iter().map(String::as_str).find(is_available)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cassette_that_cannot_be_read_is_an_error() {
        for (name, why) in [
            ("replay:", "needs a cassette"),
            ("replay:/nowhere/at-all", "cannot be read"),
        ] {
            let error = by_name(name).unwrap_err().to_string();
            assert!(error.contains(why), "{name}: {error}");
        }
    }
}
