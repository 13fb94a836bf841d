//! Who a worker is: its session, task, attempt, role and secret, as the run put them into its environment.

use super::Refused;
use std::env;
use std::path::Path;
use wavecrew_core::worker_variables;
use wavecrew_session::{SessionDir, Token};

#[derive(Debug)]
pub struct Identity {
    pub session: SessionDir,
    pub task: String,
    pub attempt: u32,
    /// Empty for a row without one.
    pub role: String,
    pub(super) token: Option<Token>,
}

const AS_SET: &str = "leave the variable as the run has set it";

impl Identity {
    pub fn from_env() -> Result<Self, Refused> {
        Self::from_variables(|name| env::var(name).ok())
    }

    /// Whether this process was started by a run for one of its workers.
    pub fn is_given() -> bool {
        [
            worker_variables::SESSION_DIR,
            worker_variables::TASK,
            worker_variables::TOKEN,
        ]
        .iter()
        .all(|name| env::var_os(name).is_some_and(|value| !value.is_empty()))
    }

    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, Refused> {
        let given = |name: &str| {
            variable(name).filter(|value| !value.is_empty()).ok_or_else(|| {
                Refused::request(
                    format!("this is for workers: ${name} is not set"),
                    "a run sets it for the agents that it starts; as a person, use `wavecrew status` or `wavecrew list`",
                )
            })
        };
        let folder = given(worker_variables::SESSION_DIR)?;
        let session = SessionDir::at(Path::new(&folder)).map_err(|error| {
            Refused::request(
                format!("$WAVECREW_SESSION_DIR does not lead to a session: {error}"),
                AS_SET,
            )
        })?;
        let attempt = given(worker_variables::ATTEMPT)?;
        let attempt = attempt.parse().map_err(|_| {
            Refused::request(
                format!("$WAVECREW_ATTEMPT is `{attempt}`, which is not a number"),
                AS_SET,
            )
        })?;
        Ok(Self {
            session,
            task: given(worker_variables::TASK)?,
            attempt,
            role: variable(worker_variables::ROLE).unwrap_or_default(),
            token: given(worker_variables::TOKEN)
                .ok()
                .map(|text| Token::from_text(&text)),
        })
    }

    /// The name of the sender: the role, or the task of a row without a role.
    pub fn name(&self) -> &str {
        if self.role.is_empty() {
            &self.task
        } else {
            &self.role
        }
    }

    /// Needed only for reports.
    pub(super) fn token(&self) -> Result<&Token, Refused> {
        self.token
            .as_ref()
            .ok_or_else(|| Refused::request("$WAVECREW_TOKEN is not set", AS_SET))
    }
}
