//! The tools of any client: tables of tasks run by workers of any vendor. Each job is a process of its own; this one
//! starts them, looks at what they leave on disk, and answers.

mod jobs;
mod tools;

use crate::answer::{arguments, failure, implementation, no_such_tool, structured};
use crate::paths::Root;
use jobs::Jobs;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ListToolsResult, PaginatedRequestParams, ServerCapabilities,
    ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::Deserialize;
use serde_json::json;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longer waits are cut: a client that is gone should not be waited for for ever.
const LONGEST_WAIT: Duration = Duration::from_hours(1);

/// How a server is started.
pub struct Setup {
    /// This program, which also runs the jobs.
    pub program: PathBuf,
    /// The agent of calls that name none.
    pub agent: Option<String>,
}

/// Serves the project in `folder` until the client goes away.
pub fn serve(folder: &Path, setup: Setup) -> io::Result<()> {
    let root = Root::new(folder)?;
    crate::serve(Server {
        jobs: Jobs::new(root, setup),
    })
}

struct Server {
    jobs: Jobs,
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

impl Server {
    async fn call(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let given = request.arguments;
        let answer = match &*request.name {
            "spawn_agents_on_csv" => match arguments(given) {
                Ok(call) => self.jobs.spawn(call, context).await,
                Err(problem) => Err(problem),
            },
            "wait_agent_job" => match arguments(given) {
                Ok(Wait { job_id, timeout_ms }) => {
                    let patience = Duration::from_millis(timeout_ms).min(LONGEST_WAIT);
                    self.jobs.wait(&job_id, patience, context).await
                }
                Err(problem) => Err(problem),
            },
            "cancel_agent_job" => match arguments(given) {
                Ok(Cancel { job_id }) => self.jobs.cancel(&job_id).await,
                Err(problem) => Err(problem),
            },
            // Known to skills by name; it belongs to workers, who have a server of their own.
            "report_agent_job_result" => Ok(json!({
                "accepted": false,
                "reason": "this is not a worker of the job: only the worker of an item reports for it",
            })),
            other => return Err(no_such_tool(other)),
        };
        Ok(answer.map_or_else(failure, structured))
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
