//! What a worker can do in its session, by command or over MCP: report, discover, send messages, ask, write
//! wisdom. Its environment identifies its task. Reads no journal and no table, so that it starts fast.
//! Refuses access to other tasks and other roles' state, and messages between workers.

mod ask;
mod board;
mod identity;
mod messages;
mod relay;

pub use ask::{POLL, PendingAnswer};
pub use identity::Identity;
pub use messages::STATE_UPDATE;
pub use relay::{Relay, RelayCall, RelayReply, RelayRequest};

use serde_json::{Map, Value};
use std::time::SystemTime;
use wavecrew_agents::Redactor;
use wavecrew_core::engine::ReportReader;
use wavecrew_core::team::Team;
use wavecrew_core::time::Timestamp;
use wavecrew_session::{SessionError, SubmitOutcome, submit};

/// Why a worker's request was refused; the text is for the worker.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The request itself is wrong; a corrected one may succeed.
    #[error("{message}")]
    BadRequest { message: String, help: String },
    #[error(transparent)]
    Session(#[from] SessionError),
}

impl Refused {
    fn request(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::BadRequest {
            message: message.into(),
            help: help.into(),
        }
    }

    /// What to do about it.
    pub fn help(&self) -> String {
        match self {
            Self::BadRequest { help, .. } => help.clone(),
            Self::Session(error) => error.help(),
        }
    }
}

/// The commands of a worker in its session.
pub struct WorkerCommands {
    pub who: Identity,
    pub team: Team,
    /// Other workers read what this one writes: its secrets are removed.
    redactor: Redactor,
    /// Where the run is, if it is on another machine.
    relay: Option<Relay>,
}

impl WorkerCommands {
    /// Reads the team as it was when the session was created.
    pub fn open(who: Identity) -> Result<Self, Refused> {
        let team = who.session.read_team().map_err(|error| {
            Refused::request(
                error.to_string(),
                "the session's team file is damaged; tell the person who started the run",
            )
        })?;
        let redactor = Redactor::new(std::env::vars_os());
        let relay = Relay::find(&who.session, who.token.as_ref());
        Ok(Self {
            who,
            team,
            redactor,
            relay,
        })
    }

    /// Submits the report, once. It is validated first, so that the worker can correct it at once.
    pub fn report(&self, body: &str) -> Result<(), Refused> {
        let again = "correct the report and submit it again, if the task is still open";
        if let Some(job) = job_of_report(body).filter(|job| job != self.who.session.id()) {
            let message = format!(
                "the report is for job `{job}`, but this worker belongs to `{}`",
                self.who.session.id()
            );
            return Err(Refused::request(message, again));
        }
        ReportReader::new(&self.team)
            .read(&self.who.task, body)
            .map_err(|reason| Refused::request(reason, again))?;
        if let Some(relay) = &self.relay {
            let body = self.redactor.text(body);
            return relay.call(RelayRequest::Report { body }).map(drop);
        }
        let who = &self.who;
        let token = who.token()?;
        match submit(&who.session, &who.task, who.attempt, token, body.as_bytes())? {
            SubmitOutcome::Accepted => Ok(()),
            SubmitOutcome::Refused(refusal) => Err(Refused::request(refusal.to_string(), again)),
        }
    }
}

fn job_of_report(body: &str) -> Option<String> {
    let fields: Map<String, Value> = serde_json::from_str(body).ok()?;
    fields.get("job_id").and_then(Value::as_str).map(str::to_owned)
}

pub(crate) fn now() -> String {
    Timestamp::from(SystemTime::now()).to_string()
}

#[cfg(test)]
mod tests;
