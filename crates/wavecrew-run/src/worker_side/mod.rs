//! What a worker may do in its session, whichever way it asks: report, discover, send messages, ask, write down wisdom.
//! Scoped by the environment that the run gave it. Reads no journal and no table, so that it starts fast. Refuses
//! what is not the worker's: other tasks, other roles' state, talk between workers.

mod ask;
mod board;
mod identity;
mod speech;

pub use ask::{LOOK, Waiting};
pub use identity::Identity;
pub use speech::STATE_UPDATE;

use serde_json::{Map, Value};
use std::time::{SystemTime, UNIX_EPOCH};
use wavecrew_agents::Redactor;
use wavecrew_core::engine::ReportReader;
use wavecrew_core::team::Team;
use wavecrew_core::time::Timestamp;
use wavecrew_session::{SessionError, SubmitOutcome, submit};

/// Why a worker's wish was not granted, in words that can be sent back to it.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The wish itself is wrong; another one may be granted.
    #[error("{message}")]
    BadRequest { message: String, help: String },
    #[error(transparent)]
    Session(#[from] SessionError),
}

impl Refused {
    fn wish(message: impl Into<String>, help: impl Into<String>) -> Self {
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

/// A worker's place in its session.
pub struct WorkerSide {
    pub who: Identity,
    pub team: Team,
    /// What workers say is read by others: their secrets stay with them.
    redactor: Redactor,
}

impl WorkerSide {
    /// Reads the team as it was when the session began.
    pub fn open(who: Identity) -> Result<Self, Refused> {
        let team = who.session.read_team().map_err(|error| {
            Refused::wish(
                error.to_string(),
                "the session's team file is damaged; tell the person who runs it",
            )
        })?;
        let redactor = Redactor::new(std::env::vars_os());
        Ok(Self { who, team, redactor })
    }

    /// Hands in the report, once. What is wrong with it is found before it is handed in, so that the worker can mend
    /// it at once.
    pub fn report(&self, body: &str) -> Result<(), Refused> {
        let again = "correct the report and hand it in again, if the task is still open";
        if let Some(job) = job_named_in(body).filter(|job| job != self.who.session.id()) {
            let message = format!(
                "the report is for job `{job}`, but this worker belongs to `{}`",
                self.who.session.id()
            );
            return Err(Refused::wish(message, again));
        }
        ReportReader::new(&self.team)
            .read(&self.who.task, body)
            .map_err(|reason| Refused::wish(reason, again))?;
        let who = &self.who;
        let token = who.token()?;
        match submit(&who.session, &who.task, who.attempt, token, body.as_bytes())? {
            SubmitOutcome::Accepted => Ok(()),
            SubmitOutcome::Refused(refusal) => Err(Refused::wish(refusal.to_string(), again)),
        }
    }
}

fn job_named_in(body: &str) -> Option<String> {
    let fields: Map<String, Value> = serde_json::from_str(body).ok()?;
    fields.get("job_id").and_then(Value::as_str).map(str::to_owned)
}

pub(crate) fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX)).to_string()
}

#[cfg(test)]
mod tests;
