//! The tools of any client: tables of tasks run by workers of any vendor. Each job is a process of its own; this one
//! starts them, looks at what they leave on disk, and answers.

mod choice;
mod jobs;
mod tools;

use crate::agents::{Agents, SpawnAgent};
use crate::answer::{arguments, failure, implementation, no_such_tool, structured};
use crate::paths::Root;
use choice::choose;
use jobs::Jobs;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, JsonObject, ListToolsResult, PaginatedRequestParams, ServerCapabilities,
    ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::Deserialize;
use serde_json::{Value, json};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use wavecrew_run::guardian::GuardianCommand;

/// Longer waits are cut: a client that is gone should not be waited for for ever.
const LONGEST_WAIT: Duration = Duration::from_hours(1);

/// How a server is started.
pub struct Setup {
    /// This program, which also runs the jobs.
    pub program: PathBuf,
    /// The agent of calls that name none.
    pub agent: Option<String>,
    /// How the process that guards workers is started.
    pub guardian: GuardianCommand,
    /// Workers of one call at the same time, whatever it asks for.
    pub max_workers: Option<usize>,
}

/// Serves the project in `folder` until the client goes away.
pub fn serve(folder: &Path, setup: Setup) -> io::Result<()> {
    let root = Root::new(folder)?;
    crate::serve(Server {
        agents: Agents::new(root.clone(), setup.guardian.clone()),
        agent: setup.agent.clone(),
        jobs: Jobs::new(root, setup),
    })
}

struct Server {
    jobs: Jobs,
    agents: Agents,
    agent: Option<String>,
}

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

impl Server {
    async fn call(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match self.answer(&request.name, request.arguments, context).await {
            Some(answer) => Ok(answer.map_or_else(failure, structured)),
            None => Err(no_such_tool(&request.name)),
        }
    }

    /// What a tool answers; `None` if there is no such tool.
    async fn answer(
        &self,
        tool: &str,
        given: Option<JsonObject>,
        context: &RequestContext<RoleServer>,
    ) -> Option<Result<Value, String>> {
        Some(match tool {
            "spawn_agents_on_csv" => match arguments(given) {
                Ok(call) => self.jobs.spawn(call, context).await,
                Err(problem) => Err(problem),
            },
            "wait_agent_job" => match arguments(given) {
                Ok(Wait { job_id, timeout_ms }) => {
                    self.jobs.wait(&job_id, patience(timeout_ms), context).await
                }
                Err(problem) => Err(problem),
            },
            "cancel_agent_job" => match arguments(given) {
                Ok(Cancel { job_id }) => self.jobs.cancel(&job_id).await,
                Err(problem) => Err(problem),
            },
            "spawn_agent" => match arguments::<SpawnAgent>(given) {
                Ok(call) => match choose(call.agent.as_deref(), self.agent.as_deref(), context) {
                    Ok(agent) => self.agents.spawn(call, agent).await,
                    Err(problem) => Err(problem),
                },
                Err(problem) => Err(problem),
            },
            "send_input" => match arguments(given) {
                Ok(SendInput {
                    id,
                    message,
                    interrupt,
                }) => self.agents.send(id, message, interrupt).await,
                Err(problem) => Err(problem),
            },
            "wait" => match arguments(given) {
                Ok(WaitForAgents { ids, timeout_ms }) => self.agents.wait(&ids, patience(timeout_ms)).await,
                Err(problem) => Err(problem),
            },
            "close_agent" => match arguments(given) {
                Ok(CloseAgent { id }) => self.agents.close(id).await,
                Err(problem) => Err(problem),
            },
            // Known to skills by name; it belongs to workers, who have a server of their own.
            "report_agent_job_result" => Ok(json!({
                "accepted": false,
                "reason": "this is not a worker of the job: only the worker of an item reports for it",
            })),
            _ => return None,
        })
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(implementation())
            .with_instructions(
                "spawn_agents_on_csv runs one worker per row of a CSV file and writes their results to another. Calls \
                 that may take longer than your tool timeout: give background: true and ask with wait_agent_job.",
            )
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::all()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.call(request, &context).await
    }
}
