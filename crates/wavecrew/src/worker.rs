//! What a worker's own commands know from their environment: which session, which task, which attempt. Starts fast:
//! reads no journal and no table.

use crate::exit::Failure;
use std::env;
use std::fs;
use std::path::Path;
use wavecrew_core::team::{Role, Team};
use wavecrew_store::{SessionDir, Token};

pub struct Worker {
    pub session: SessionDir,
    pub task: String,
    pub attempt: u32,
    /// Empty for a row without one.
    pub role: String,
}

impl Worker {
    pub fn from_env() -> Result<Self, Failure> {
        let folder = variable("WAVECREW_SESSION_DIR")?;
        let attempt = variable("WAVECREW_ATTEMPT")?;
        let session = SessionDir::at(Path::new(&folder)).map_err(|error| {
            Failure::with_help(
                format!("$WAVECREW_SESSION_DIR does not lead to a session: {error}"),
                "leave the variable as the run has set it",
            )
        })?;
        let attempt = attempt.parse().map_err(|_| {
            Failure::with_help(
                format!("$WAVECREW_ATTEMPT is `{attempt}`, which is not a number"),
                "leave the variable as the run has set it",
            )
        })?;
        Ok(Self {
            session,
            task: variable("WAVECREW_TASK")?,
            attempt,
            role: env::var("WAVECREW_ROLE").unwrap_or_default(),
        })
    }

    pub fn token() -> Result<Token, Failure> {
        Ok(Token::from_text(&variable("WAVECREW_TOKEN")?))
    }

    /// Who speaks: the role, or the task of a row without one.
    pub fn name(&self) -> &str {
        if self.role.is_empty() {
            &self.task
        } else {
            &self.role
        }
    }

    /// The team as it was when the session began.
    pub fn team(&self) -> Result<Team, Failure> {
        let path = self.session.run_folder().join("team.toml");
        let shown = path.display().to_string();
        let text = fs::read_to_string(&path).map_err(|error| Failure::Disk {
            message: format!("cannot read {shown}: {error}"),
            help: "the session is not complete; tell the person who runs it".into(),
        })?;
        Team::parse(&shown, &text).map_err(|problems| Failure::Disk {
            message: problems
                .first()
                .map_or_else(|| format!("{shown} is damaged"), ToString::to_string),
            help: "the session's team file was changed; tell the person who runs it".into(),
        })
    }

    /// The worker's role as the team has it.
    pub fn role_in<'t>(&self, team: &'t Team) -> Option<&'t Role> {
        team.role(&self.role)
    }
}

fn variable(name: &str) -> Result<String, Failure> {
    match env::var(name) {
        Ok(value) if !value.is_empty() => Ok(value),
        Ok(_) | Err(_) => Err(Failure::with_help(
            format!("this command is for workers: ${name} is not set"),
            "a run sets it for the agents that it starts; as a person, use `wavecrew status` or `wavecrew list`",
        )),
    }
}
