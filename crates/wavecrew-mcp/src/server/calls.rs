//! Which tool does what: arguments are read here, and handed to whoever does it.

use super::Server;
use super::choice::choose;
use super::sessions::{self, Discoveries, TeamMessage};
use crate::agents::SpawnAgent;
use crate::answer::arguments;
use rmcp::RoleServer;
use rmcp::model::JsonObject;
use rmcp::service::RequestContext;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

/// Longer waits are cut: a client that is gone should not be waited for for ever.
const LONGEST_WAIT: Duration = Duration::from_hours(1);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wait {
    job_id: String,
    #[serde(default = "usual_wait")]
    timeout_ms: u64,
}

fn usual_wait() -> u64 {
    30_000
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cancel {
    job_id: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SendInput {
    id: String,
    message: String,
    #[serde(default)]
    interrupt: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WaitForAgents {
    ids: Vec<String>,
    #[serde(default = "usual_wait")]
    timeout_ms: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CloseAgent {
    id: String,
}

fn patience(timeout_ms: u64) -> Duration {
    Duration::from_millis(timeout_ms).min(LONGEST_WAIT)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TeamStatus {
    session: Option<String>,
    #[serde(default)]
    timeout_ms: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TeamAnswer {
    session: String,
    answer: String,
}

impl Server {
    /// What a tool answers, or what is wrong with the call; `None` if there is no such tool.
    pub(super) async fn answer(
        &self,
        tool: &str,
        given: Option<JsonObject>,
        context: &RequestContext<RoleServer>,
    ) -> Result<Option<Value>, String> {
        Ok(Some(match tool {
            "spawn_agents_on_csv" => self.jobs.spawn(arguments(given)?, context).await?,
            "wait_agent_job" => {
                let Wait { job_id, timeout_ms } = arguments(given)?;
                self.jobs.wait(&job_id, patience(timeout_ms), context).await?
            }
            "cancel_agent_job" => {
                let Cancel { job_id } = arguments(given)?;
                self.jobs.cancel(&job_id).await?
            }
            "spawn_agent" => {
                let call: SpawnAgent = arguments(given)?;
                let agent = choose(call.agent.as_deref(), self.agent.as_deref(), context)?;
                self.agents.spawn(call, agent).await?
            }
            "send_input" => {
                let SendInput {
                    id,
                    message,
                    interrupt,
                } = arguments(given)?;
                self.agents.send(id, message, interrupt).await?
            }
            "wait" => {
                let WaitForAgents { ids, timeout_ms } = arguments(given)?;
                self.agents.wait(&ids, patience(timeout_ms)).await?
            }
            "close_agent" => {
                let CloseAgent { id } = arguments(given)?;
                self.agents.close(id).await?
            }
            "team_plan" => self.teams.plan(&arguments(given)?).await?,
            "team_run" => self.teams.run(&arguments(given)?, context).await?,
            "team_continue" => self.teams.go_on(&arguments(given)?, context).await?,
            "team_status" => {
                let TeamStatus { session, timeout_ms } = arguments(given)?;
                let patience = patience(timeout_ms);
                self.teams.status(session.as_deref(), patience, context).await?
            }
            "team_answer" => {
                let TeamAnswer { session, answer } = arguments(given)?;
                self.teams.answer(&session, &answer)?
            }
            "discoveries" => {
                let call: Discoveries = arguments(given)?;
                sessions::discoveries(&self.teams.find(&call.session)?, &call)?
            }
            "team_msg" => {
                let call: TeamMessage = arguments(given)?;
                sessions::message(&self.teams.find(&call.session)?, call)?
            }
            // Known to skills by name; it belongs to workers, who have a server of their own.
            "report_agent_job_result" => json!({
                "accepted": false,
                "reason": "this is not a worker of the job: only the worker of an item reports for it",
            }),
            _ => return Ok(None),
        }))
    }
}
