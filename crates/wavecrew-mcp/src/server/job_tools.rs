//! Tools for tables that workers process row by row.

use super::Server;
use super::tool::{ServerTool, default_wait_ms, wait_time};
use crate::job::SpawnOnCsv;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

impl ServerTool for SpawnOnCsv {
    const NAME: &'static str = "spawn_agents_on_csv";
    const DESCRIPTION: &'static str = "Process a CSV file with one worker agent per row. The instruction is a template: \
        {column} is replaced by the row's value. Blocks until all rows are done and returns the path of a CSV with the \
        results; with background it returns a job_id at once. A job that reaches max_cost, max_tokens or max_time_seconds \
        has the status stopped and names the limit in job_error; continue it with resume_job_id and a higher limit.";

    async fn call(self, server: &Server, context: &RequestContext<RoleServer>) -> Result<Value, String> {
        server.jobs.spawn(self, context).await
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WaitForJob {
    /// The job_id that spawn_agents_on_csv returned.
    job_id: String,
    /// At most an hour; default: 30000.
    #[serde(default = "default_wait_ms")]
    timeout_ms: u64,
}

impl ServerTool for WaitForJob {
    const NAME: &'static str = "wait_agent_job";
    const DESCRIPTION: &'static str = "Wait for a job that runs in the background, at most timeout_ms (default 30000), and return its status.";

    async fn call(self, server: &Server, context: &RequestContext<RoleServer>) -> Result<Value, String> {
        let timeout = wait_time(self.timeout_ms);
        server.jobs.wait(&self.job_id, timeout, context).await
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CancelJob {
    /// The job_id that spawn_agents_on_csv returned.
    job_id: String,
}

impl ServerTool for CancelJob {
    const NAME: &'static str = "cancel_agent_job";
    const DESCRIPTION: &'static str = "Cancel a job and end its workers. Finished rows keep their results.";

    async fn call(self, server: &Server, _: &RequestContext<RoleServer>) -> Result<Value, String> {
        server.jobs.cancel(&self.job_id).await
    }
}
